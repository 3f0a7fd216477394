# SPDX-License-Identifier: GPL-3.0-or-later
"""The window that is visited: its editors and operators, waiting for what comes, keys, and pictures."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bpy
import numpy as np

PICTURES = os.environ.get("STICTION_PICTURES")
GRAB = shlex.split(os.environ.get("STICTION_GRAB", ""))
# Of a bake on a machine that has other work, with everything to compile.
LONGEST = 1800.0
NOTCHES = 20
# Stiction's panels in the tabs of the properties editor, in their order, and what they are when they are not registered.
PANELS = {
    "SCENE": (
        *("scene_check", "scene_solver", "scene_advanced"),
        *("scene_range", "scene_more", "scene_pairs", "scene_debris", "scene_sound", "scene_wedge"),
        *("scene_contacts", "scene_statistics"),
    ),
    "PHYSICS": (
        *("object_surface", "object_grain", "object_mass", "object_surface_motion", "object_flexible", "object_motion"),
        *("object_pairs", "object_bake", "object_sound"),
    ),
}
CLASSES: dict[str, type[bpy.types.Panel]] = {}


def window() -> bpy.types.Window:
    return bpy.context.window_manager.windows[0]


def area_of(kind: str) -> bpy.types.Area:
    return next(area for area in window().screen.areas if area.type == kind)


def context_of(kind: str) -> dict:
    """To override the context with: that of an editor's main region."""
    area = area_of(kind)
    region = next(region for region in area.regions if region.type == "WINDOW")
    return {"window": window(), "screen": window().screen, "area": area, "region": region}


def call(operator: Callable, *arguments: str, kind: str = "VIEW_3D", **values: object) -> None:
    """Call an operator from an editor, as its buttons do."""
    with bpy.context.temp_override(**context_of(kind)):
        operator(*arguments, **values)


def until(condition: Callable[[], bool], what: str, longest: float = LONGEST) -> Iterator[float]:
    """Wait for it, and fail where it does not come."""
    end = time.monotonic() + longest
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"in {longest:g} s there was no {what}")
        yield 0.2


def press(key: str) -> None:
    """A key, with the mouse in the middle of the window."""
    x, y = window().width // 2, window().height // 2
    for value in ("PRESS", "RELEASE"):
        window().event_simulate(type=key, value=value, x=x, y=y)


# Pictures


def grab() -> np.ndarray:
    """The pixels of the window, [rows, columns, 4], the lowest row first."""
    file = Path(tempfile.gettempdir()) / "stiction-window.png"
    if GRAB:
        subprocess.run([*GRAB, str(file)], check=True)
    else:
        with bpy.context.temp_override(window=window()):
            bpy.ops.screen.screenshot(filepath=str(file))
    image = bpy.data.images.load(str(file))
    pixels = np.array(image.pixels, dtype=np.float32).reshape(image.size[1], image.size[0], 4)
    bpy.data.images.remove(image)
    file.unlink()
    return pixels


def write(pixels: np.ndarray, name: str) -> None:
    file = Path(PICTURES or "") / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    image = bpy.data.images.new(file.stem, width=pixels.shape[1], height=pixels.shape[0])
    image.pixels.foreach_set(np.ascontiguousarray(pixels).ravel())
    image.filepath_raw, image.file_format = str(file), "PNG"
    image.save()
    bpy.data.images.remove(image)
    print("visit: drawn", name, pixels.shape[1], pixels.shape[0], flush=True)


def shoot(name: str, kind: str | None = None, around: tuple[int, int] | None = None) -> Iterator[float]:
    """A picture of the window, of an editor without the empty part below its contents, or of the dialogue at a place."""
    for _ in range(3):
        for each in window().screen.areas:
            each.tag_redraw()
        yield 0.8
        if any(each.type == "PROPERTIES" for each in window().screen.areas):
            # Stiction's panels come last, and a call scrolls by one notch
            for _ in range(NOTCHES):
                call(bpy.ops.view2d.scroll_down, kind="PROPERTIES")
    yield 0.8
    if PICTURES is None:
        return
    pixels = grab()
    if kind is not None:
        area = area_of(kind)
        pixels = pixels[area.y : area.y + area.height, area.x : area.x + area.width]
        # where the bar for scrolling and the rounded corners are not
        inner = pixels[12:, 12:-24]
        busy = np.abs(inner - inner[:, :1]).max(axis=(1, 2)) > 0.02
        pixels = pixels[max(0, int(np.argmax(busy)) + 12 - 10) :]
    if around is not None:
        x, y = around
        # the pointer is over the button that confirms
        pixels = pixels[y - 230 : y + 150, x - 330 : x + 80]
    write(pixels, name)


def show(tab: str, *panels: str) -> Iterator[float]:
    """Let the properties editor have the tab of this name, and of Stiction's panels in it only these, all open."""
    area_of("PROPERTIES").spaces[0].context = tab
    classes = {name: CLASSES.setdefault(name, getattr(bpy.types, f"STICTION_PT_{name}", None)) for name in PANELS[tab]}
    # a panel goes after those within it, and comes before them
    for panel in reversed(classes.values()):
        if panel.is_registered:
            bpy.utils.unregister_class(panel)
    for name, panel in classes.items():
        panel.bl_options = set()
        if name in panels:
            bpy.utils.register_class(panel)
    area_of("PROPERTIES").tag_redraw()
    yield 0.6


def dialogue(name: str, operator: Callable, *, fills_window: bool = False, **values: object) -> Iterator[float]:
    """Open a dialogue, draw it, and leave it by Esc."""
    place = window().width // 3, window().height * 2 // 3
    window().cursor_warp(*place)
    yield 0.3
    call(operator, "INVOKE_DEFAULT", **values)
    yield from shoot(name, around=None if fills_window else place)
    press("ESC")
    yield 0.5
