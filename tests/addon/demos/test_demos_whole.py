# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of the Add menu, baked by the real worker: what the objects show after two seconds, or when it has happened."""

from __future__ import annotations

import json

import bpy
import numpy as np
import pytest
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector

from ..objects import world_matrix

pytestmark = pytest.mark.slow


@pytest.fixture
def baked(scene, tmp_path):
    """Adds a demo, bakes up to a frame, and gives world matrices (frames asked for, 4, 4) by the objects' names."""

    def bake(name: str, shown: tuple[int, ...], **properties) -> dict[str, np.ndarray]:
        assert getattr(bpy.ops.stiction, f"add_{name}")(**properties) == {"FINISHED"}
        scene.rigidbody_world.point_cache.frame_end = max(shown)
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "demo.blend"))
        assert bpy.ops.stiction.bake() == {"FINISHED"}
        bodies = [ob for ob in bpy.context.scene.objects if ob.rigid_body is not None]
        seen: dict[str, list[np.ndarray]] = {ob.name: [] for ob in bodies}
        for frame in shown:
            scene.frame_set(frame)
            for ob in bodies:
                seen[ob.name].append(world_matrix(ob))
        return {name: np.array(matrices) for name, matrices in seen.items()}

    return bake


def begins(shown: dict[str, np.ndarray], name: str) -> np.ndarray:
    """(bodies, frames, 4, 4) of those whose names begin so."""
    return np.array([matrices for body, matrices in shown.items() if body.startswith(name)])


def test_dominoes_lie_on_each_other(baked):
    tiles = begins(baked("dominoes", (1, 49), tiles=12), "Domino")
    assert (tiles[:, 0, 2, 2] > 0.999).all() and (tiles[:, 1, 2, 2] < 0.7).all()


def test_the_last_ball_of_newtons_cradle_is_out_when_the_first_hangs(baked):
    """Both after a quarter of their periods and a half: 20 degrees of a string of 0.5 m are 0.171 m."""
    balls = begins(baked("newtons_cradle", (1, 18)), "Ball")
    moved = balls[:, 1, 0, 3] - balls[:, 0, 0, 3]
    assert moved[0] == pytest.approx(0.171, abs=0.01)
    assert moved[4] == pytest.approx(0.171, abs=0.01) and np.abs(moved[1:4]).max() < 0.01


def test_the_solid_of_four_balls_turns_with_the_plane(baked):
    shown = baked("four_ball_solid", (25, 49))
    centre = begins(shown, "Ball").mean(axis=0)[:, :2, 3]
    turned = np.diff(np.arctan2(centre[:, 1], centre[:, 0]))[0]
    plane = shown["Plane"][:, 1, 0], shown["Plane"][:, 0, 0]
    assert np.diff(np.arctan2(*plane))[0] == pytest.approx(1.0, abs=1e-3)
    assert turned == pytest.approx(1.0, abs=0.02)


def test_what_hangs_over_the_arch_waits_and_then_lies_on_it(baked):
    """It is let go after a second, and falls 0.5 m."""
    shown = baked("catenary_arch", (1, 25, 29, 49), thrown=0)
    block = shown["Dropped 1"][:, 2, 3]
    assert block[1] == pytest.approx(block[0], abs=1e-6)
    assert block[1] - block[2] == pytest.approx(0.5 * 9.81 / 36.0, rel=0.03)
    assert block[3] == pytest.approx(1.5 + 0.055 + 0.125, abs=0.01)
    stones = begins(shown, "Voussoir")[:, :, :3, 3]
    assert np.abs(stones[:, 3] - stones[:, 0]).max() < 2e-3


def test_cards_fall_from_the_top_of_the_house_alone(baked, scene):
    scene.stiction.tolerance = 1e-4
    shown = baked("bombarded_card_house", (1, 25, 49), levels=3, blocks=1)
    cards = begins(shown, "Card")[:, :, 2, 3]
    assert np.abs(cards[:, 1] - cards[:, 0]).max() < 1e-4
    fallen = cards[:, 2] < cards[:, 1] - 0.01
    assert 1 <= fallen.sum() < len(cards) / 2


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("rods_of_1991", 49),
        pytest.param("bar_on_four_feet", 49, marks=pytest.mark.long),
        pytest.param("double_action_jack", 121, marks=pytest.mark.long),
    ],
)
def test_the_camera_sees_what_moves_out_of_its_place(baked, scene, name, last):
    bodies = baked(name, (last,))
    bpy.context.view_layer.update()
    for ob in (bpy.data.objects[body] for body in bodies if body != "Ground"):
        corners = [world_matrix(ob) @ np.append(corner, 1.0) for corner in ob.bound_box]
        places = [world_to_camera_view(scene, scene.camera, Vector(corner[:3])) for corner in corners]
        assert all(place.z > 0.0 and 0.0 < place.x < 1.0 and 0.0 < place.y < 1.0 for place in places), ob.name


def test_cubes_are_held_by_friction_alone(baked):
    """Four in the tube: without friction they are through."""
    cubes = begins(baked("jamming_tube", (49,), layers=1, friction=0.0), "Cube")
    assert (cubes[:, 0, 2, 3] < 0.65).all()


def test_a_board_that_is_baked_checked_keyed_and_freed_bends_as_it_should(scene, baked, tmp_path, capfd):
    """The board throws the box up; its kept modes make a second bake quick, and nothing of them stays."""
    from ..dump import differences, dump

    assert bpy.ops.stiction.add_diving_board() == {"FINISHED"}
    before = dump()
    assert bpy.ops.stiction.check_scene() == {"FINISHED"}
    session = bpy.context.window_manager.stiction
    assert any(line.field == "modes" and "of 12 modes swing" in line.name for line in session.findings)
    scene.rigidbody_world.point_cache.frame_end = 30
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "board.blend"))
    report = tmp_path / "report.json"
    assert bpy.ops.stiction.bake(report_path=str(report)) == {"FINISHED"}
    board, diver = bpy.data.objects["Board"], bpy.data.objects["Diver"]
    assert session.flexible["Board"].words.startswith("first frequency 11.8 Hz")
    (entry,) = json.loads(report.read_text())["flexible"]
    assert entry["body"] == "Board" and 0.1 < entry["largest_bend"] < 0.3 and entry["bricks"] > 2000
    shown = {}
    for frame in (entry["frame"], 1, 30):
        scene.frame_set(frame)
        shown[frame] = shape_of(board)
    low = shown[entry["frame"]] - shown[1]
    assert np.linalg.norm(low, axis=1).max() == pytest.approx(entry["largest_bend"], rel=1e-4)
    assert world_matrix(diver)[2, 3] > 1.2
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    scene.frame_set(entry["frame"])
    assert np.allclose(shape_of(board), shown[entry["frame"]], atol=1e-5)
    kept = list((tmp_path / "cache").glob("*.modes"))
    at = kept[0].stat().st_mtime_ns
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert len(kept) == 1 and kept[0].stat().st_mtime_ns > at
    scene.frame_set(1)
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    scene.rigidbody_world.point_cache.frame_end = 97
    assert differences(before, dump()) == []


def shape_of(ob) -> np.ndarray:
    """Where the vertices are that Blender shows, in the object's axes."""
    mesh = ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    return np.array([vertex.co[:] for vertex in mesh.vertices])
