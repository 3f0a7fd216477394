# SPDX-License-Identifier: GPL-3.0-or-later
"""With the real worker process: a bake in the open file, one cut off and resumed, and the console script on its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import bpy
import numpy as np
import pytest

from ..loading import ROOT
from ..objects import box_mesh, world_matrix

CONSOLE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("stiction", {root!r} + "/__init__.py", submodule_search_locations=[{root!r}])
sys.modules["stiction"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["stiction"])
from stiction.addon.command.console import main
sys.exit(main())
"""


@pytest.fixture
def falling_box(scene, make_body, tmp_path: Path) -> bpy.types.Object:
    """A cube 0.1 m above the ground, which it reaches after 0.143 s, in the fourth frame."""
    ground = make_body("Ground", kind="PASSIVE", shape="BOX", mesh=box_mesh("Ground", (5.0, 5.0, 0.5)))
    ground.location.z = -0.5
    box = make_body("Box", shape="BOX", mesh=box_mesh("Box", (0.1, 0.1, 0.1)))
    box.location = (0.5, 0.25, 0.2)
    for ob in (ground, box):
        ob.rigid_body.friction = 0.9
        ob.rigid_body.linear_damping = ob.rigid_body.angular_damping = 0.0
    scene.rigidbody_world.point_cache.frame_end = 12
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "falling.blend"))
    return box


def heights(ob: bpy.types.Object) -> np.ndarray:
    result = []
    for frame in range(1, 13):
        bpy.context.scene.frame_set(frame)
        result.append(world_matrix(ob)[:3, 3])
    return np.array(result)


def test_a_box_falls_and_lies_where_it_fell(falling_box, tmp_path):
    report = tmp_path / "report.json"
    assert bpy.ops.stiction.bake(report_path=str(report)) == {"FINISHED"}
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    places = heights(falling_box)
    t = np.arange(4) / 24.0
    assert np.allclose(places[:4, 2], 0.2 - 9.81 * t * t / 2.0, atol=1e-6)
    assert np.abs(places[8:, 2] - 0.1).max() < 5e-4
    assert np.abs(places[:, :2] - (0.5, 0.25)).max() < 1e-4
    content = json.loads(report.read_text())
    assert [row["frame"] for row in content["frames"]] == list(range(1, 13))


def test_what_falls_flies_straight_on_once_gravity_is_gone_for_the_rest_of_the_bake(falling_box):
    scene = bpy.context.scene
    bpy.ops.stiction.bake()
    before = heights(falling_box)
    scene.gravity = (0.0, 0.0, 0.0)
    scene.rigidbody_world.point_cache.frame_end = 5
    scene.frame_set(2)
    assert bpy.ops.stiction.bake(from_here=True) == {"FINISHED"}
    assert scene.stiction.bake.earlier == "Frames 1 to 2 are from another bake: gravity (0, 0, -9.81)"
    places = heights(falling_box)
    assert np.array_equal(places[:2], before[:2])
    # velocities belong to the middle of a step
    speed = 9.81 * (1 / 24 - 0.5 / 240)
    assert np.allclose(np.diff(places[1:5, 2]), -speed / 24, atol=1e-5)


