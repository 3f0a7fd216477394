# SPDX-License-Identifier: GPL-3.0-or-later
"""A visit to the extension in a real window, as an artist would pay it; its pictures are those of the manual.

    export STICTION_PICTURES=docs/pictures
    blender --window-fullscreen --enable-event-simulate --python-exit-code 3 --python tests/visit/visit.py

Any Blender will do in which the extension is installed and enabled. It adds the card house, pulls a card out of it, bakes,
scrubs, looks at contacts and statistics, changes friction, bakes the rest from the frame that is shown, writes keyframes,
undoes and frees, stops a bake, loses its frames and finds them, sets thresholds, bends a shelf, and looks at every dialogue on
the way; what it finds wrong ends Blender with status 3. Without STICTION_PICTURES it draws nothing; what the manual does not
show goes into the folder more/ there.
STICTION_GRAB is a command that writes a picture of the whole screen to the file that follows it, such as
`import -window root`, for graphics drivers under which Blender's own pictures of its window are black.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import bpy
import mathutils
import numpy as np
from bpy_extras import view3d_utils

# Blender runs this file by its name, and finds nothing beside it
sys.path.append(str(Path(__file__).parent))

from opened import bake, bake_and_wait, cards, check_and_wait, moved, places, scene
from window import area_of, call, dialogue, press, shoot, show, until, window

MIDDLE = 120
# before all is asleep, and bears nothing that is kept
EARLY = 8
# From the right, a little from above.
DIRECTION = (1.3, 0.0, 0.5)
SLIPPERY = 0.05
# of a bake that takes half a minute
MANY_SUBSTEPS = 40


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


def is_compiling() -> bool:
    return bpy.context.window_manager.stiction.status.startswith("Compiling")


def play_and_pull() -> Iterator[float]:
    """A card is pulled out of the house, and afterwards everything is as it was."""
    before, session = places(scene().frame_start), bpy.context.window_manager.stiction
    area, window_ = area_of("VIEW_3D"), window()
    region = next(region for region in area.regions if region.type == "WINDOW")
    call(bpy.ops.stiction.play, "INVOKE_DEFAULT")
    assert session.is_reading, "it does not play"
    shown = lambda: np.array([ob.matrix_world for ob in cards()])  # noqa: E731
    yield 5.0
    yield from until(lambda: np.abs(shown() - before).max() > 0.0, "motion", 300.0)
    ob = max(cards(), key=lambda ob: ob.matrix_world.translation.z)
    view = area.spaces.active.region_3d
    x, y = view3d_utils.location_3d_to_region_2d(region, view, ob.matrix_world.translation)
    x, y = region.x + round(x), region.y + round(y)
    window_.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
    window_.event_simulate(type="LEFTMOUSE", value="PRESS", x=x, y=y)
    for step in range(20):
        window_.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x + 8 * step, y=y + 4 * step)
        yield 0.1
    # on a machine that has other work it is in slow motion
    yield from until(lambda: np.abs(shown() - before).max() > 0.02, "card that is pulled", 300.0)
    yield from shoot("play", "VIEW_3D")
    window_.event_simulate(type="LEFTMOUSE", value="RELEASE", x=x + 152, y=y + 76)
    yield 2.0
    yield from shoot("more/let-go", "VIEW_3D")
    press("ESC")
    yield from until(lambda: not session.is_reading, "end of the play", 30.0)
    yield 1.0
    assert np.array_equal(places(scene().frame_start), before), "something stayed where the play had it"
    assert scene().rigidbody_world.enabled, "Blender's simulation is off"


def first_bake() -> Iterator[float]:
    scene().stiction.keep_contacts = True
    built = places(1)
    yield from show("SCENE", "scene_check")
    session = bpy.context.window_manager.stiction
    call(bpy.ops.stiction.bake, "INVOKE_DEFAULT")
    yield from until(lambda: not session.is_baking or session.details or is_compiling(), "progress")
    if is_compiling():
        yield from shoot("more/compiling", "PROPERTIES")
    yield from until(lambda: not session.is_baking, "end of the first bake")
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
    yield from show("SCENE", "scene_more", "scene_contacts")
    yield from shoot("overlay")
    scene().stiction_display.show_friction_cones = True
    yield from shoot("cones", "VIEW_3D")
    scene().stiction_display.show_friction_cones = False
    scene().stiction_display.show_contacts = False
    scene().stiction_display.show_statistics = True
    yield from show("SCENE", "scene_more", "scene_statistics")
    # the overlay reads a few frames a redraw
    overlay = next(module for name, module in sys.modules.items() if name.endswith("stiction.addon.show.statistics_overlay"))
    yield from until(lambda: len(overlay.Plots.figures.frames) == scene().frame_end, "plot of all frames", 600.0)
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
    assert bake().earlier, "nothing says that frames are from another bake"
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


def look_at_a_running_bake() -> Iterator[float]:
    """One that takes long enough to be looked at, and is stopped."""
    own, session = scene().stiction, bpy.context.window_manager.stiction
    own.use_substeps, own.substeps, own.use_sleeping = True, MANY_SUBSTEPS, False
    call(bpy.ops.stiction.bake, "INVOKE_DEFAULT")
    # the bar goes with the reading of the scene as well; details are of frames
    yield from until(lambda: not session.is_baking or (session.details and session.factor > 0.2), "fifth of a bake")
    assert session.is_baking, "it was over before it could be looked at"
    yield from shoot("running", "PROPERTIES")
    call(bpy.ops.stiction.cancel)
    yield from until(lambda: not session.is_baking, "end of a bake that is stopped", 30.0)
    yield 1.0
    assert bake().state == "CACHED" and bake().last_frame < scene().frame_end, (bake().state, bake().last_frame)
    yield from shoot("more/stopped", "PROPERTIES")


def lose_frames_and_find_them() -> Iterator[float]:
    changes = bpy.context.window_manager.stiction.changes
    cache = Path(bpy.path.abspath(bake().cache))
    elsewhere = cache.parent / "elsewhere"
    elsewhere.mkdir()
    cache.rename(elsewhere / cache.name)
    yield from until(lambda: any(change.is_lost for change in changes), "word that the frames are gone", 30.0)
    yield from shoot("more/lost", "PROPERTIES")
    yield from dialogue("more/find-frames", bpy.ops.stiction.find_frames, fills_window=True)
    call(bpy.ops.stiction.find_frames, "EXEC_DEFAULT", True, filepath=str(elsewhere))
    yield from until(lambda: not any(change.is_lost for change in changes), "word that the frames are there", 30.0)
    call(bpy.ops.stiction.free_bake, "EXEC_DEFAULT", True)
    scene().stiction.use_substeps, scene().stiction.use_sleeping = False, True
    yield 1.0


def look_at_pairs() -> Iterator[float]:
    """Five published materials against each other, and the dialogue that keeps them."""
    for ob, name in zip(cards(), ("Steel", "Wood", "Ice", "Rubber", "Concrete"), strict=False):
        ob.stiction.material = name
    call(bpy.ops.stiction.add_published_pairs, which="USED")
    yield from show("SCENE", "scene_more", "scene_pairs")
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
    yield from check_and_wait()
    session = bpy.context.window_manager.stiction
    assert len(session.findings) > 1, [finding.name for finding in session.findings]
    yield from show("SCENE", "scene_check")
    yield from shoot("check", "PROPERTIES")
    # where it is read in one turn, the operator raises what it says
    with suppress(RuntimeError):
        call(bpy.ops.stiction.bake, "INVOKE_DEFAULT")
    yield from until(lambda: not session.is_baking, "end of the reading", 600.0)
    assert any("nothing was changed" in message.name for message in session.messages), [m.name for m in session.messages]
    assert bake().state == "NONE", bake().state
    yield from show("SCENE")
    yield from shoot("more/refused", "PROPERTIES")


def set_thresholds() -> Iterator[float]:
    """A wall whose joints bear next to nothing, until they are told to bear twice their load."""
    for ob in list(bpy.data.objects):
        bpy.data.objects.remove(ob)
    call(bpy.ops.stiction.add_breakable_wall)
    for ob in scene().rigidbody_world.constraints.objects:
        ob.rigid_body_constraint.breaking_threshold = 1e-6
    session = bpy.context.window_manager.stiction
    yield from show("SCENE", "scene_check")
    yield from check_and_wait()
    yield from show("SCENE", "scene_check")
    yield from shoot("more/loads", "PROPERTIES")
    loads = [index for index, finding in enumerate(session.findings) if finding.field == "breaking_threshold"]
    assert [session.findings[index].level for index in loads] == ["WARNING"], [finding.name for finding in session.findings]
    yield from dialogue("more/thresholds", bpy.ops.stiction.set_thresholds, index=loads[0])
    call(bpy.ops.stiction.set_thresholds, "EXEC_DEFAULT", True, index=loads[0])
    yield 1.0
    yield from until(lambda: not session.is_checking, "end of the second check", 300.0)
    levels = [finding.level for finding in session.findings if finding.field == "breaking_threshold"]
    assert levels == ["INFO"], [finding.name for finding in session.findings]
    yield from shoot("more/loads-after", "PROPERTIES")


def bend_a_shelf() -> Iterator[float]:
    """A board that gives way under a book: its panel, the bend on the screen, and nothing of it left."""
    for ob in list(bpy.data.objects):
        bpy.data.objects.remove(ob)
    call(bpy.ops.stiction.add_bookshelf, books=1)
    bodies = scene().rigidbody_world.collection.objects
    (shelf,) = (ob for ob in bodies if ob.stiction.use_flexible)
    for ob in bpy.context.view_layer.objects:
        ob.select_set(ob == shelf)
    bpy.context.view_layer.objects.active = shelf
    call(bpy.ops.stiction.apply_stiffness, material="ABS")
    shelf.stiction.use_large_bends = True
    yield from show("SCENE", "scene_check")
    yield from check_and_wait()
    yield from show("PHYSICS", "object_flexible")
    yield from shoot("flexible", "PROPERTIES")
    call(bpy.ops.view3d.view_selected)
    last = scene().frame_start + 23
    scene().frame_end = scene().rigidbody_world.point_cache.frame_end = last
    yield from bake_and_wait()
    assert bake().state == "CACHED", bake().state
    scene().frame_set(last)
    values = [block.value for block in shelf.data.shape_keys.key_blocks[1:]]
    assert max(map(abs, values)) > 1e-4, values
    yield from shoot("more/bent")
    call(bpy.ops.stiction.free_bake, "EXEC_DEFAULT", True)
    yield 1.0
    assert shelf.data.shape_keys is None, "keys of a bend are left"


VISIT = (
    add_house,
    play_and_pull,
    first_bake,
    look_at_contacts,
    look_at_settings,
    change_and_go_on,
    commit_undo_and_free,
    look_at_a_running_bake,
    lose_frames_and_find_them,
    look_at_pairs,
    look_at_a_check,
    set_thresholds,
    bend_a_shelf,
)


def walk() -> Iterator[float]:
    for part in VISIT:
        print("visit:", part.__name__, flush=True)
        yield from part()


def main() -> None:
    """Take one step of the walk after the other, from a timer, so that Blender draws between them."""
    # now, for in a timer it is too late
    bpy.context.preferences.view.show_splash = False
    bpy.context.preferences.view.show_tooltips = False
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
