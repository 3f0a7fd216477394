# SPDX-License-Identifier: GPL-3.0-or-later
"""A visit to the extension in a real window, as an artist would pay it; its pictures are those of the manual.

    export STICTION_PICTURES=docs/pictures
    blender --window-fullscreen --enable-event-simulate --python-exit-code 3 --python tests/visit/visit.py

Any Blender will do in which the extension is installed and enabled. It adds the card house, bakes, scrubs, looks at contacts
and statistics, changes friction, bakes the rest from the frame that is shown, writes keyframes, undoes and frees, and looks at
every dialogue on the way; what it finds wrong ends Blender with status 3. Without STICTION_PICTURES it draws nothing; what
the manual does not show goes into the folder more/ there.
STICTION_GRAB is a command that writes a picture of the whole screen to the file that follows it, such as
`import -window root`, for graphics drivers under which Blender's own pictures of its window are black.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import bpy
import mathutils
import numpy as np

PICTURES = os.environ.get("STICTION_PICTURES")
GRAB = shlex.split(os.environ.get("STICTION_GRAB", ""))
# Of a bake on a machine that has other work, with everything to compile.
LONGEST = 1800.0
MIDDLE = 120
# before all is asleep, and bears nothing that is kept
EARLY = 8
# From the right, a little from above.
DIRECTION = (1.3, 0.0, 0.5)
SLIPPERY = 0.05
NOTCHES = 20
# Stiction's panels in the tabs of the properties editor, in their order, and what they are when they are not registered.
PANELS = {
    "SCENE": (
        *("scene_check", "scene_solver", "scene_advanced"),
        *("scene_pairs", "scene_range", "scene_contacts", "scene_statistics"),
    ),
    "PHYSICS": ("object_surface", "object_motion", "object_pairs", "object_bake"),
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


# The visit


def scene() -> bpy.types.Scene:
    return window().scene


def bake() -> bpy.types.PropertyGroup:
    return scene().stiction.bake


def cards() -> list[bpy.types.Object]:
    bodies = scene().rigidbody_world.collection.objects
    return sorted((ob for ob in bodies if ob.rigid_body.type == "ACTIVE"), key=lambda ob: ob.name)


def places(frame: int) -> np.ndarray:
    """Where all cards are at a frame, [cards, 4, 4]."""
    scene().frame_set(frame)
    return np.array([ob.matrix_world for ob in cards()])


def moved(a: np.ndarray, b: np.ndarray) -> float:
    """How far the origin of any card is from the one to the other, m."""
    return float(np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1).max())


def add_house() -> Iterator[float]:
    for ob in list(bpy.data.objects):
        if ob.type == "MESH":
            bpy.data.objects.remove(ob)
    call(bpy.ops.stiction.add_card_house)
    for ob in bpy.context.view_layer.objects:
        ob.select_set(ob in cards())
    area_of("VIEW_3D").spaces[0].region_3d.view_rotation = mathutils.Euler(DIRECTION).to_quaternion()
    call(bpy.ops.view3d.view_selected)
    yield 1.0
    call(bpy.ops.view3d.zoom, delta=-1)
    area_of("VIEW_3D").spaces[0].shading.show_cavity = True
    yield from show("SCENE", "scene_check", "scene_solver")
    yield 1.0
    yield from shoot("added")


def bake_and_wait(picture: str | None = None, **values: object) -> Iterator[float]:
    """Press Bake, and look at the panel on the way."""
    session = bpy.context.window_manager.stiction
    call(bpy.ops.stiction.bake, "INVOKE_DEFAULT", **values)
    if picture is not None:
        # the bar goes with the reading of the scene as well; details are of frames
        yield from until(lambda: not session.is_baking or (session.details and session.factor > 0.3), "third of a bake")
        yield from shoot(picture, "PROPERTIES")
    yield from until(lambda: not session.is_baking, "end of a bake")
    yield 1.0


def first_bake() -> Iterator[float]:
    scene().stiction.keep_contacts = True
    built = places(1)
    yield from show("SCENE", "scene_check")
    yield from bake_and_wait("running")
    assert bake().state == "CACHED", bake().state
    assert not bake().missed_steps, bake().missed_steps
    assert moved(places(scene().frame_end), built) < 1e-3, "the house does not stand"
    yield from shoot("panel", "PROPERTIES")
    scene().frame_set(MIDDLE)
    for ob in bpy.context.view_layer.objects:
        ob.select_set(False)
    yield from shoot("baked")


def look_at_contacts() -> Iterator[float]:
    scene().frame_set(EARLY)
    scene().stiction_display.show_contacts = True
    yield from show("SCENE", "scene_contacts")
    yield from shoot("overlay")
    scene().stiction_display.show_friction_cones = True
    yield from shoot("cones", "VIEW_3D")
    scene().stiction_display.show_friction_cones = False
    scene().stiction_display.show_contacts = False
    scene().stiction_display.show_statistics = True
    yield from show("SCENE", "scene_statistics")
    yield from shoot("statistics")
    for measure in ("residual", "overlap", "iterations", "seconds"):
        call(bpy.ops.stiction.jump_to_worst, measure=measure)
        yield 0.3
    scene().stiction_display.show_statistics = False
    yield from dialogue("more/accuracy", bpy.ops.stiction.export_certificate, fills_window=True, suffix=".html")


def look_at_settings() -> Iterator[float]:
    yield from show("SCENE", "scene_solver", "scene_advanced")
    yield from shoot("solver", "PROPERTIES")
    yield from show("SCENE", "scene_range")
    yield from shoot("more/frames", "PROPERTIES")
    bpy.context.view_layer.objects.active = cards()[0]
    for ob in cards():
        ob.select_set(True)
    yield from show("PHYSICS", "object_surface", "object_pairs")
    yield from shoot("surface", "PROPERTIES")


def change_and_go_on() -> Iterator[float]:
    before = places(MIDDLE), places(scene().frame_end)
    scene().frame_set(MIDDLE)
    yield from show("SCENE", "scene_check")
    for card in cards()[:4]:
        card.rigid_body.friction = SLIPPERY
    changes = bpy.context.window_manager.stiction.changes
    yield from until(lambda: len(changes) > 0, "word that the bake is outdated", 30.0)
    yield from shoot("outdated", "PROPERTIES")
    yield from bake_and_wait(from_here=True)
    assert bake().earlier, "nothing says that frames are of another bake"
    assert not changes, [change.name for change in changes]
    yield from shoot("rest", "PROPERTIES")
    after = places(MIDDLE), places(scene().frame_end)
    assert moved(before[0], after[0]) == 0.0, "the frames that were to be kept are others"
    assert moved(before[1], after[1]) > 0.05, "less friction changes nothing"
    yield from shoot("fallen")


def commit_undo_and_free() -> Iterator[float]:
    keys = bpy.ops.stiction.bake_to_keyframes
    yield from dialogue("more/keyframes-every", keys)
    yield from dialogue("keyframes", keys, where="TOLERANCE", to_strip=True)
    yield from dialogue("more/keyframes-step", keys, where="STEP")
    assert bake().state == "CACHED", "Esc wrote keyframes"
    end = places(scene().frame_end)
    call(bpy.ops.ed.undo_push, message="before the keyframes")
    call(keys, "EXEC_DEFAULT", True, where="TOLERANCE")
    yield 1.0
    assert bake().state == "KEYED", bake().state
    assert moved(places(scene().frame_end), end) < 1.1e-3, "the keys are not within their tolerance"
    yield from shoot("more/keyed", "PROPERTIES")
    call(bpy.ops.ed.undo)
    yield 1.0
    assert bake().state == "CACHED", f"{bake().state} after undo"
    assert moved(places(scene().frame_end), end) == 0.0, "undo brought another motion"
    call(bpy.ops.stiction.free_bake, "EXEC_DEFAULT", True)
    yield 1.0
    assert bake().state == "NONE", bake().state
    assert all(not ob.rigid_body.kinematic for ob in cards()), "a card is Animated still"
    yield from shoot("more/freed", "PROPERTIES")


def look_at_pairs() -> Iterator[float]:
    """Five published materials against each other, and the dialogue that keeps them."""
    for ob, name in zip(cards(), ("Steel", "Wood", "Ice", "Rubber", "Concrete"), strict=False):
        ob.stiction.material = name
    call(bpy.ops.stiction.add_published_pairs, which="USED")
    yield from show("SCENE", "scene_pairs")
    yield from shoot("pairs", "PROPERTIES")
    yield from dialogue("more/save-pairs", bpy.ops.stiction.save_pairs)


def look_at_a_check() -> Iterator[float]:
    """A scene with a few things wrong."""
    first, second, third, *_ = cards()
    second.location = first.location
    third.stiction.use_mu_static = third.stiction.use_mu_dynamic = True
    third.stiction.mu_static, third.stiction.mu_dynamic = 0.3, 0.6
    mesh = bpy.data.meshes.new("Nothing")
    empty = bpy.data.objects.new("Nothing", mesh)
    scene().collection.objects.link(empty)
    scene().rigidbody_world.collection.objects.link(empty)
    yield 0.5
    yield from show("SCENE", "scene_check")
    call(bpy.ops.stiction.check_scene, "INVOKE_DEFAULT")
    session = bpy.context.window_manager.stiction
    yield from until(lambda: session.was_checked and not session.is_checking, "end of the check", 300.0)
    assert len(session.findings) > 1, [finding.name for finding in session.findings]
    yield from show("SCENE", "scene_check")
    yield from shoot("check", "PROPERTIES")
    # where it is read in one turn, the operator raises what it says
    with suppress(RuntimeError):
        call(bpy.ops.stiction.bake, "INVOKE_DEFAULT")
    yield from until(lambda: not session.is_baking, "end of the reading", 60.0)
    assert any("nothing was changed" in message.name for message in session.messages), [m.name for m in session.messages]
    assert bake().state == "NONE", bake().state
    yield from show("SCENE")
    yield from shoot("more/refused", "PROPERTIES")


VISIT = (
    add_house,
    first_bake,
    look_at_contacts,
    look_at_settings,
    change_and_go_on,
    commit_undo_and_free,
    look_at_pairs,
    look_at_a_check,
)


def walk() -> Iterator[float]:
    for part in VISIT:
        print("visit:", part.__name__, flush=True)
        yield from part()


def main() -> None:
    """Take one step of the walk after the other, from a timer, so that Blender draws between them."""
    # now, for in a timer it is too late
    bpy.context.preferences.view.show_splash = False
    bpy.context.preferences.view.filebrowser_display_type = "SCREEN"
    bpy.context.preferences.filepaths.use_auto_save_temporary_files = False
    steps = walk()

    def step() -> float | None:
        try:
            return next(steps)
        except StopIteration:
            print("visit: all is well", flush=True)
            status = 0
        except Exception:
            traceback.print_exc()
            status = 3
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    bpy.app.timers.register(step, first_interval=1.0)


if __name__ == "__main__":
    main()
