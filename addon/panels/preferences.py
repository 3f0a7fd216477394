# SPDX-License-Identifier: GPL-3.0-or-later
"""The preferences of the add-on: compiled kernels, frames of bakes, and the manual."""

from __future__ import annotations

import tomllib
from pathlib import Path
from time import monotonic

import bpy
from bpy.types import AddonPreferences, Context, UILayout

from ...solver_core.compile.ahead import brought
from ...solver_core.compile.stock import Stock
from ..bake.bake_files import cache_folder
from ..bake.worker import WorkerError, worker_environment
from ..blender.label_wrapping import characters_in_row, draw_wrapped
from .manual import FIRST_BAKE, FRONT

__all__ = ["register", "unregister"]

ROOT = Path(__file__).resolve().parents[2]
SECONDS_BETWEEN_COUNTS = 2.0
MEGABYTE = 1e6


class Kernels:
    """The kernels compiled for this Blender, counted from time to time."""

    at = float("-inf")
    there, whole, folder = 0, 0, ""

    @classmethod
    def count(cls) -> None:
        """Count them, unless that was done a moment ago. Raises WorkerError."""
        if monotonic() - cls.at < SECONDS_BETWEEN_COUNTS:
            return
        cls.folder = worker_environment()["NUMBA_CACHE_DIR"]
        stock = Stock(Path(cls.folder))
        cls.there, cls.whole, cls.at = stock.there, stock.whole, monotonic()


class StictionPreferences(AddonPreferences):
    bl_idname = __name__.partition(".addon.")[0]

    def draw(self, context: Context) -> None:
        layout, width = self.layout, characters_in_row(context)
        draw_kernels(layout.box().column(align=True), context, width)
        draw_frames(layout.box().column(align=True), context, width)
        row = layout.row(align=True)
        row.operator("stiction.open_manual", icon="HELP").page = FRONT
        row.operator("stiction.open_manual", text="First Bake, Step by Step").page = FIRST_BAKE
        address = website()
        if address:
            row.operator("wm.url_open", text="Website", icon="URL").url = address


def draw_kernels(layout: UILayout, context: Context, width: int) -> None:
    """Draw the number of compiled kernels and their folder."""
    layout.label(text="Compiled Kernels")
    try:
        Kernels.count()
    except WorkerError as error:
        draw_wrapped(layout, str(error), "ERROR", width)
        return
    if brought():
        draw_wrapped(layout, "Included in the extension; a bake copies those that it needs", "CHECKMARK", width)
    layout.progress(factor=Kernels.there / max(Kernels.whole, 1), text=f"{Kernels.there} of at most {Kernels.whole}")
    session = context.window_manager.stiction
    if session.compiling:
        draw_wrapped(layout, f"Compiling (first run only): {session.compiling}", "BLANK1", width)
        layout.operator("stiction.stop_compiling", icon="CANCEL")
    elif Kernels.there < Kernels.whole and not brought():
        text = "The others are compiled in the background while a scene has rigid bodies, or by the first bake that needs them"
        draw_wrapped(layout, text, "INFO", width)
    draw_folder(layout, Path(Kernels.folder))


def draw_frames(layout: UILayout, context: Context, width: int) -> None:
    """Draw the folder and the size of the frames of the scene's bakes."""
    layout.label(text="Frames of This Scene")
    layout.prop(context.scene.stiction, "cache_directory", text="Cache Folder")
    folder = cache_folder(context.scene)
    files = [file for file in folder.glob("*.cache") if file.is_file()] if folder.is_dir() else []
    size = sum(file.stat().st_size for file in files) / MEGABYTE
    count = "1 bake" if len(files) == 1 else f"{len(files)} bakes"
    draw_wrapped(layout, f"{count}, {size:.3g} MB" if files else "No bakes there", "INFO", width)
    draw_folder(layout, folder)


def draw_folder(layout: UILayout, folder: Path) -> None:
    """Draw a folder, and a button that opens it."""
    row = layout.row(align=True)
    row.label(text=str(folder), icon="FILE_FOLDER")
    if folder.is_dir():
        row.operator("wm.path_open", text="", icon="FILEBROWSER").filepath = str(folder)


def website() -> str:
    """Return the address of the project's page from the extension's manifest, or an empty string."""
    with open(ROOT / "blender_manifest.toml", "rb") as file:
        return str(tomllib.load(file).get("website", ""))


register, unregister = bpy.utils.register_classes_factory((StictionPreferences,))
