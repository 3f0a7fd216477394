# SPDX-License-Identifier: GPL-3.0-or-later
"""A baked object moves rigidly with its body, whatever places it, and Free Bake brings everything back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from .dump import dump
from .objects import PLACEMENTS, add_empty, axis_angle, euler_zyx, mirrored, parented_with_inverse, quaternion, world_matrix

FRAMES = range(1, 6)


def bake() -> None:
    assert bpy.ops.stiction.bake() == {"FINISHED"}


def played(objects: list[bpy.types.Object], times: int = 1) -> np.ndarray:
    """World matrices [frames, objects, 4, 4] as Blender evaluates them; out of order, as someone who scrubs would see them.

    times: how often each frame is set; where members of the rigid body world are parents of each other Blender may be late.
    """
    result = np.empty((len(FRAMES), len(objects), 4, 4))
    for frame in (3, 1, 5, 2, 4):
        for _ in range(times):
            bpy.context.scene.frame_set(frame)
        result[frame - 1] = [world_matrix(ob) for ob in objects]
    return result


def expected(worker: type, objects: list[bpy.types.Object], rest: np.ndarray) -> np.ndarray:
    names = read_names()
    return np.array(
        [[worker.displacement(names.index(ob.name), frame) @ rest[i] for i, ob in enumerate(objects)] for frame in FRAMES]
    )


def closeness(found: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference, relative to the size of the scene: Blender keeps matrices in single precision."""
    return float(np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max()))


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACEMENTS)
def test_playback_and_keyframes_follow_the_body(make_body, fake_worker, place):
    ob = make_body()
    ob.location = (0.3, 0.2, 5.0)
    place(ob)
    rest = world_matrix(ob)[None]
    wanted = expected(fake_worker, [ob], rest)
    bake()
    assert closeness(played([ob]), wanted) < 2e-6
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    assert closeness(played([ob]), wanted) < 2e-6
    assert ob.rigid_body.kinematic


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_curves_of_angles_do_not_jump(make_body, fake_worker, order):
    ob = make_body()
    ob.rotation_mode = order
    rest = world_matrix(ob)[None]
    # Slow enough that a step of more than half a turn can only be a jump.
    fake_worker.displacement = staticmethod(lambda body, frame: spun(0.9 * (frame - 1)))
    wanted = expected(fake_worker, [ob], rest)
    bake()
    bpy.ops.stiction.bake_to_keyframes()
    assert closeness(played([ob]), wanted) < 2e-6
    angles = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        angles.append(tuple(ob.rotation_euler))
    assert np.abs(np.diff(angles, axis=0)).max() < 2.0


def spun(angle: float) -> np.ndarray:
    result = np.eye(4)
    c, s = np.cos(angle), np.sin(angle)
    result[:2, :2] = [[c, -s], [s, c]]
    return result


def test_a_tower_of_parents_that_are_all_baked(make_body, fake_worker):
    a, b, c = (make_body(name) for name in "ABC")
    a.location, b.location, c.location = (1, 0, 0), (0, 2, 0), (0, 0, 3)
    euler_zyx(a)
    quaternion(b)
    axis_angle(c)
    between = add_empty("Between", (0.1, 0.2, 0.3), (1.0, 0.5, 0.2))
    b.parent = a
    between.parent = b
    c.parent = between
    objects = [c, a, b]
    # To Blender these are a circle of dependencies until the bake breaks it; it takes some evaluations to settle.
    for _ in range(3):
        bpy.context.scene.frame_set(1)
    rest = np.array([world_matrix(ob) for ob in objects])
    wanted = expected(fake_worker, objects, rest)
    bake()
    before_again = read_names()
    assert closeness(played(objects), wanted) < 3e-6
    bpy.ops.stiction.bake_to_keyframes()
    assert closeness(played(objects), wanted) < 3e-6
    assert before_again == ["A", "B", "C"]


def read_names() -> list[str]:
    from stiction.addon.extract import extract

    return [body.name for body in extract(bpy.context).spec.bodies]


def test_a_parent_with_keyframes_of_its_own(make_body, fake_worker):
    ob = make_body()
    parent = add_empty("Cart", (0, 0, 0), (0, 0, 0))
    ob.parent = parent
    for frame in (1, 5):
        parent.location, parent.rotation_euler = (frame, 1, 0), (0.2 * frame, 0, 0.5 * frame)
        parent.keyframe_insert("location", frame=frame)
        parent.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(1)
    rest = world_matrix(ob)[None]
    wanted = expected(fake_worker, [ob], rest)
    bake()
    assert closeness(played([ob]), wanted) < 3e-6
    bpy.ops.stiction.bake_to_keyframes()
    assert closeness(played([ob]), wanted) < 3e-6


