# SPDX-License-Identifier: GPL-3.0-or-later
"""The collision step against MuJoCo's, on heaps of boxes and of convex hulls of 30 vertices, one thread each.

    python -m tests.bench.collision_against_mujoco [--bodies 1000] [--poses 20]

MuJoCo drops the bodies into a pit of five planes and lets them settle. The poses of the next steps of 1/240 s go to `detect`
and to `mj_collision`, broad and narrow phase, with the same largest gap. A heap at random is timed too: poses on a grid,
shaken, that overlap as no bake has them, all new each time. Both are called beforehand. MuJoCo runs with its own settings, with
which it makes several contacts a pair (MULTICCD), and with one contact a pair of hulls. Times are the processor's.
"""

from __future__ import annotations

import argparse
import itertools
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver_core.collision.detect import detect
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ShapeKind, ShapeSpec

from .records import on_one_thread, write_rows

Floats = NDArray[np.float64]
mujoco: Any = import_module("mujoco")  # compiled, without types

GAP = 0.005  # m, between bodies of about one metre
STEP = 1.0 / 240.0
SETTLING = 3.0  # s
SINGLE = int(mujoco.mjtDisableBit.mjDSBL_MULTICCD)
CUBE = 0.5 * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
KINDS = {"boxes": 0.95, "hulls": 0.8}  # the spacing of the heap at random


def hull(number: int) -> Floats:
    """30 points on a sphere of diameter one."""
    points = np.random.default_rng(number).normal(size=(30, 3))
    return 0.5 * points / np.linalg.norm(points, axis=1)[:, None]


def quaternions(rng: np.random.Generator, count: int) -> Floats:
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def matrices(q: Floats) -> Floats:
    """(n, 3, 3) rotations of unit quaternions (n, 4), w first."""
    w, x, y, z = q.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.ascontiguousarray(np.moveaxis(np.array(rows), 2, 0))


def grid(count: int, spacing: float) -> Floats:
    side = int(np.ceil(count ** (1.0 / 3.0)))
    return spacing * np.array(list(itertools.product(range(side), repeat=3)), dtype=float)[:count]


def mujoco_heap(kind: str, count: int, width: float) -> tuple[Any, Any]:
    """Free bodies of a kind and the five planes of a pit, the planes first."""
    spec = mujoco.MjSpec()
    spec.memory = 1 << 30
    for x, y, z, quaternion in pit(width):
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[x, y, z], quat=quaternion)
    shapes = 1 if kind == "boxes" else 8
    for s in range(shapes if kind == "hulls" else 0):
        spec.add_mesh(name=f"hull{s}", uservert=hull(s).ravel(), inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
    for i in range(count):
        body = spec.worldbody.add_body()
        body.add_freejoint()
        if kind == "boxes":
            geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.5, 0.5, 0.5])
        else:
            geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"hull{i % shapes}")
        geom.friction = [0.6, 0.0, 0.0]
    model = spec.compile()
    model.opt.timestep = STEP
    model.opt.solver = mujoco.mjtSolver.mjSOL_CG
    model.opt.iterations = 20
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return model, mujoco.MjData(model)


def pit(width: float) -> list[tuple[float, float, float, list[float]]]:
    """Places and quaternions of a floor and of four walls that look inwards."""
    half = np.sqrt(0.5)
    return [
        (0.0, 0.0, 0.0, [1.0, 0.0, 0.0, 0.0]),
        (-width / 2, 0.0, 0.0, [half, 0.0, half, 0.0]),
        (width / 2, 0.0, 0.0, [half, 0.0, -half, 0.0]),
        (0.0, -width / 2, 0.0, [half, -half, 0.0, 0.0]),
        (0.0, width / 2, 0.0, [half, half, 0.0, 0.0]),
    ]


