# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot gives back the scene that was written, bit for bit."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solver_core.io.container import ContainerError, encode_chunk
from solver_core.io.snapshot import file_digest, read_snapshot, snapshot_digest, write_snapshot
from solver_core.scene.deformable import DeformableSpec
from solver_core.scene.spec import (
    BodyKind,
    BodySpec,
    FrictionCombine,
    Grain,
    MaterialSpec,
    PairSpec,
    SceneSpec,
    ShapeKind,
    ShapeSpec,
    SolverSettings,
    SurfaceMotion,
)
from solver_core.scenes import card_house

from ..caches import give_settings_of_an_earlier_version

ROOT = Path(__file__).resolve().parents[3]


def scene():
    rng = np.random.default_rng(1)
    hull = ShapeSpec(ShapeKind.HULL, rng.normal(size=(8, 3)), rng.integers(0, 8, size=(12, 3), dtype=np.int32), margin=1e-3)
    turned = np.array([0.5, 0.5, -0.5, 0.5])
    bodies = (
        BodySpec("Würfel.001", BodyKind.ACTIVE, hull, orientation=turned, mass=0.1 + 0.2, material=MaterialSpec(0.8, 0.7, 0.1)),
        BodySpec("Cube", BodyKind.ACTIVE, hull, density=1.0 / 3.0, velocity=rng.normal(size=3), linear_damping=0.04),
        BodySpec(
            "Floor", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE), collections=5, angular_factor=np.array([1.0, 0.0, -0.0])
        ),
        BodySpec("Pusher", BodyKind.ANIMATED, hull, path=rng.normal(size=(5, 7))),
    )
    spec = SceneSpec(
        bodies,
        gravity=np.array([0.0, -0.0, -9.81]),
        frame_start=-3,
        frame_end=1,
        fps=24000 / 1001,
        friction_combine=FrictionCombine.GEOMETRIC_MEAN,
        excluded=(("Würfel.001", "Cube"), ("Pusher", "Cube")),
        pairs=(PairSpec("Stahl", "Eis 冰", 0.4, -0.0),),
    )
    return spec, SolverSettings(tolerance=1e-8, polygon_sides=8, warm_start=False)


def same(a, b):
    """Equality of nested dataclasses in which arrays and floats are compared by their bits."""
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return isinstance(b, float) and (a.hex() == b.hex())
    return type(a) is type(b) and a == b


def test_a_scene_comes_back_bit_for_bit(tmp_path):
    spec, settings = scene()
    path = tmp_path / "scene.stiction"
    write_snapshot(path, spec, settings)
    back, back_settings = read_snapshot(path)
    assert same(back, spec) and same(back_settings, settings)
    assert snapshot_digest(back, back_settings) == snapshot_digest(spec, settings)


def test_a_scene_that_is_wrong_travels_too_so_that_the_worker_can_name_what_is_wrong(tmp_path):
    spec, settings = scene()
    odd = dataclasses.replace(
        spec.bodies[0], mass=math.nan, position=np.array([np.inf, 0.0]), linear_damping=-math.inf, angular_damping=-0.0
    )
    path = tmp_path / "scene"
    write_snapshot(path, dataclasses.replace(spec, bodies=(odd,)), settings)
    assert same(read_snapshot(path)[0].bodies[0], odd)


def test_numbers_that_numpy_made_are_stored_as_numbers(tmp_path):
    spec, settings = scene()
    loose = dataclasses.replace(
        spec, fps=np.float64(spec.fps), frame_end=np.int64(spec.frame_end), time_scale=1, bodies=spec.bodies[:1]
    )
    path = tmp_path / "scene"
    write_snapshot(path, loose, settings)
    back, _ = read_snapshot(path)
    assert type(back.fps) is float and back.fps == spec.fps
    assert type(back.frame_end) is int and type(back.time_scale) is float


def test_the_digest_follows_the_content_and_nothing_else():
    spec, settings = scene()
    digest = snapshot_digest(spec, settings)
    assert digest == snapshot_digest(*scene())
    nudged = spec.bodies[1].shape.vertices.copy()
    nudged[3, 2] = np.nextafter(nudged[3, 2], np.inf)
    shape = dataclasses.replace(spec.bodies[1].shape, vertices=nudged)
    changes = [
        (
            dataclasses.replace(
                spec, bodies=(spec.bodies[0], dataclasses.replace(spec.bodies[1], shape=shape), *spec.bodies[2:])
            ),
            settings,
        ),
        (dataclasses.replace(spec, bodies=spec.bodies[::-1]), settings),
        (dataclasses.replace(spec, frame_end=2), settings),
        (dataclasses.replace(spec, gravity=np.array([0.0, 0.0, -9.81])), settings),  # +0.0 for -0.0
        (spec, dataclasses.replace(settings, tolerance=1e-9)),
    ]
    digests = {digest, *(snapshot_digest(*change) for change in changes)}
    assert len(digests) == len(changes) + 1


def test_the_digest_is_the_same_in_another_process():
    code = (
        "from tests.core.io.test_snapshot import scene; "
        "from solver_core.io.snapshot import snapshot_digest; print(snapshot_digest(*scene()))"
    )
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT).stdout
    assert printed.strip() == snapshot_digest(*scene())


