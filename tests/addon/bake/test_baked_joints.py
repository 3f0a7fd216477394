# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake takes a constraint's bodies from Blender's own simulation and gives them back; it tells what the constraint bore."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from ..joints import constrain


def test_a_constraint_does_not_pull_at_bodies_that_a_bake_moves(scene, make_body, fake_worker):
    """Until the bake is freed; then Blender's own simulation has it back."""
    from ..dump import dump

    first, second = make_body("First"), make_body("Second")
    second.location.x = 2.0
    constrain("FIXED", first, second)
    scene.frame_set(1)
    before = dump()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    parted = [np.linalg.norm(np.array(placed_at(frame, second) - placed_at(frame, first))) for frame in (1, 3, 5)]
    expected = [
        np.linalg.norm(moved(fake_worker, 1, frame, (2.0, 0.0, 0.0)) - moved(fake_worker, 0, frame)) for frame in (1, 3, 5)
    ]
    assert parted == pytest.approx(expected, abs=1e-5) and not np.allclose(parted, 2.0, atol=0.1)
    scene.frame_set(1)
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert dump() == before


def test_what_a_constraint_bore_becomes_curves_of_its_object(scene, make_body, fake_worker, monkeypatch):
    from stiction.addon.bake.fingerprint import of_object
    from stiction.addon.blender.actions import curves

    bore = {number: np.arange(6.0) + 10.0 * number for number in range(1, 6)}
    plain = fake_worker.frame

    def frame(self, number):
        found = plain(self, number)
        found.reactions[0] = bore[number]
        return found

    monkeypatch.setattr(fake_worker, "frame", frame)
    first, second = make_body("First"), make_body("Second")
    ob = constrain("FIXED", first, second)
    assert not bpy.ops.stiction.reactions_to_curves.poll()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    before = of_object(ob, {})
    assert bpy.ops.stiction.reactions_to_curves() == {"FINISHED"}
    assert of_object(ob, {}) == before, "a bake is not outdated by what comes of it"
    found = {(curve.data_path, curve.array_index): curve for curve in curves(ob)}
    for number, reaction in bore.items():
        force = [found['["reaction_force"]', axis].evaluate(number) for axis in range(3)]
        torque = [found['["reaction_torque"]', axis].evaluate(number) for axis in range(3)]
        assert [*force, *torque] == pytest.approx(list(reaction))
    scene.frame_set(3)
    assert list(ob.evaluated_get(bpy.context.evaluated_depsgraph_get())["reaction_torque"]) == pytest.approx(list(bore[3][3:]))


def test_a_bake_without_a_frame_has_no_reactions_to_key(scene, make_body, fake_worker, monkeypatch):
    from stiction.addon.output import reactions

    constrain("FIXED", make_body("First"), make_body("Second"))
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    monkeypatch.setattr(reactions, "open_cache", lambda _: SimpleNamespace(frames=range(1, 1)))
    with pytest.raises(RuntimeError, match="it has no frames; resume the bake"):
        bpy.ops.stiction.reactions_to_curves()


def test_reactions_that_are_not_unique_are_named_as_they_are_keyed(scene, make_body, fake_worker, capfd):
    """A door on two hinges, and a bell that hangs from it."""
    door, bell = make_body("Door"), make_body("Bell")
    hinges = [constrain("HINGE", None, door, location=(0.0, 0.0, z), name=f"Hinge {z:g}") for z in (0.5, 1.5)]
    constrain("FIXED", door, bell, name="Cord")
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    capfd.readouterr()
    assert bpy.ops.stiction.reactions_to_curves() == {"FINISHED"}
    said = capfd.readouterr().out
    assert f"3 constraints are keyed; 2 are not unique: {hinges[0].name}, {hinges[1].name}\n" in said


def placed_at(frame: int, ob):
    bpy.context.scene.frame_set(frame)
    return ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.translation.copy()


def moved(worker, body: int, frame: int, start=(0.0, 0.0, 0.0)) -> np.ndarray:
    return worker.displacement(body, frame)[:3] @ np.array([*start, 1.0])
