# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of constants has the values that the code has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `(?P<file>[\w/.]+)`: `(?P<name>\w+)` \| (?P<value>[^|]+) \|(?P<rest>.*)\|$", re.MULTILINE)
PAGE = (ROOT / "docs" / "constants.md").read_text(encoding="utf-8")


def value_of(text: str) -> float:
    """The value of a number, a quotient or a power."""
    return float(eval(compile(ast.parse(text.strip(), mode="eval"), "value", "eval"), {"__builtins__": {}}))


@pytest.mark.parametrize("row", list(ROW.finditer(PAGE)), ids=lambda row: row["name"])
def test_the_value_is_that_of_the_code(row):
    source = (ROOT / "solver_core" / row["file"]).read_text(encoding="utf-8")
    found = re.search(rf"^{row['name']}(?:: [^=\n]+)? = ([^#\n]+)", source, re.MULTILINE)
    assert found, f"{row['file']} has no {row['name']}"
    assert value_of(found[1]) == pytest.approx(value_of(row["value"]), rel=1e-12)
    # unit, reason, and what other values do
    assert all(cell.strip() for cell in row["rest"].split("|"))


def test_every_row_is_read():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(rows) == len(list(ROW.finditer(PAGE))) > 30
