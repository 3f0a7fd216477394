# SPDX-License-Identifier: GPL-3.0-or-later
"""Short scenes whose results are the same on every processor, and the hashes that they have.

    python -m tests.core.same_everywhere                 # prints the hashes of all scenes as JSON
    python -m tests.core.same_everywhere heap hulls      # of some
    python -m tests.core.same_everywhere --write         # rewrites same_everywhere.json
    NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= python -m tests.core.same_everywhere     # compiles all kernels without vectors

Run the last one after each change that moves bodies otherwise by intention, and commit the file with that change. The modes of
the flexible body come from a folder that --modes names, in which they are made where they are missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import solver_core as sc
from solver_core.bake.result_hash import ResultHash
from solver_core.io.kept_modes import scene_modes
from solver_core.linalg.elementary import arctangents, exponentials, sines_and_cosines
from solver_core.linalg.mat3 import eigen_of_each, inverses, principal_axes_of_points
from solver_core.linalg.small_dense import least_norm, solved, times
from solver_core.process.numeric_libraries import with_fixed_kernels
from solver_core.scene.deformable import DeformableSpec
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box_shape, ground
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.scenes import jointed
from solver_core.scenes.flexible import sheet

from ..bench import heap_scenes
from .bodies import body, material
from .meshes import angle_bracket, torus

__all__ = ["ARITHMETIC", "FILE", "LIBRARIES", "PREPARED", "SCENES", "hashes_of", "known", "run_with"]

FILE = Path(__file__).with_suffix(".json")
ROOT = Path(__file__).resolve().parents[2]
ROUGH = MaterialSpec(0.8, 0.8)
# Coordinates are multiples of this, m: sines in a scene's construction are the platform's.
COARSE = 2.0**-36


@dataclass(frozen=True)
class Short:
    """A scene, how many frames of it are baked, and with which settings."""

    make: Callable[[], SceneSpec]
    frames: int
    settings: dict[str, Any] = field(default_factory=dict)


def ragdoll() -> SceneSpec:
    """A torso of a box with a head and four limbs of capsules on ball joints with limits, which falls on its back."""
    limit = AxisSpec(lower=-0.6, upper=0.6)
    parts = {"Head": (0.0, 0.0, 0.45), "Arm L": (0.3, 0.0, 0.2), "Arm R": (-0.3, 0.0, 0.2)}
    parts |= {"Leg L": (0.12, 0.0, -0.5), "Leg R": (-0.12, 0.0, -0.5)}
    torso = body("Torso", (0.3, 0.2, 0.5), (0.0, 0.0, 0.9), 20.0, material=ROUGH, angular_velocity=(1.5, 0.3, 0.1))
    bodies, joints = [ground(ROUGH), torso], []
    for name, at in parts.items():
        capsule = ShapeSpec(ShapeKind.HULL, np.array([[0.0, 0.0, -0.12], [0.0, 0.0, 0.12]]), margin=0.07)
        place = np.array(at) + torso.position
        bodies.append(BodySpec(name, BodyKind.ACTIVE, capsule, position=place, mass=4.0, material=ROUGH))
        between = 0.5 * (place + torso.position)
        joints.append(JointSpec(f"{name} on Torso", "Torso", name, between, angular=(limit, limit, limit)))
    return SceneSpec(tuple(bodies), joints=tuple(joints), excluded=tuple(("Torso", name) for name in parts))


def meshes() -> SceneSpec:
    """Concave meshes, a torus and a bracket, which fall onto each other."""
    shapes = [heap_scenes.mesh(torus(0.15, 0.05, 16, 8)), heap_scenes.mesh(angle_bracket(), 0.2)]
    turns = (1.0, 0.2, 0.1, 0.0), (1.0, -0.1, 0.3, 0.1)
    bodies = [
        heap_scenes.body(f"Mesh {i}", shape, (0.03 * i, 0.02, 0.2 + 0.25 * i), np.array(turns[i]) / np.linalg.norm(turns[i]))
        for i, shape in enumerate(shapes)
    ]
    return SceneSpec((ground(ROUGH), *bodies), fps=24)


def cylinders() -> SceneSpec:
    """A cylinder that rolls into a standing one, and a cone that tips over."""
    rod = ShapeSpec(ShapeKind.CYLINDER, np.array([[0.0, -0.2, 0.0], [0.0, 0.2, 0.0]]), radius=0.1)
    post = ShapeSpec(ShapeKind.CYLINDER, np.array([[0.0, 0.0, -0.15], [0.0, 0.0, 0.15]]), radius=0.08)
    cone = ShapeSpec(ShapeKind.CONE, np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.3]]), radius=0.12)
    rolls = heap_scenes.body("Rod", rod, (-0.3, 0.0, 0.1))
    rolls = replace(rolls, velocity=np.array([1.5, 0.0, 0.0]), angular_velocity=np.array([0.0, 15.0, 0.0]))
    tips = replace(heap_scenes.body("Cone", cone, (0.5, 0.0, 0.02)), angular_velocity=np.array([3.0, 0.5, 0.0]))
    return SceneSpec((ground(ROUGH), rolls, heap_scenes.body("Post", post, (0.0, 0.05, 0.15)), tips))


def flexible() -> SceneSpec:
    """A plank of rubber on two blocks, and a cube that lands on it."""
    soft = DeformableSpec(young=2e6, poisson=0.3, modes=4)
    plank = sheet((1.0, 0.2, 0.04), (6, 2, 1))
    bodies = [ground(ROUGH)]
    bodies += [heap_scenes.body(f"Block {x}", box_shape((0.1, 0.3, 0.2)), (x, 0.0, 0.1), mass=None) for x in (-0.4, 0.4)]
    bodies.append(replace(heap_scenes.body("Plank", plank, (0.0, 0.0, 0.221), mass=4.0), deformable=soft))
    bodies.append(heap_scenes.body("Cube", box_shape((0.1, 0.1, 0.1)), (0.05, 0.0, 0.35)))
    return SceneSpec(tuple(bodies))


def restitution() -> SceneSpec:
    """Elastic cubes in a row on the ground, into which one slides, and one that is dropped."""
    hard = material(0.2, 0.8)
    row = [body(f"Cube {i}", position=(0.21 * i, 0.0, 0.1), material=hard) for i in range(3)]
    shot = body("Shot", position=(-0.5, 0.01, 0.1), velocity=(3.0, 0.0, 0.0), material=hard)
    dropped = body("Dropped", position=(0.2, 0.03, 0.6), angular_velocity=(0.4, 1.0, 0.0), material=hard)
    return SceneSpec((ground(hard), *row, shot, dropped))


def hinges() -> SceneSpec:
    """A chain of three plates on hinges, of which the last is driven."""
    sizes = (0.3, 0.1, 0.02)
    plates = [body(f"Plate {i}", sizes, (0.15 + 0.3 * i, 0.0, 1.0), material=ROUGH) for i in range(3)]
    free = (LOCKED, FREE_AXIS, LOCKED)
    driven = (LOCKED, AxisSpec(motor_velocity=2.0, motor_force=5.0), LOCKED)
    joints = [
        JointSpec(f"Hinge {i}", f"Plate {i - 1}" if i else "", f"Plate {i}", np.array([0.3 * i, 0.0, 1.0]), angular=angular)
        for i, angular in enumerate((free, free, driven))
    ]
    pairs = (("Plate 0", "Plate 1"), ("Plate 1", "Plate 2"))
    return SceneSpec((ground(ROUGH), *plates), joints=tuple(joints), excluded=pairs)


SCENES: dict[str, Short] = {
    "house": Short(lambda: sc.scenes.card_house(levels=2), 8),
    "heap": Short(lambda: heap_scenes.heap_of_cubes(8), 20),
    "hulls": Short(lambda: heap_scenes.heap_of_hulls(5), 20),
    "ragdoll": Short(ragdoll, 14),
    "meshes": Short(meshes, 10),
    "cylinders": Short(cylinders, 10),
    "restitution": Short(restitution, 12),
    "breaking": Short(lambda: jointed.breakable_wall(columns=2, rows=2, strength=0.5), 8),
    "hinges": Short(hinges, 8),
    "flexible": Short(flexible, 8),
    "pivot": Short(lambda: heap_scenes.heap_of_cubes(4), 12, {"method": "pivot"}),
    "energy": Short(lambda: heap_scenes.heap_of_cubes(4), 12, {"method": "energy"}),
}
# What scenes are computed with, under a name of its own: it compiles in seconds.
ARITHMETIC = "arithmetic"
# Their modes come from LAPACK, in a process in which it has fixed kernels. Another version of it has other ones.
PREPARED = ("flexible",)


def coarse(spec: SceneSpec) -> SceneSpec:
    """A scene with coordinates that do not depend on the last bits of sines."""

    def rounded(values):
        return np.round(np.asarray(values, dtype=float) / COARSE) * COARSE

    bodies = [
        replace(
            one,
            position=rounded(one.position),
            orientation=rounded(one.orientation),
            shape=replace(one.shape, vertices=rounded(one.shape.vertices)),
        )
        for one in spec.bodies
    ]
    joints = [replace(one, position=rounded(one.position), orientation=rounded(one.orientation)) for one in spec.joints]
    return replace(spec, bodies=tuple(bodies), joints=tuple(joints))


def hashes_of(names: Iterable[str], modes: Path) -> dict[str, str]:
    """The hashes of scenes, in this process; modes: the folder in which modes are kept."""
    found = {}
    for name in names:
        if name == ARITHMETIC:
            found[name] = hash_of_arithmetic()
            continue
        short = SCENES[name]
        spec = coarse(short.make())
        if any(one.deformable is not None for one in spec.bodies):
            prepare(name, modes)
        kept = scene_modes(spec, modes).by_body()
        result = ResultHash()
        for frame in sc.Simulation(spec, threads=1, modes=kept, **short.settings).frames(short.frames):
            result.add(frame)
        found[name] = result.hexdigest()
    return found


def hash_of_arithmetic() -> str:
    """The hash of matrices, dense systems and elementary functions of numbers between 0 and 1."""
    number = np.random.default_rng(1).random
    symmetric = number((200, 3, 3)) + np.eye(3)
    symmetric = symmetric + symmetric.transpose(0, 2, 1)
    square, row, angles = number((40, 40)), number(40), 20.0 * number(5000) - 10.0
    parts = [inverses(symmetric), *eigen_of_each(symmetric), principal_axes_of_points(number((100, 3)))]
    parts += [solved(square, row), least_norm(number((40, 10)), row, 1e-11), times(square, row)]
    parts += [*sines_and_cosines(angles), *exponentials(angles), arctangents(angles, angles[::-1].copy())]
    return hashlib.sha256(b"".join(part.astype("<f8").tobytes() for part in parts)).hexdigest()


def prepare(name: str, modes: Path) -> None:
    """Have the modes of a scene made in a process of its own, with fixed kernels whatever this one has."""
    script = "import sys; from tests.core import same_everywhere as same; same.make_modes(*sys.argv[1:])"
    without = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
    subprocess.run([sys.executable, "-c", script, name, str(modes)], cwd=ROOT, env=with_fixed_kernels(without), check=True)


def make_modes(name: str, modes: str) -> None:
    """Make the modes of a scene, and keep them in a folder."""
    scene_modes(coarse(SCENES[name].make()), Path(modes))


def run_with(settings: dict[str, str], names: Iterable[str], modes: Path) -> dict[str, str]:
    """The hashes of scenes, in a process with settings in its environment."""
    command = [sys.executable, "-m", "tests.core.same_everywhere", *names, "--modes", str(modes)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"with {settings}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def known() -> dict[str, Any]:
    """What the file has: the hash of each scene, and the versions of the libraries that made the modes."""
    return json.loads(FILE.read_text())


def libraries() -> dict[str, str]:
    """The versions of the libraries that modes depend on."""
    import scipy

    return {"numpy": np.__version__, "scipy": scipy.__version__}


LIBRARIES = libraries()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.core.same_everywhere", description=__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="all of them where none is named")
    parser.add_argument("--write", action="store_true", help=f"rewrite {FILE.name}")
    parser.add_argument("--modes", type=Path, help="the folder in which modes are kept")
    arguments = parser.parse_args()
    if unknown := set(arguments.scenes) - {*SCENES, ARITHMETIC}:
        parser.error(f"no such scene: {', '.join(sorted(unknown))}; there are {', '.join([*SCENES, ARITHMETIC])}")
    names = (arguments.scenes if not arguments.write else []) or [*SCENES, ARITHMETIC]
    with tempfile.TemporaryDirectory() as temporary:
        found = hashes_of(names, arguments.modes or Path(temporary))
    if arguments.write:
        FILE.write_text(json.dumps({"hashes": found, "libraries": LIBRARIES}, indent=2) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
