# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands that bake have in common: what they end with, and how they refuse arguments."""

from __future__ import annotations

import argparse
from enum import IntEnum
from typing import Any, NoReturn

__all__ = ["ExitStatus", "Parser", "UsageError"]


class ExitStatus(IntEnum):
    """What the process ends with."""

    BAKED = 0
    FAILED = 1
    BAD_INPUT = 2
    MISSED_TOLERANCE = 3


class UsageError(Exception):
    """An argument is wrong, or does not fit what it is for."""


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
