# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the pages of the manual in manual/, where the add-on looks for them and from where they go into the zips.

docs/conf.py says of what. Every link, anchor and picture that leads nowhere, and every page that the navigation leaves out, is
an error.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "manual"


def make_pages(source: Path, pages: Path) -> list[str]:
    """Make pages of the documents of a repository; returns what is wrong with them, a line each."""
    shutil.rmtree(pages, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--fresh-env"]
    # what Sphinx keeps for the next time has no business among the pages
    command += ["--conf-dir", str(ROOT / "docs"), "--doctree-dir", str(ROOT / "build" / "doctrees"), str(source), str(pages)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    return (done.stdout + done.stderr).splitlines() or [f"Sphinx ended with status {done.returncode}"]


def main() -> None:
    """Make them; leave with what is wrong."""
    wrong = make_pages(ROOT, PAGES)
    if wrong:
        shutil.rmtree(PAGES, ignore_errors=True)
        sys.exit("\n".join(["docs: the documents are not in order:", *wrong]))
    print(f"docs: {PAGES.relative_to(ROOT)}/index.html", flush=True)


if __name__ == "__main__":
    main()