@pytest.mark.slow
def test_a_bake_that_was_cut_off_goes_on_to_the_same_bits(falling_box):
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    cache = Path(bpy.context.scene.stiction.bake.cache)
    from stiction.solver_core.io.cache import FrameCacheReader

    whole = [frame.poses for frame in FrameCacheReader(cache)]
    cache.write_bytes(cache.read_bytes()[: cache.stat().st_size // 2])
    assert bpy.ops.stiction.bake(resume=True) == {"FINISHED"}
    again = [frame.poses for frame in FrameCacheReader(cache)]
    assert len(again) == 12 and all(np.array_equal(a, b) for a, b in zip(whole, again, strict=True))


@pytest.mark.slow
def test_a_body_that_is_nowhere_in_mid_shot_stops_the_bake_there_and_once_it_is_mended_the_bake_goes_on(
    falling_box, make_body, capsys
):
    """By a driver that becomes too large for Blender's numbers."""
    lift = make_body("Lift", kind="PASSIVE", shape="BOX", mesh=box_mesh("Lift", (0.1, 0.1, 0.1)))
    lift.location, lift.rigid_body.kinematic = (3.0, 0.0, 0.5), True
    driver = lift.driver_add("location", 0).driver
    driver.expression = "1e48 if frame > 6 else 0.1 * frame"
    with pytest.raises(RuntimeError, match=r"stopped after frame 6(.|\n)*Lift: path: the pose at frame 7 is not finite"):
        bpy.ops.stiction.bake()
    assert "Lift: place: at frame 7: its transform is not a number" in capsys.readouterr().out
    bake = bpy.context.scene.stiction.bake
    assert (bake.state, bake.last_frame, bake.frame_end) == ("CACHED", 6, 12)
    before = heights(falling_box)[:6]
    t = np.arange(4) / 24.0
    assert np.allclose(before[:4, 2], 0.2 - 9.81 * t * t / 2.0, atol=1e-6)
    driver.expression = "0.1 * frame"
    assert bpy.ops.stiction.bake(resume=True) == {"FINISHED"}
    assert bake.last_frame == 12 and (heights(falling_box)[:6] == before).all()


@pytest.mark.slow
def test_the_console_script_does_the_same(falling_box, tmp_path):
    source, output, report = tmp_path / "falling.blend", tmp_path / "baked.blend", tmp_path / "report.json"
    command = [sys.executable, "-c", CONSOLE.format(root=str(ROOT)), "bake", source, "-o", output, "--report", report]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=dict(os.environ), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100 %" in done.stdout and len(json.loads(report.read_text())["frames"]) == 12
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert abs(heights(bpy.data.objects["Box"])[-1, 2] - 0.1) < 5e-4
    refused = subprocess.run([*map(str, command[:4]), str(source)], capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 2 and "--output" in refused.stderr


def console(*arguments, **options):
    command = [sys.executable, "-c", CONSOLE.format(root=str(ROOT)), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ), **options)


@pytest.mark.slow
def test_two_bakes_of_one_file_at_once_have_each_their_own_motion(falling_box, tmp_path):
    """One on the command line, the other in this Blender."""
    output = tmp_path / "baked.blend"
    other = console(
        *("bake", tmp_path / "falling.blend", "-o", output, "--set", "Box:restitution=0.8", "--set", "Ground:restitution=0.8")
    )
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert np.diff(heights(falling_box)[:, 2]).max() < 1e-4
    said = other.communicate(timeout=900)
    assert other.returncode == 0, said
    assert np.diff(heights(falling_box)[:, 2]).max() < 1e-4
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert np.diff(heights(bpy.data.objects["Box"])[:, 2]).max() > 0.01


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        # one that has ended, and that nobody has asked about yet
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for the worker's process as Linux shows it")
@pytest.mark.parametrize(
    "way", ["SIGKILL", "SIGINT to all", *(pytest.param(name, marks=pytest.mark.long) for name in ("SIGTERM", "SIGINT"))]
)
def test_no_worker_outlives_its_bake(falling_box, tmp_path, way):
    """Ctrl+C is a SIGINT to all processes of the terminal."""
    arguments = "bake", tmp_path / "falling.blend", "-o", tmp_path / "baked.blend", "--end", 1_000_000
    process = console(*arguments, start_new_session=True)
    assert process.stdout is not None
    assert any("Frame 40 " in line for line in process.stdout)
    (lock,) = (tmp_path / "cache").glob("*.lock")
    worker = json.loads(lock.read_text())["process"]
    assert is_running(worker)
    number = signal.Signals[way.partition(" ")[0]]
    (os.killpg if way.endswith("all") else os.kill)(process.pid, number)
    process.wait(timeout=60)
    deadline = time.monotonic() + 60.0
    while is_running(worker):
        assert time.monotonic() < deadline, "the worker is still there"
        time.sleep(0.05)
    if way != "SIGKILL":
        assert process.returncode == 1 and process.stderr is not None
        said = process.stderr.read()
        assert "--resume" in said and "status 1" not in said and "Traceback" not in said


@pytest.mark.slow
def test_the_worker_needs_nothing_from_the_current_folder(falling_box, tmp_path, monkeypatch):
    from stiction.addon.bake.process import Idle
    from stiction.addon.panels.operators import STICTION_OT_bake

    own = Idle()
    monkeypatch.setattr(STICTION_OT_bake, "idle", own)
    (tmp_path / "numba.py").write_text("raise ImportError('the wrong numba')")
    monkeypatch.chdir(tmp_path)
    bpy.context.scene.rigidbody_world.point_cache.frame_end = 2
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    own.end()


@pytest.mark.slow
def test_a_compound_bakes_as_one_body_and_takes_its_parts_along(falling_box, make_body):
    stool = make_body("Stool", shape="COMPOUND")
    stool.location, stool.rigid_body.friction = (0.5, 2.0, 0.6), 0.9
    seat = make_body("Seat", shape="BOX", mesh=box_mesh("Seat", (0.3, 0.3, 0.05)))
    legs = [make_body(f"Leg.{number}", shape="BOX", mesh=box_mesh("Leg", (0.03, 0.03, 0.25))) for number in range(4)]
    for part in (seat, *legs):
        part.parent = stool
    for number, leg in enumerate(legs):
        leg.location = (0.25 * (-1) ** number, 0.25 * (-1) ** (number // 2), -0.3)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    places = heights(stool)
    assert abs(places[-1, 2] - 0.55) < 1e-3
    assert np.abs(places[:, :2] - (0.5, 2.0)).max() < 1e-4
    assert stool.animation_data is not None
    for leg in legs:
        assert leg.animation_data is None
        np.testing.assert_allclose(world_matrix(leg)[2, 3], places[-1, 2] - 0.3, atol=1e-5)


def rounded(name, base, top, height):
    """A cylinder or, with top 0, a cone along Z around its middle, of 32 sides."""
    angles = 2.0 * np.pi * np.arange(32) / 32
    points = [(r * np.cos(a), r * np.sin(a), z) for r, z in ((base, -height / 2), (top, height / 2)) for a in angles]
    sides = [(i, (i + 1) % 32, (i + 1) % 32 + 32, i + 32) for i in range(32)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], [tuple(range(31, -1, -1)), tuple(range(32, 64)), *sides])
    return mesh


def arch_mesh():
    """Two legs and a beam on them: concave, closed, from z = 0 up to 0.6."""
    outline = [(-0.4, 0), (-0.25, 0), (-0.25, 0.4), (0.25, 0.4), (0.25, 0), (0.4, 0), (0.4, 0.6), (-0.4, 0.6)]
    count = len(outline)
    points = [(x, y, z) for y in (-0.1, 0.1) for x, z in outline]
    sides = [(i, (i + 1) % count, (i + 1) % count + count, i + count) for i in range(count)]
    mesh = bpy.data.meshes.new("Arch")
    mesh.from_pydata(points, [], [tuple(range(count)), tuple(range(2 * count - 1, count - 1, -1)), *sides])
    return mesh


def rising_ground(make_body):
    """An open, bent sheet that a modifier lifts by 0.1 m over 12 frames."""
    at = (-4.0, -2.0, 0.0, 2.0, 4.0)
    points = [(x, y, 0.4 if y == 4.0 else 0.0) for x in at for y in at]
    mesh = bpy.data.meshes.new("Ground")
    mesh.from_pydata(points, [], [(5 * i + k, 5 * i + k + 5, 5 * i + k + 6, 5 * i + k + 1) for i in range(4) for k in range(4)])
    ground = make_body("Rising", kind="PASSIVE", shape="MESH", mesh=mesh)
    lift = ground.modifiers.new("Lift", "DISPLACE")
    lift.direction, lift.mid_level = "Z", 0.0
    for frame, strength in ((1, 0.0), (12, 0.1)):
        lift.strength = strength
        lift.keyframe_insert("strength", frame=frame)
    ground.rigid_body.mesh_source, ground.rigid_body.use_deform = "DEFORM", True
    return ground


@pytest.mark.slow
def test_every_shape_rides_on_a_mesh_that_deforms(scene, make_body):
    ground = rising_ground(make_body)
    bodies = {
        "Arch": (make_body("Arch", shape="MESH", mesh=arch_mesh()), 0.0),
        "Drum": (make_body("Drum", shape="CYLINDER", mesh=rounded("Drum", 0.2, 0.2, 0.4)), 0.2),
        "Hat": (make_body("Hat", shape="CONE", mesh=rounded("Hat", 0.25, 0.0, 0.4)), 0.2),
        "Stool": (make_body("Stool", shape="COMPOUND"), 0.5),
        "Crate": (make_body("Crate", shape="CONVEX_HULL"), 0.1),
    }
    seat = make_body("Seat", shape="CYLINDER", mesh=rounded("Seat", 0.3, 0.3, 0.1))
    foot = make_body("Foot", shape="MESH", mesh=arch_mesh())
    for part, height in ((seat, 0.15), (foot, -0.5)):
        part.parent, part.location = bodies["Stool"][0], (0, 0, height)
    for number, (ob, height) in enumerate(bodies.values()):
        ob.location = (1.3 * number - 2.6, 0.3, height + 5e-4)
        ob.rigid_body.friction = 0.9
    ground.rigid_body.friction = 0.9
    scene.rigidbody_world.point_cache.frame_end = 12
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    lifted = []
    for frame in range(1, 13):
        scene.frame_set(frame)
        evaluated = ground.evaluated_get(bpy.context.evaluated_depsgraph_get())
        lifted.append(evaluated.data.vertices[12].co.z)
    assert lifted[-1] == pytest.approx(0.1, abs=1e-6)
    for ob, height in bodies.values():
        places = heights(ob)
        np.testing.assert_allclose(places[:, 2] - height, lifted, atol=2e-3)
        assert np.ptp(places[:, :2], axis=0).max() < 1e-3
