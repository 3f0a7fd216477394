# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit status and argument errors that all commands share."""

from __future__ import annotations

import argparse
import errno
from enum import IntEnum
from typing import Any, NoReturn

__all__ = ["ExitStatus", "Parser", "UsageError", "status_of"]

# What the name of a file is to blame for, and bad input; anything else, such as a full disk, may be otherwise the next time.
OF_NAMES = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP, errno.ENAMETOOLONG),
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EINVAL),
}


class ExitStatus(IntEnum):
    """The exit status of a process."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    MISSED_TOLERANCE = 3
    CACHE_LOST = 4


class UsageError(Exception):
    """An argument is wrong or unsuitable."""


def status_of(error: OSError) -> ExitStatus:
    """Return the exit status of a command that could not read or write a file."""
    return ExitStatus.BAD_INPUT if error.errno in OF_NAMES else ExitStatus.FAILED


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the usage of the command."""
        raise UsageError(f"{message}\n{self.format_usage().strip()}")

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        """As argparse does, but for an argument that up to Python 3.12 is a list of nothing where `--` stands in its place."""
        parsed, rest = super().parse_known_args(*arguments, **named)
        for action in self._actions:
            if not action.option_strings and action.nargs in (None, "?") and getattr(parsed, action.dest, None) == []:
                self.error(f"the following arguments are required: {action.dest}")
        return parsed, rest
