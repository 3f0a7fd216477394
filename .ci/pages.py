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
        leave_out_what_is_there_already(pages)
        return []
    return (done.stdout + done.stderr).splitlines() or [f"Sphinx ended with status {done.returncode}"]


def leave_out_what_is_there_already(pages: Path) -> None:
    """Take away what the pages would bring a second time: the licence, which is beside their folder, and maps of scripts."""
    for file in pages.rglob("*.map"):
        file.unlink()
    for file in pages.glob("_downloads/*/LICENSE"):
        link = file.relative_to(pages).as_posix()
        for page in pages.rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            if link in text:
                page.write_text(text.replace(link, "../LICENSE"), encoding="utf-8")
        shutil.rmtree(file.parent)


def main() -> None:
    """Make them; leave with what is wrong."""
    wrong = make_pages(ROOT, PAGES)
    if wrong:
        shutil.rmtree(PAGES, ignore_errors=True)
        sys.exit("\n".join(["docs: the documents are not in order:", *wrong]))
    print(f"docs: {PAGES.relative_to(ROOT)}/index.html", flush=True)


if __name__ == "__main__":
    main()
