# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the list of files that do not yet follow every lint rule; it may only become shorter.

    python .ci/exceptions.py            fail where the list and the sources differ
    python .ci/exceptions.py --write    write the list anew, if nothing in it grows

The list stands at the end of pyproject.toml: a line for each file, with the rules that it breaks and how often each. What is on
it, ruff lets pass; that a file breaks a rule more often than it says, or less often, is found here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "pyproject.toml"
HEADING = "[tool.ruff.lint.per-file-ignores]\n"
LINE = re.compile(r'^"([^"]+)" = \[([^]]*)\] # (.*)$', re.MULTILINE)

# The other rules have no exceptions.
RULES = ("ARG", "C90", "D", "N", "PLR")

# how often a file breaks a rule
Counts = Counter[tuple[str, str]]


def listed(text: str) -> Counts:
    """What the list says."""
    counts: Counts = Counter()
    for file, rules, numbers in LINE.findall(text.partition(HEADING)[2]):
        counts.update({(file, rule): int(n) for rule, n in zip(re.findall(r"\w+", rules), numbers.split(), strict=True)})
    return counts


def found() -> tuple[Counts, list[str]]:
    """What ruff finds when nothing is let pass, counted and in words."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format", "json", "--config", "lint.per-file-ignores = {}"]
    done = subprocess.run([*command, "."], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(f"exceptions: ruff failed:\n{done.stderr}")
    counts, words = Counter[tuple[str, str]](), []
    findings = [finding for finding in json.loads(done.stdout) if (finding["code"] or "").startswith(RULES)]
    for finding in findings:
        file = Path(finding["filename"]).relative_to(ROOT).as_posix()
        counts[file, finding["code"]] += 1
        words.append(f"{file}:{finding['location']['row']}: {finding['code']} {finding['message']}")
    return counts, words


def lines(counts: Counts) -> str:
    """The list as it is written."""
    rules = {file: sorted(code for name, code in counts if name == file) for file, _ in counts}
    return "".join(
        f'"{file}" = {json.dumps(codes)} # {" ".join(str(counts[file, code]) for code in codes)}\n'
        for file, codes in sorted(rules.items())
    )


def grown(before: Counts, now: Counts) -> list[str]:
    """Entries of `now` that are new or larger; a file that was moved brings its own along, so rules are summed."""
    totals: dict[str, list[int]] = {}
    for index, counts in enumerate((before, now)):
        for (_, code), count in counts.items():
            totals.setdefault(code, [0, 0])[index] += count
    worse = {code for code, (old, new) in totals.items() if new > old}
    return [f"{file}: {code} {now[file, code]}" for file, code in sorted(now - before) if code in worse]


def main() -> None:
    """Compare the list and the sources, or write it."""
    text = PROJECT.read_text(encoding="utf-8")
    head, mark, _ = text.partition(HEADING)
    before, (now, words) = listed(text), found()
    worse = grown(before, now)
    if worse and before:
        which = {tuple(entry.partition(": ")[::2]) for entry in worse}
        files = {(file, rest.split()[0]) for file, rest in which}
        details = [word for word in words if (word.partition(":")[0], word.split()[1]) in files]
        print("exceptions: a rule is broken more often than the list at the end of pyproject.toml says:", *details, sep="\n")
        sys.exit(1)
    if "--write" in sys.argv:
        PROJECT.write_text(head + HEADING + lines(now), encoding="utf-8")
        print(f"exceptions: {sum(now.values())}, {sum(before.values())} before")
    elif not mark or now != before:
        sys.exit("exceptions: fewer are needed than the list at the end of pyproject.toml has: make exceptions")


if __name__ == "__main__":
    main()
