# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of a page from CSV files of benchmarks, with where their rows come from.

A table stands between `<!--table NAME-->` and `<!--end-->`; its last line has the commits, dates and seeds of its rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["PROVENANCE", "Row", "Table", "number", "page_with_tables", "pair", "ratio", "shown", "text"]

PROVENANCE = ("date", "machine", "commit", "seed")
NOT_RANDOM = "none"  # how the seed of rows begins in which nothing is random
BLOCK = re.compile(r"<!--table (\w+)-->\n.*?<!--end-->", re.DOTALL)

Row = Mapping[str, str]
Cell = Callable[[Row], str]


@dataclass(frozen=True)
class Table:
    """How the rows of a CSV file become a table.

    columns: each heading with its cell. by: rows that agree in these make one line together, None for a line a row; in such a
    line the figures of each row are named with its value of `across` before them, as "Bullet processor_s". combine: how one
    figure becomes of those of the rows of a line. where: which rows are shown. file: its name without suffix, where that is not
    the table's.
    """

    columns: Mapping[str, Cell]
    by: tuple[str, ...] | None = None
    across: str = ""
    combine: Mapping[str, Callable[[list[str]], float]] = field(default_factory=dict)
    where: Callable[[Row], bool] = lambda row: True
    file: str = ""

    def lines(self, rows: Iterable[Row]) -> list[list[str]]:
        """The cells of each line."""
        chosen = [row for row in rows if self.where(row)]
        nothing = {f"{row[self.across]} {name}": "" for row in chosen for name in row} if self.across else {}
        groups: dict[object, list[Row]] = {}
        for index, row in enumerate(chosen):
            key = index if self.by is None else tuple(row[name] for name in self.by)
            groups.setdefault(key, []).append(row)
        lines = [nothing | self._joined(group) for group in groups.values()]
        return [[cell(line) for cell in self.columns.values()] for line in lines]

    def _joined(self, group: list[Row]) -> dict[str, str]:
        line = dict(group[0])
        line |= {name: str(combine([row[name] for row in group])) for name, combine in self.combine.items()}
        for row in group if self.across else ():
            line |= {f"{row[self.across]} {name}": value for name, value in row.items()}
        return line


def shown(value: float, digits: int = 2) -> str:
    """A figure with so many digits that count; numbers of things have all of theirs, small ones have an exponent."""
    if abs(value) >= 10.0 ** (digits - 1) or value == int(value):
        return f"{value:,.0f}"
    if abs(value) >= 1e-3:
        return f"{value:.{digits}g}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def text(name: str) -> Cell:
    """What stands in the row."""
    return lambda row: row[name]


def number(name: str, digits: int = 2, scale: float = 1.0) -> Cell:
    """A figure times `scale`, nothing where the row has none."""
    return lambda row: shown(scale * float(row[name]), digits) if row[name] else ""


def ratio(over: str, under: str, digits: int = 2) -> Cell:
    """One figure over another, nothing where the row lacks one."""
    return lambda row: shown(float(row[over]) / float(row[under]), digits) if row[over] and row[under] else ""


def pair(first: Cell, second: Cell, form: str = "{} ({})") -> Cell:
    """Two cells in one, nothing where the first is empty."""
    return lambda row: form.format(first(row), second(row)) if first(row) else ""


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for line, row in enumerate(rows, start=2):
        empty = [name for name in PROVENANCE if not row.get(name)]
        if empty:
            raise SystemExit(f"{path}, line {line}: no {', '.join(empty)}; copy the file as the benchmark wrote it")
    return rows


def _source(name: str, rows: list[dict[str, str]]) -> str:
    """Where the rows come from, on one line."""
    changed = " with changes" if any(row.get("changed") == "True" for row in rows) else ""
    commits = ", ".join(dict.fromkeys(row["commit"][:7] for row in rows)) + changed
    dates = ", ".join(dict.fromkeys(row["date"][:10] for row in rows))
    seeds = ", ".join(seed for seed in dict.fromkeys(row["seed"] for row in rows) if not seed.startswith(NOT_RANDOM))
    return f"`{name}.csv`: {commits}; {dates}" + (f"; seed {seeds}" if seeds else "")


def _block(name: str, tables: Mapping[str, Table], folder: Path) -> str:
    if name not in tables:
        raise SystemExit(f"no table is called {name}; there are {', '.join(tables)}")
    table = tables[name]
    path = folder / f"{table.file or name}.csv"
    if not path.exists():
        raise SystemExit(f"table {name}: {path} is missing; run its benchmark and copy what it wrote there")
    rows = _rows(path)
    try:
        cells = [list(table.columns), ["---"] * len(table.columns), *table.lines(rows)]
    except KeyError as absent:
        raise SystemExit(f"table {name}: {path} has no column {absent}; copy the file as the benchmark wrote it") from None
    lines = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join([f"<!--table {name}-->", "", *lines, "", _source(path.stem, rows), "", "<!--end-->"])


def page_with_tables(page: str, tables: Mapping[str, Table], folder: Path) -> str:
    """The text of a page with its tables as the files in the folder have them."""
    return BLOCK.sub(lambda found: _block(found[1], tables, folder), page)