@pytest.mark.parametrize("nothing", [(0.0, 0.0, 0.0), (1.0, 0.0, 2.0)])
def test_a_parent_without_volume_at_a_frame_leaves_the_other_frames_as_they_are(make_body, fake_worker, nothing):
    ob, child = make_body(), make_body("Child")
    parent = add_empty("Cart", (0, 0, 0), (0.4, 0.5, 0.6))
    ob.parent, child.parent, child.location = parent, ob, (0, 0, 1)
    for frame, scale in ((1, (1, 1, 1)), (3, (1, 1, 1)), (4, nothing), (5, (1, 1, 1))):
        parent.scale = scale
        parent.keyframe_insert("scale", frame=frame)
    for _ in range(3):
        bpy.context.scene.frame_set(1)
    rest = np.array([world_matrix(one) for one in (ob, child)])
    wanted = expected(fake_worker, [ob, child], rest)
    bake()
    others = [0, 1, 2, 4]
    assert closeness(played([ob, child], times=3)[others], wanted[others]) < 3e-6
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    assert closeness(played([ob, child], times=3)[others], wanted[others]) < 3e-6
    values = [point.co[1] for one in (ob, child) for curve in curves_of(one) for point in curve.keyframe_points]
    assert np.abs(values).max() < 100.0


def curves_of(ob):
    from stiction.addon.actions import curves

    return curves(ob)


def test_bodies_that_share_a_mesh_move_on_their_own(make_body, fake_worker):
    a = make_body("A")
    b = make_body("B", mesh=a.data)
    b.location, b.scale = (3, 0, 0), (-1, 2, 0.5)
    rest = np.array([world_matrix(a), world_matrix(b)])
    wanted = expected(fake_worker, [a, b], rest)
    bake()
    bpy.ops.stiction.bake_to_keyframes()
    assert a.data == b.data and closeness(played([a, b]), wanted) < 3e-6


def busy_body(make_body: Callable) -> bpy.types.Object:
    """A body with everything that a bake has to put aside: curves of several kinds, a track, a driver, a constraint."""
    ob = make_body("Busy")
    mirrored(ob)
    ob.location = (0.5, 0.25, 4.0)
    for frame, height in ((1, 4.0), (5, 9.0)):
        ob.location.z = height
        ob.keyframe_insert("location", frame=frame)
        ob["glow"] = float(frame)
        ob.keyframe_insert('["glow"]', frame=frame)
    data = ob.animation_data
    strip_action = bpy.data.actions.new("Swing")
    data.nla_tracks.new().strips.new("Swing", 1, strip_action)
    ob.driver_add("scale", 1).driver.expression = "1.0 + 0.25"
    copied = ob.constraints.new("COPY_ROTATION")
    copied.target = add_empty("Guide", (0, 0, 0), (0.4, 0.3, 0.2))
    ob.constraints.new("LIMIT_SCALE").mute = True
    return ob


