# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that goes to a console or a log: names in it stay in their line, and writing it never ends what it is about.

Names of objects are whatever somebody typed, or sent: with line breaks they would forge lines of a log, with escape sequences
steer a terminal, and with letters that its encoding does not have, such as cp1252 on Windows, Python raises.
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
    """Flush standard output as the last thing: Python would do so once more on its way out, and complain about a pipe that
    nobody reads any more."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare_streams() -> None:
    """To be called where a command begins: have standard streams that are open, and that escape what their encoding lacks.

    A process that is started with one of them closed would give its number to the first file that it opens, and C libraries
    would print into that.
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
