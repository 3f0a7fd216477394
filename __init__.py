# SPDX-License-Identifier: GPL-3.0-or-later
"""Stiction: bakes rigid bodies in Blender with friction that is solved."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

__all__ = ["main", "register", "unregister"]


def register() -> None:
    """Add everything to Blender."""
    from . import addon

    addon.register()


def unregister() -> None:
    """Take everything out of Blender again."""
    from . import addon

    addon.unregister()


def main() -> NoReturn:
    """The command `stiction`. Where it cannot even be loaded, as for want of memory, the process ends with 1 all the same:
    Blender's own end, as a module, would wait for ever then."""
    try:
        from .addon.command.console import main as run
    except BaseException as error:
        try:
            sys.stderr.write(f"stiction: error: cannot be loaded: {type(error).__name__}: {error}\n")
        finally:
            os._exit(1)
    run()
