# SPDX-License-Identifier: GPL-3.0-or-later
"""Comma-separated values that spreadsheets display but do not execute, for any names of bodies and materials."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from ..process.console import one_line

__all__ = ["table"]

# First characters that make spreadsheets take a cell for a formula, including fullwidth forms (OWASP, CSV injection).
FORMULA = tuple("=+-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return the rows as the content of a file: None as an empty cell, numbers as they are, other values as text."""
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
