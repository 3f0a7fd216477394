# SPDX-License-Identifier: GPL-3.0-or-later
"""Stiction: bakes rigid bodies in Blender with friction that is solved."""

from __future__ import annotations

__all__ = ["register", "unregister"]


def register() -> None:
    """Add everything to Blender."""
    from . import addon

    addon.register()


def unregister() -> None:
    """Take everything out of Blender again."""
    from . import addon

    addon.unregister()
