# SPDX-License-Identifier: GPL-3.0-or-later
"""The Blender side: reads the scene, calls the worker, and writes the result; contains no mechanics."""

from __future__ import annotations

from types import ModuleType

__all__ = ["register", "unregister"]


def parts() -> tuple[ModuleType, ...]:
    """Return all modules to register, each after its dependencies.

    They are imported here, so that the command line's help needs no bpy.
    """
    from . import demos
    from .bake import compiling, file_moves, find_frames, outdated, playback
    from .blender import libraries
    from .blender import sanitize_loaded_file as loaded
    from .command import cli
    from .farms import export as farm_jobs
    from .farms import wedge as wedges
    from .fracture import operators as fractures
    from .fracture import proxy_bodies as proxy_states
    from .fracture import proxy_operators as proxies
    from .fracture import source as fracture_source
    from .interchange import operators as interchange
    from .output import bones, contact_points, debris, pieces, reactions, sound
    from .panels import activation as activation_panel
    from .panels import bonds as bond_panel
    from .panels import check, manual, menu, operators, pairs, preferences, ui
    from .panels import debris as debris_panel
    from .panels import sound as sound_panel
    from .panels import wedge as wedge_panel
    from .settings import activation as activation_settings
    from .settings import bonds as bond_settings
    from .settings import display, former_settings, materials, object_properties, properties
    from .settings import wedge as wedge_settings
    from .settle import operator as settling
    from .show import grid, overlay, play, statistics, statistics_overlay, timeline

    return (
        object_properties,
        properties,
        display,
        wedge_settings,
        bond_settings,
        activation_settings,
        loaded,
        former_settings,
        libraries,
        materials,
        operators,
        fracture_source,
        fractures,
        proxy_states,
        proxies,
        demos,
        ui,
        overlay,
        grid,
        play,
        settling,
        contact_points,
        debris,
        sound,
        pieces,
        statistics,
        statistics_overlay,
        timeline,
        pairs,
        reactions,
        bones,
        farm_jobs,
        wedges,
        wedge_panel,
        bond_panel,
        activation_panel,
        debris_panel,
        sound_panel,
        check,
        manual,
        preferences,
        menu,
        playback,
        outdated,
        file_moves,
        find_frames,
        interchange,
        compiling,
        cli,
    )


def register() -> None:
    """Register all parts, each after those it builds on."""
    for part in parts():
        part.register()


def unregister() -> None:
    """Unregister all parts in the opposite order."""
    for part in reversed(parts()):
        part.unregister()