def settled(kind: str, count: int, poses: int) -> tuple[int, Any, Floats]:
    """The seed, the model, and the coordinates of that many steps at the end of the fall, (poses, nq)."""
    rng = np.random.default_rng(count)
    width = 1.6 * np.ceil(count ** (1.0 / 3.0))
    model, data = mujoco_heap(kind, count, width)
    place = grid(count, 1.4)
    place += [-place[:, 0].max() / 2, -place[:, 1].max() / 2, 1.0]
    place[:, :2] += rng.uniform(-0.05, 0.05, (count, 2))
    data.qpos[:] = np.column_stack([place, quaternions(rng, count)]).ravel()
    for _ in range(round(SETTLING / STEP)):
        mujoco.mj_step(model, data)
    passed = []
    for _ in range(poses):
        mujoco.mj_step(model, data)
        passed.append(data.qpos.copy())
    return count, model, np.array(passed)


def at_random(kind: str, count: int, poses: int) -> tuple[int, Any, Floats]:
    """The same for bodies on a grid, shaken, that overlap."""
    rng = np.random.default_rng(count + 1)
    model, _ = mujoco_heap(kind, count, 1e3)
    place = grid(count, KINDS[kind]) + np.array([0.0, 0.0, 2.0])
    passed = [
        np.column_stack([place + rng.uniform(-0.1, 0.1, (count, 3)), quaternions(rng, count)]).ravel() for _ in range(poses)
    ]
    return count + 1, model, np.array(passed)


def specs_of(model: Any) -> list[ShapeSpec]:
    """The geometries of the model as shapes of ours, each in its own frame."""
    specs = []
    for geom in range(model.ngeom):
        mesh = model.geom_dataid[geom]
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
            specs.append(ShapeSpec(ShapeKind.PLANE))
        elif mesh < 0:
            specs.append(ShapeSpec(ShapeKind.HULL, CUBE))
        else:
            first = model.mesh_vertadr[mesh]
            specs.append(ShapeSpec(ShapeKind.HULL, model.mesh_vert[first : first + model.mesh_vertnum[mesh]].astype(float)))
    return specs


def race(name: str, seed: int, model: Any, coordinates: Floats) -> dict[str, object]:
    """Times of both on the same poses, in ms."""
    data = mujoco.MjData(model)
    model.geom_margin[:] = GAP / 2  # the largest gap is the sum of both
    table = build_shapes(specs_of(model))
    n = model.ngeom
    reach, collections, movable = np.full(n, GAP / 2), np.ones(n, dtype=np.int64), model.geom_bodyid > 0
    places, turns = [], []
    for q in coordinates:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        places.append(data.geom_xpos.copy())
        turns.append(data.geom_xmat.reshape(-1, 3, 3).copy())

    def theirs(flags: int) -> tuple[list[float], int, int]:
        model.opt.disableflags = flags
        times = []
        for q in [coordinates[0], *coordinates]:
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            begin = process_time()
            mujoco.mj_collision(model, data)
            times.append(process_time() - begin)
        return times[1:], data.ncon, len({tuple(pair) for pair in data.contact.geom[: data.ncon].tolist()})

    def ours() -> tuple[list[float], int, int]:
        found = detect(table, places[0], turns[0], reach, collections, movable)
        times = []
        for place, turn in zip(places, turns, strict=True):
            begin = process_time()
            found = detect(table, place, turn, reach, collections, movable)
            times.append(process_time() - begin)
        return times, len(found), len(set(zip(found.body_a.tolist(), found.body_b.tolist(), strict=True)))

    row: dict[str, object] = {"heap": name, "bodies": model.nbody - 1, "seed": seed}
    for label, (times, contacts, pairs) in (("ours", ours()), ("mujoco", theirs(0)), ("mujoco single", theirs(SINGLE))):
        row |= {f"{label} ms": 1e3 * float(np.mean(times)), f"{label} least ms": 1e3 * min(times)}
        row |= {f"{label} contacts": contacts, f"{label} pairs": pairs}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, nargs="+", default=[1000])
    parser.add_argument("--poses", type=int, default=20)
    arguments = parser.parse_args()
    rows = []
    for kind, count in ((kind, count) for kind in KINDS for count in arguments.bodies):
        for name, make in (("settled", settled), ("at random", at_random)):
            rows.append(race(f"{kind}, {name}", *make(kind, count, arguments.poses)))
            print(*(f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in rows[-1].items()))
    print(write_rows("collision_against_mujoco", rows))


if __name__ == "__main__":
    on_one_thread()
    main()
