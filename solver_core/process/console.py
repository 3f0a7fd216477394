# SPDX-License-Identifier: GPL-3.0-or-later
"""Output to a console or a log: names are escaped, and a failed write does not end the program.

Names of objects may contain anything. Line breaks would forge lines of a log, escape sequences would control a terminal, and
characters that the encoding lacks, such as cp1252 on Windows, would raise an exception.
"""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import suppress
from typing import TextIO

__all__ = ["flush_output", "one_line", "prepare_streams", "tell"]

# Control characters, line breaks of every kind, what turns the direction of writing, and halves of letters.
ODD = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
INDENT = "\n  "


def one_line(text: str) -> str:
    r"""Text with what is no visible letter escaped, as in \n and \x1b: for names, and for messages that have names in them."""
    return ODD.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def tell(text: str, stream: TextIO) -> None:
    """Write a message, all lines but its first indented: none can be taken for a message of its own. Nobody need read it."""
    try:
        print(INDENT.join(one_line(line) for line in text.split("\n")), file=stream, flush=True)
    except (OSError, ValueError):
        # a closed pipe, as of `| head`: what is written there from now on goes nowhere
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def flush_output() -> None:
    """Flush standard output before exit. Python would otherwise flush it during exit and report a closed pipe."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare_streams() -> None:
    """Prepare the standard streams at the start of a command: open closed ones, and escape characters that an encoding lacks.

    If a process starts with a closed stream, the first file that it opens gets the stream's number, and C libraries would print
    to that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (as long as the process)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (as long as the process)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
