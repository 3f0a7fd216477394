# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge the CSV files of several runs into docs/measured/everyday.csv.

    python -m tests.bench.everyday.merged build/bench/everyday-*.csv

A whole run takes longer than one wants to wait for, so it may be run by placings, rates or subjects. A row replaces the row of
the same scene and variant, and keeps its own date and commit. Files are merged in the order in which they are given.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from .catalog import SUBJECTS, find
from .running import PLACINGS, RATES

__all__ = ["merged", "read"]

MEASURED = Path(__file__).resolve().parents[3] / "docs" / "measured" / "everyday.csv"

Row = Mapping[str, str]


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file.

    Raises SystemExit if the file is not one of runs of everyday scenes.
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in ("scene", "variant", "right", "commit", "date") if rows and name not in rows[0]]
    if missing:
        raise SystemExit(f"{path} has no column {', '.join(missing)}; merge the files everyday-*.csv of the benchmark")
    return rows


def merged(runs: Iterable[Iterable[Row]]) -> list[Row]:
    """Return the last row of each scene and variant, in the order of the catalog, of placings and of rates."""
    rows = {(row["scene"], row["variant"]): row for run in runs for row in run}
    scenes = {entry.name: number for number, entry in enumerate(find(SUBJECTS))}
    variants = [f"{placing}, {rate} steps a second" for placing in PLACINGS for rate in RATES]
    order = {variant: number for number, variant in enumerate(variants)}
    # scenes that no longer exist are left out, and other methods come last
    kept = [key for key in rows if key[0] in scenes]
    return [rows[key] for key in sorted(kept, key=lambda key: (order.get(key[1], len(order)), key[1], scenes[key[0]]))]


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]]
    if not paths:
        raise SystemExit(f"name the CSV files to merge into {MEASURED}")
    before = [read(MEASURED)] if MEASURED.exists() else []
    rows = merged([*before, *map(read, paths)])
    with MEASURED.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{MEASURED} has {len(rows)} runs, {sum(row['right'] == 'True' for row in rows)} of them right")


if __name__ == "__main__":
    main()
