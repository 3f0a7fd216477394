# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands that bake have in common: what they end with, and how they refuse arguments."""

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
    """What the process ends with."""

    BAKED = 0
    FAILED = 1
    BAD_INPUT = 2
    MISSED_TOLERANCE = 3
    CACHE_LOST = 4


class UsageError(Exception):
    """An argument is wrong, or does not fit what it is for."""


def status_of(error: OSError) -> ExitStatus:
    """What a command ends with that could not read or write a file."""
    return ExitStatus.BAD_INPUT if error.errno in OF_NAMES else ExitStatus.FAILED


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments, with how they are to be used."""
        raise UsageError(f"{message}\n{self.format_usage().strip()}")

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        """As argparse does, but for an argument that up to Python 3.12 is a list of nothing where `--` stands in its place."""
        parsed, rest = super().parse_known_args(*arguments, **named)
        for action in self._actions:
            if not action.option_strings and action.nargs in (None, "?") and getattr(parsed, action.dest, None) == []:
                self.error(f"the following arguments are required: {action.dest}")
        return parsed, rest
