# SPDX-License-Identifier: GPL-3.0-or-later
"""Modes of flexible bodies are computed once for a mesh and a material, and a cache has those that its frames are told in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solver_core.bake.breaking_loads import breaking_loads
from solver_core.dynamics.simulation import Simulation
from solver_core.io.cache import CacheError, FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.continuation import continue_from, earlier_frames
from solver_core.io.kept_modes import scene_modes
from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.joints import JointSpec
from solver_core.scene.parts import ground
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, SolverSettings

from ..bodies import material
from ..deformable.beams import DENSITY, box

SPEC = DeformableSpec(young=1e7, modes=4, resolution=12)
STVK = Elasticity.STVK
SETTINGS = SolverSettings(substeps=2)


def scene(*specs, **changes):
    beams = (
        BodySpec(f"Beam {i}", BodyKind.ACTIVE, box((1.0, 0.2, 0.1)), np.array([0.0, i, 1.0]), density=DENSITY, deformable=spec)
        for i, spec in enumerate(specs)
    )
    return SceneSpec((ground(material(0.5)), *beams), frame_end=4, **changes)


def counted():
    said: list[tuple[str, int, int]] = []
    return said, lambda *what: said.append(what)


def test_bodies_alike_are_computed_once_and_the_next_bake_computes_nothing(tmp_path):
    said, say = counted()
    spec = scene(SPEC, SPEC, replace(SPEC, young=2e7))
    first = scene_modes(spec, tmp_path, say=say)
    assert said == [("Beam 0", 1, 2), ("Beam 2", 2, 2)]
    assert first.bodies == (1, 2, 3) and first.reduced[0] is first.reduced[1]
    again = scene_modes(spec, tmp_path, say=say)
    assert len(said) == 2
    for one, other in zip(first.reduced, again.reduced, strict=True):
        assert one.shapes.tobytes() == other.shapes.tobytes() and one.omega.tobytes() == other.omega.tobytes()
        assert one.inertia.second.tobytes() == other.inertia.second.tobytes()


def test_the_loads_of_joints_use_known_modes(tmp_path, monkeypatch):
    """*Check Scene* computed the modes a second time for the loads of breakable joints."""
    spec = scene(SPEC)
    spec = replace(spec, joints=(JointSpec("Glue", "", "Beam 0", np.array([0.0, 0.0, 1.0]), breaking_impulse=1e3),))
    modes = scene_modes(spec, tmp_path).by_body()

    def prepared(*_arguments, **_named):
        raise AssertionError("modes are computed again")

    monkeypatch.setattr("solver_core.dynamics.model.bending.prepared", prepared)
    with pytest.raises(AssertionError, match="computed again"):
        breaking_loads(spec, SETTINGS)
    assert breaking_loads(spec, SETTINGS, modes)["Glue"][0] > 0.0


def test_what_large_bends_are_computed_with_is_kept_too_and_none_of_small_ones_is_taken_for_it(tmp_path):
    large = scene(replace(SPEC, kind=STVK, modes=5))
    first, again = (scene_modes(large, tmp_path).reduced[0] for _ in range(2))
    assert first.large is not None and again.large is not None and first.large is not again.large
    assert first.large.gram.tobytes() == again.large.gram.tobytes() and again.large.modes == first.large.modes == 2
    known = scene_modes(scene(replace(SPEC, modes=5)), tmp_path)
    assert scene_modes(large, tmp_path, known).reduced[0].large is not None


@pytest.mark.parametrize("changes", [{"young": 3e7}, {"modes": 3}, {"damping_ratio": 0.5}, {"resolution": 14}, {"kind": STVK}])
def test_another_material_is_computed_anew(tmp_path, changes):
    said, say = counted()
    scene_modes(scene(SPEC), tmp_path)
    scene_modes(scene(replace(SPEC, **changes)), tmp_path, say=say)
    assert len(said) == 1


def test_a_damaged_file_is_computed_anew_and_one_of_another_kind_is_left(tmp_path):
    whole = scene_modes(scene(SPEC), tmp_path)
    (file,) = tmp_path.glob("*.modes")
    file.write_bytes(file.read_bytes()[:-100])
    assert scene_modes(scene(SPEC), tmp_path).reduced[0].omega.tobytes() == whole.reduced[0].omega.tobytes()
    file.write_text("a note of the user's")
    scene_modes(scene(SPEC), tmp_path)
    assert file.read_text() == "a note of the user's"


def test_a_folder_that_cannot_be_written_to_stops_nothing(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert scene_modes(scene(SPEC), tmp_path / "file" / "below").bodies == (1,)
    assert "computes them again" in capsys.readouterr().out


def written(path, spec):
    with FrameCacheWriter.create(path, spec, SETTINGS) as writer:
        writer.modes = scene_modes(spec, None)
        simulation = Simulation(spec, SETTINGS, modes=writer.modes.by_body())
        for frame in simulation.frames():
            writer.append(frame, simulation.checkpoint())
    return FrameCacheReader(path)


def test_a_cache_has_its_modes_and_one_that_begins_with_its_frames_too(tmp_path):
    spec = scene(SPEC, replace(SPEC, young=2e7))
    reader = written(tmp_path / "one.cache", spec)
    modes = reader.modes()
    assert modes.bodies == (1, 2) and modes.rows == {1: slice(0, 4), 2: slice(4, 8)}
    assert len(reader.read(3).modal) == 8
    longer = replace(spec, frame_end=9)
    continue_from(tmp_path / "one.cache", tmp_path / "two.cache", (longer, SETTINGS), 4)
    copied = FrameCacheReader(tmp_path / "two.cache").modes()
    assert [one.shapes.tobytes() for one in copied.reduced] == [one.shapes.tobytes() for one in modes.reduced]


def test_a_cache_without_flexible_bodies_has_none(tmp_path):
    assert written(tmp_path / "rigid.cache", scene(None)).modes().bodies == ()


def test_frames_told_in_other_modes_cannot_be_kept(tmp_path):
    before = scene(SPEC)
    reader = written(tmp_path / "one.cache", before)
    stiffer = replace(before, bodies=scene(replace(SPEC, young=5e7)).bodies, frame_end=9)
    with pytest.raises(CacheError, match="Beam 0 bends otherwise"):
        earlier_frames(reader, (before, SETTINGS), (stiffer, SETTINGS), 3)


def test_modes_that_are_none_are_refused(tmp_path):
    path = tmp_path / "one.cache"
    reader = written(path, scene(SPEC))
    from solver_core.io import kept_modes

    modes = reader.modes()
    spoilt = kept_modes.SceneModes((1,), (replace(modes.reduced[0], omega=np.full(4, np.nan)),))
    with FrameCacheWriter.create(path, scene(SPEC), SETTINGS) as writer:
        writer.modes = spoilt
        writer.append(Simulation(scene(SPEC), SETTINGS).first_frame(), {})
    with pytest.raises(CacheError, match="'omega'"):
        FrameCacheReader(path).modes()


def test_a_frame_with_other_modes_than_its_cache_is_refused_by_number(tmp_path):
    path, spec = tmp_path / "one.cache", scene(SPEC)
    simulation = Simulation(spec, SETTINGS)
    with FrameCacheWriter.create(path, spec, SETTINGS) as writer:
        writer.modes = scene_modes(spec, None)
        writer.append(simulation.first_frame(), simulation.checkpoint())
        frame = simulation.advance()
        writer.append(replace(frame, modal=frame.modal[:2]), simulation.checkpoint())
    reader = FrameCacheReader(path)
    assert len(reader.read(1).modal) == 4
    with pytest.raises(CacheError, match="frame 2 has 2 modes"):
        reader.read(2)