def test_instances_of_one_mesh_are_stored_once_and_are_not_one_array_after_reading(tmp_path):
    mesh = ShapeSpec(ShapeKind.HULL, np.random.default_rng(0).normal(size=(1000, 3)))
    bodies = tuple(BodySpec(f"Card.{k:03}", BodyKind.ACTIVE, mesh, mass=1.0) for k in range(200))
    path = tmp_path / "cards"
    write_snapshot(path, SceneSpec(bodies), SolverSettings())
    assert path.stat().st_size < 2 * 24_000 + 200 * 1500
    first, second = read_snapshot(path)[0].bodies[:2]
    first.shape.vertices[0] = 7.0
    assert not (second.shape.vertices[0] == 7.0).any()


def test_a_failed_write_leaves_the_old_snapshot_and_no_litter(tmp_path):
    spec, settings = scene()
    path = tmp_path / "scene"
    write_snapshot(path, spec, settings)
    before = path.read_bytes()
    broken = dataclasses.replace(spec, gravity=np.array(["down"], dtype=object))
    with pytest.raises(ValueError, match=r"scene\.gravity"):
        write_snapshot(path, broken, settings)
    with pytest.raises(OSError):
        write_snapshot(tmp_path / "missing" / "scene", spec, settings)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_snapshot(tmp_path / "folder", spec, settings)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "scene"]


def test_other_files_are_refused_with_their_name(tmp_path):
    path = tmp_path / "other"
    for content in (b"", b"BLENDER", encode_chunk("head", {}, {}), encode_chunk("snap", {"scene": {}}, {})):
        path.write_bytes(content)
        with pytest.raises(ContainerError, match="other"):
            read_snapshot(path)


@pytest.mark.parametrize(("tolerance", "limit", "accepted"), [(1e-3, 1e-3, 1e-3), (1e-4, 1e-3, 1e-3), (1e-2, 1e-5, 1e-2)])
def test_a_snapshot_of_an_earlier_version_claims_no_more_than_was_accepted_there(tmp_path, tolerance, limit, accepted):
    path, (spec, settings) = tmp_path / "earlier", scene()
    write_snapshot(path, spec, settings)
    assert file_digest(path) == snapshot_digest(spec, settings)
    give_settings_of_an_earlier_version(path, crowd_tolerance=tolerance, crowd_limit=limit, step_accuracy=1e-3)
    back, back_settings = read_snapshot(path)
    assert same(back, spec)
    assert back_settings == dataclasses.replace(settings, moving_tolerance=accepted)


def test_a_field_that_this_version_does_not_know_is_not_dropped_silently(tmp_path):
    @dataclasses.dataclass(frozen=True)
    class LaterSettings(SolverSettings):
        gyroscopic: bool = True

    path = tmp_path / "later"
    write_snapshot(path, scene()[0], LaterSettings())
    with pytest.raises(ContainerError, match="SolverSettings"):
        read_snapshot(path)


@pytest.mark.slow
def test_files_can_be_read_without_loading_compiled_kernels():
    code = (
        "import sys; import solver_core.io.cache, solver_core.io.snapshot, solver_core.validation.scene, "
        "solver_core.bake.report, solver_core.worker; sys.exit('numba' in sys.modules or 'bpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_scene_in_which_nothing_bends_is_written_as_it_was_before_bodies_could():
    """The name that files of version 0.1 had for it."""
    assert snapshot_digest(card_house(levels=3), SolverSettings()) == "6b9c1d0ffb5e9b4df52fec76bc83ca91"


def test_mass_properties_and_surfaces_come_back(tmp_path):
    own = {
        "center_of_mass": np.array([0.1, 0.2, 0.3]),
        "surface_motion": SurfaceMotion(np.ones((5, 3)), np.array([0.0, 0.0, 2.0])),
        "material": MaterialSpec(rolling=0.01, torsion=0.02, grain=Grain((0.1, 0.2, -0.3), 0.7, 0.6)),
    }
    spec, _ = scene()
    spec = dataclasses.replace(spec, bodies=(dataclasses.replace(spec.bodies[0], **own), *spec.bodies[1:]))
    write_snapshot(tmp_path / "scene", spec, SolverSettings())
    read = read_snapshot(tmp_path / "scene")[0]
    assert read.bodies[0].center_of_mass.tolist() == [0.1, 0.2, 0.3]
    assert read.bodies[0].surface_motion.velocity.tolist() == [[1.0] * 3] * 5
    assert read.bodies[0].surface_motion.spin.tolist() == [0.0, 0.0, 2.0]
    assert (read.bodies[0].material.rolling, read.bodies[0].material.torsion) == (0.01, 0.02)
    assert read.bodies[0].material.grain == Grain((0.1, 0.2, -0.3), 0.7, 0.6)
    assert read.bodies[1].material.grain is None
    assert read.bodies[1].center_of_mass is None


def test_a_body_that_bends_comes_back(tmp_path):
    bends = DeformableSpec(young=1e9, modes=7, pinned=np.array([1, 2], dtype=np.int32))
    spec, _ = scene()
    spec = dataclasses.replace(spec, bodies=(dataclasses.replace(spec.bodies[0], deformable=bends), *spec.bodies[1:]))
    write_snapshot(tmp_path / "scene", spec, SolverSettings())
    read = read_snapshot(tmp_path / "scene")[0].bodies[0].deformable
    assert (read.kind, read.young, read.modes, read.pinned.tolist()) == (bends.kind, 1e9, 7, [1, 2])
