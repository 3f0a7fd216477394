# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the last groups of the lock file of the running Python: what the packages of the first groups need, in exact versions.

The first groups are chosen by hand: change a version there, then run this with both Pythons (`make lock`). pip resolves; what
it would install beyond the first groups becomes the last two groups: the needs of `run`, and those of the others. Only the
standard library and pip are needed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from environment import NEEDED_BY_OTHERS, NEEDED_TO_RUN, SUPPORTED, lock_file, packages_to_run


def canonical(name: str) -> str:
    """The name of a package as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def chosen(text: str) -> tuple[str, list[str]]:
    """The first groups of a lock file as they stand, and the requirements in them."""
    head, mark, _ = text.partition(NEEDED_TO_RUN)
    if not mark:
        sys.exit(f"lock: {lock_file().name} has no line {NEEDED_TO_RUN!r}, below which this script writes")
    return head, [line for line in head.splitlines() if line and not line.startswith("#")]


def resolved(requirements: list[str]) -> dict[str, str]:
    """The version of every package that pip would install for these into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        done = subprocess.run([*pip, "--dry-run", "--ignore-installed", "--report", report, *requirements], check=False)
        if done.returncode:
            sys.exit("lock: pip finds no versions that fit together, see above")
        packages = [entry["metadata"] for entry in json.loads(report.read_text(encoding="utf-8"))["install"]]
    return {canonical(package["name"]): package["version"] for package in packages}


def main() -> None:
    """Write the last group of this Python's lock file."""
    if sys.version_info[:2] not in SUPPORTED:
        sys.exit(f"lock: no lock file is for Python {sys.version.split()[0]}; name another one: make lock PYTHONS=python3.13")
    head, requirements = chosen(lock_file().read_text(encoding="utf-8"))
    by_hand = {canonical(requirement.partition("==")[0]) for requirement in requirements}
    needed = {name: version for name, version in resolved(requirements).items() if name not in by_hand}
    to_run = resolved(packages_to_run(head))
    lines: dict[str, list[str]] = {NEEDED_TO_RUN: [], NEEDED_BY_OTHERS: []}
    for name, version in sorted(needed.items()):
        lines[NEEDED_TO_RUN if name in to_run else NEEDED_BY_OTHERS].append(f"{name}=={version}")
    groups = ["\n".join((title, *group)) for title, group in lines.items()]
    lock_file().write_text(head + "\n\n".join(groups) + "\n", encoding="utf-8")
    print(f"lock: {lock_file().name} has {len(by_hand)} packages by hand and {len(needed)} that they need")


if __name__ == "__main__":
    main()
