# SPDX-License-Identifier: GPL-3.0-or-later
"""The room where bpy lives: reads the scene, calls the worker, writes the result; holds no mechanics."""

from __future__ import annotations

from . import check, cli, compiling, demos, file_moves, materials, menu, operators, outdated, pairs, playback, properties, ui

__all__ = ["register", "unregister"]

PARTS = (properties, materials, operators, demos, ui, pairs, check, menu, playback, outdated, file_moves, compiling, cli)


def register() -> None:
    """Register all parts, each after those it builds on."""
    for part in PARTS:
        part.register()


def unregister() -> None:
    """Unregister all parts in the opposite order."""
    for part in reversed(PARTS):
        part.unregister()