@pytest.mark.parametrize("keyed", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("place", [*PLACEMENTS, "busy", "family"])
def test_free_bake_brings_back_every_value(make_body, fake_worker, place, keyed):
    if place == "busy":
        busy_body(make_body)
    elif place == "family":
        make_body("Child").parent = make_body("Parent")
    else:
        place(make_body())
    bpy.context.scene.frame_set(2)
    before = dump()
    bake()
    assert dump() != before
    if keyed:
        bpy.ops.stiction.bake_to_keyframes()
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    bpy.context.scene.frame_set(2)
    assert differences(before, dump()) == []


def differences(before, after, path="") -> list[str]:
    """Where two dumps differ, in words."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before.keys() | after.keys()
        return [line for key in sorted(keys) for line in differences(before.get(key), after.get(key), f"{path}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [line for i, (a, b) in enumerate(zip(before, after, strict=True)) for line in differences(a, b, f"{path}[{i}]")]
    return [] if before == after else [f"{path}: {before!r} -> {after!r}"]


def test_a_busy_body_follows_the_bake_and_keeps_its_other_curves(make_body, fake_worker):
    ob = busy_body(make_body)
    bpy.context.scene.frame_set(1)
    rest = world_matrix(ob)[None]
    wanted = expected(fake_worker, [ob], rest)
    bake()
    assert closeness(played([ob]), wanted) < 2e-6
    bpy.ops.stiction.bake_to_keyframes()
    assert closeness(played([ob]), wanted) < 2e-6
    bpy.context.scene.frame_set(5)
    assert ob["glow"] == 5.0


@pytest.mark.parametrize("keyed", [False, True])
def test_everything_survives_saving_and_loading(make_body, fake_worker, tmp_path: Path, keyed):
    busy_body(make_body)
    parented_with_inverse(make_body("Child"))
    bpy.context.scene.frame_set(1)
    before = dump()
    names = ["Busy", "Child"]
    rest = np.array([world_matrix(bpy.data.objects[name]) for name in names])
    wanted = expected(fake_worker, [bpy.data.objects[name] for name in names], rest)
    bake()
    if keyed:
        bpy.ops.stiction.bake_to_keyframes()
    file = str(tmp_path / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.open_mainfile(filepath=file)
    assert closeness(played([bpy.data.objects[name] for name in names]), wanted) < 2e-6
    bpy.ops.stiction.free_bake()
    bpy.context.scene.frame_set(1)
    assert differences(before, dump()) == []


@pytest.mark.parametrize("keyed", [False, True])
def test_baking_again_starts_from_the_originals(make_body, fake_worker, keyed):
    busy_body(make_body)
    bpy.context.scene.frame_set(2)
    before = dump()
    ob = bpy.data.objects["Busy"]
    bake()
    first = played([ob])
    if keyed:
        bpy.ops.stiction.bake_to_keyframes()
    bpy.context.scene.frame_set(5)
    bake()
    assert closeness(played([ob]), first) < 1e-6
    bpy.ops.stiction.free_bake()
    bpy.context.scene.frame_set(2)
    assert differences(before, dump()) == []


def test_bad_input_is_named_and_changes_nothing(make_body, fake_worker):
    from stiction.addon.operators import STICTION_OT_bake

    busy_body(make_body)
    make_body("Childless", shape="COMPOUND")
    make_body("Flat").scale.x = 0.0
    bpy.context.scene.frame_set(3)
    before = dump()
    with pytest.raises(RuntimeError) as caught:
        bpy.ops.stiction.bake()
    assert "Childless: collision shape" in str(caught.value) and "Flat: scale" in str(caught.value)
    assert differences(before, dump()) == []
    shown = [message.name for message in bpy.context.window_manager.stiction.messages if message.is_error]
    assert any(line.startswith("Childless: collision shape") for line in shown)
    assert STICTION_OT_bake.bl_label == "Bake"


def test_bad_input_leaves_an_earlier_bake_as_it_is(make_body, fake_worker):
    ob = busy_body(make_body)
    bake()
    shown = played([ob])
    bpy.context.scene.frame_set(3)
    before = dump()
    make_body("Childless", shape="COMPOUND")
    with pytest.raises(RuntimeError):
        bpy.ops.stiction.bake()
    bpy.data.objects.remove(bpy.data.objects["Childless"])
    bpy.data.meshes.remove(bpy.data.meshes["Childless"])
    assert differences(before, dump()) == []
    assert closeness(played([ob]), shown) < 1e-6


@pytest.mark.parametrize("status", [1, 2])
def test_a_worker_that_fails_before_the_first_frame_changes_nothing(make_body, fake_worker, monkeypatch, status):
    from stiction.addon import job

    busy_body(make_body)
    bpy.context.scene.frame_set(1)
    before = dump()
    monkeypatch.setattr(fake_worker, "all_events", lambda self, check: iter([job.WorkerEnded(status, "no memory")]))
    with pytest.raises(RuntimeError, match="no memory"):
        bpy.ops.stiction.bake()
    assert differences(before, dump()) == []


def test_a_bake_that_stopped_half_way_plays_what_there_is(make_body, fake_worker):
    ob = make_body()
    rest = world_matrix(ob)[None]
    wanted = expected(fake_worker, [ob], rest)
    fake_worker.last_frame, fake_worker.status = 3, 1
    with pytest.raises(RuntimeError, match="trouble"):
        bpy.ops.stiction.bake()
    scene = bpy.context.scene
    assert scene.stiction.bake.state == "CACHED" and scene.stiction.bake.last_frame == 3
    shown = played([ob])
    assert closeness(shown[:3], wanted[:3]) < 2e-6 and closeness(shown[3:], wanted[[2, 2]]) < 2e-6


@pytest.mark.parametrize("frame", [1, 3, 5])
def test_undo_during_a_bake_does_not_throw_it_away(make_body, fake_worker, monkeypatch, frame):
    """What is undone is something that was done since the click on Bake, which is no step of undo itself before it is over."""
    from stiction.addon import job, runner

    ob = make_body()
    wanted = expected(fake_worker, [ob], world_matrix(ob)[None])
    bpy.context.scene.frame_set(1)
    before = dump()
    stopped = []
    plain = fake_worker.all_events

    def undone(self, check):
        for event in plain(self):
            if isinstance(event, job.WorkerMessage) and event.record.get("frame") == frame:
                # What undo does, which background mode does not have.
                runner.free(bpy.context.scene)
            yield event

    monkeypatch.setattr(fake_worker, "all_events", undone)
    monkeypatch.setattr(fake_worker, "stop", lambda self: stopped.append(True))
    bpy.ops.stiction.bake()
    bake = bpy.context.scene.stiction.bake
    assert (stopped, bake.state, bake.last_frame) == ([], "CACHED", 5)
    assert closeness(played([ob]), wanted) < 2e-6
    bpy.context.scene.frame_set(1)
    bpy.ops.stiction.free_bake()
    assert differences(before, dump()) == []


def test_another_file_is_left_alone_by_a_bake_that_was_begun_before_it(make_body, fake_worker, monkeypatch):
    from stiction.addon import job

    make_body()
    stopped = []
    plain = fake_worker.all_events

    def opened(self, check):
        for event in plain(self):
            if isinstance(event, job.WorkerMessage) and event.record.get("frame") == 3:
                bpy.ops.wm.read_factory_settings()
                assert "Scene" in bpy.data.scenes
            yield job.WorkerEnded(-15) if stopped else event

    monkeypatch.setattr(fake_worker, "all_events", opened)
    monkeypatch.setattr(fake_worker, "stop", lambda self: stopped.append(True))
    from stiction.addon.runner import begin
    from stiction.addon.turns import at_once

    at_once(begin(bpy.context, lambda level, text: None)).run()
    assert stopped == [True] and bpy.data.scenes["Scene"].stiction.bake.state == "NONE"


def test_a_missed_tolerance_is_said_and_the_bake_is_kept(make_body, fake_worker):
    make_body()
    fake_worker.status = 3
    bake()
    record = bpy.context.scene.stiction.bake
    assert record.state == "CACHED" and record.missed_steps == 1 and "missed" in record.summary


def test_a_cache_that_is_gone_or_damaged_is_said_and_changes_nothing(make_body, fake_worker):
    make_body()
    bake()
    cache = Path(bpy.context.scene.stiction.bake.cache)
    content = cache.read_bytes()
    for damage in (content[:50], b"", None):
        cache.unlink()
        if damage is not None:
            cache.write_bytes(damage)
            before = dump()
            with pytest.raises(RuntimeError, match="cached frames"):
                bpy.ops.stiction.bake_to_keyframes()
            assert differences(before, dump()) == []
        bpy.context.scene.frame_set(4)
        if damage is None:
            cache.write_bytes(content)
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}


def test_handlers_come_and_go_with_the_extension(extension):
    handlers = bpy.app.handlers.frame_change_post
    count = len(handlers)
    extension.unregister()
    assert len(handlers) == count - 1 and not hasattr(bpy.types.Scene, "stiction")
    extension.register()
    assert len(handlers) == count


def test_operators_say_why_they_cannot_run(scene):
    assert not bpy.ops.stiction.free_bake.poll() and not bpy.ops.stiction.bake_to_keyframes.poll()
    assert not bpy.ops.stiction.cancel.poll()
    bpy.ops.rigidbody.world_remove()
    assert not bpy.ops.stiction.bake.poll()


def test_linked_bodies_are_refused_and_their_overrides_baked(scene, make_body, fake_worker, tmp_path: Path):
    make_body("Linked").location = (1, 2, 3)
    library = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    scene.rigidbody_world.collection = bpy.data.collections.new("RigidBodyWorld")
    scene.rigidbody_world.point_cache.frame_end = 5
    scene.stiction.cache_directory = str(tmp_path / "cache")
    with bpy.data.libraries.load(library, link=True) as (_, wanted):
        wanted.objects = ["Linked"]
    linked = wanted.objects[0]
    scene.collection.objects.link(linked)
    scene.rigidbody_world.collection.objects.link(linked)
    with pytest.raises(RuntimeError, match="library"):
        bpy.ops.stiction.bake()
    own = linked.override_create(remap_local_usages=True)
    assert own.library is None
    bake()
    bpy.context.scene.frame_set(4)
    assert not np.allclose(world_matrix(own)[:3, 3], (1, 2, 3), atol=1e-3)
    bpy.ops.stiction.free_bake()
    assert np.allclose(own.location, (1, 2, 3)) and not own.rigid_body.kinematic
