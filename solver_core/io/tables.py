# SPDX-License-Identifier: GPL-3.0-or-later
"""Comma separated values that a spreadsheet shows and does not execute: whatever bodies and materials are called."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from ..process.console import one_line

__all__ = ["table"]

# Begins of cells that spreadsheets take for formulas, also in the wide letters of East Asia (OWASP, CSV injection).
FORMULA = tuple("=+-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """The rows as they are written to a file: None as an empty cell, numbers as they are, words as words."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([as_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def as_cell(value: object) -> object:
    """A value; words that would be a formula begin with an apostrophe, which spreadsheets do not show."""
    if not isinstance(value, str):
        return value
    visible = one_line(value)
    return f"'{visible}" if visible.startswith(FORMULA) and not is_number(visible) else visible


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii()
