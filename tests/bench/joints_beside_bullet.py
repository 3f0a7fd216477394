# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes with constraints in Blender's own simulation and in ours: a chain's joints, a bridge's sag, under a load that falls on
it and under one that stands on it at rest (with 40 substeps in ours), a pendulum's period.

    python -m tests.bench.joints_beside_bullet [--seconds 4] [--links 40] [--planks 12] [--load 1000] [--only bridge pendulum]

The scenes are made as objects with rigid body constraints, what holds on to the world as a passive post. Bullet moves them with
10 substeps and 10 iterations, as a new file has them, and with 40 and 50; Stiction bakes what it reads of the same objects with
its worker. Joints open by how far the two places of a constraint come apart.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from ..addon.loading import load_extension

load_extension()
# ruff: noqa: E402 (what follows is found only now)

import bpy
import numpy as np
from scipy.special import ellipk

import solver_core
import stiction.addon
from solver_core.io.snapshot import write_snapshot as write_of_library
from stiction.addon.blender.rotations import matrix_of_quaternion
from stiction.addon.demos.demo_scene import build_scene
from stiction.addon.read.extract import extract
from stiction.solver_core.io.cache import FrameCacheReader
from stiction.solver_core.io.snapshot import read_snapshot, write_snapshot
from stiction.solver_core.scene.joints import FREE_AXIS, LOCKED, JointSpec
from stiction.solver_core.scene.parts import box
from stiction.solver_core.scene.spec import BodyKind, MaterialSpec, SceneSpec
from stiction.solver_core.scenes import jointed as jointed_scenes
from stiction.solver_core.scenes import plain as scenes

from .records import write_rows

ROOT = Path(__file__).resolve().parents[2]

G = 9.81
FPS = 24.0
# Of the scenes that need more than a new file has.
SUBSTEPS = {"rest": jointed_scenes.BRIDGE_SUBSTEPS}
BULLET = {"Bullet, 10 and 10": (10, 10), "Bullet, 40 and 50": (40, 50)}


def with_posts(spec: SceneSpec, frames: int) -> SceneSpec:
    """The scene with a passive post where a joint holds on to the world, which Blender's own simulation asks for."""
    posts, joints, excluded = [], [], list(spec.excluded)
    for joint in spec.joints:
        ends = {}
        for end in ("body_a", "body_b"):
            if not getattr(joint, end):
                name, other = f"Post of {joint.name}", joint.body_b if end == "body_a" else joint.body_a
                post = box(name, (0.02, 0.02, 0.02), tuple(joint.position), MaterialSpec())
                posts.append(replace(post, kind=BodyKind.PASSIVE, mass=None))
                ends[end] = name
                excluded.append((name, other))
        joints.append(replace(joint, **ends))
    # a post is in nobody's way
    posts = [replace(post, collections=1 << 19) for post in posts]
    bodies = [replace(body, collections=1) for body in spec.bodies]
    changes = {"joints": tuple(joints), "excluded": tuple(excluded), "frame_end": frames, "fps": FPS}
    return replace(spec, bodies=(*bodies, *posts), **changes)


def as_of_extension(spec: solver_core.SceneSpec) -> SceneSpec:
    """A scene of the library in the classes of the extension, which has a copy of the library of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scene"
        write_of_library(file, spec, solver_core.SolverSettings())
        return read_snapshot(file)[0]


def built(spec: SceneSpec) -> None:
    """The scene as objects, alone in a new file, with the damping that the bodies have."""
    bpy.ops.wm.read_homefile(use_empty=True)
    build_scene(bpy.context, spec, "Scene")
    for ob in bpy.context.scene.rigidbody_world.collection.all_objects:
        ob.rigid_body.use_deactivation = False


def by_bullet(spec: SceneSpec, substeps: int, iterations: int) -> np.ndarray:
    """World matrices (frames, bodies, 4, 4) in Blender's own simulation."""
    built(spec)
    scene, world = bpy.context.scene, bpy.context.scene.rigidbody_world
    world.substeps_per_frame, world.solver_iterations = substeps, iterations
    found = []
    for frame in range(1, spec.frame_end + 1):
        scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        objects = [bpy.data.objects[body.name].evaluated_get(depsgraph) for body in spec.bodies]
        found.append([np.array(ob.matrix_world) for ob in objects])
    return np.array(found)


def by_stiction(spec: SceneSpec, substeps: int) -> np.ndarray:
    """The same of a bake."""
    built(spec)
    bpy.context.scene.rigidbody_world.substeps_per_frame = substeps
    extraction = extract(bpy.context)
    with tempfile.TemporaryDirectory() as folder:
        snapshot, cache = Path(folder) / "scene", Path(folder) / "frames"
        write_snapshot(snapshot, extraction.spec, extraction.settings)
        command = [sys.executable, "-m", "solver_core.worker", snapshot, cache]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if done.returncode not in (0, 3):
            raise SystemExit(done.stdout.decode()[-2000:])
        frames = list(FrameCacheReader(cache))
    index = {body.name: k for k, body in enumerate(extraction.spec.bodies)}
    found = np.tile(np.eye(4), (len(frames), len(spec.bodies), 1, 1))
    for k, body in enumerate(spec.bodies):
        for at, frame in enumerate(frames):
            pose = frame.poses[index[body.name]]
            found[at, k, :3, :3], found[at, k, :3, 3] = matrix_of_quaternion(pose[3:]), pose[:3]
    return found


def opening(spec: SceneSpec, worlds: np.ndarray) -> float:
    """The farthest that the two places of a joint come apart, m."""
    index, widest = {body.name: k for k, body in enumerate(spec.bodies)}, 0.0
    for joint in spec.joints:
        ends = []
        for name in (joint.body_a, joint.body_b):
            matrices = worlds[:, index[name]]
            local = np.linalg.solve(matrices[0], np.append(joint.position, 1.0))
            ends.append(matrices @ local)
        widest = max(widest, float(np.linalg.norm(ends[1] - ends[0], axis=1).max()))
    return widest


def pendulum_period(worlds: np.ndarray) -> float:
    """s, from where the rod is upright."""
    axis = worlds[:, 0, :3, 0]
    angle = np.unwrap(np.arctan2(-axis[:, 2], axis[:, 0])) - 0.5 * math.pi
    at = np.flatnonzero(angle[:-1] * angle[1:] < 0.0)
    times = (at + angle[at] / (angle[at] - angle[at + 1])) / FPS
    return float(2.0 * np.diff(times).mean())


def figures(name: str, spec: SceneSpec, worlds: np.ndarray) -> dict[str, object]:
    found: dict[str, object] = {"joints open by mm": 1e3 * opening(spec, worlds)}
    if name == "rest":
        found["moved by mm"] = 1e3 * float(np.linalg.norm(worlds[:, :, :3, 3] - worlds[:1, :, :3, 3], axis=2).max())
    if name == "bridge":
        planks = [k for k, body in enumerate(spec.bodies) if body.name.startswith("Plank")]
        middle = worlds[:, planks[len(planks) // 2], 2, 3]
        load = next(k for k, body in enumerate(spec.bodies) if body.name == "Load")
        found |= {"sag m": float(-middle.min()), "load ends at m": float(worlds[-1, load, 2, 3])}
    if name == "pendulum":
        period = 4.0 * math.sqrt((1.0 / 12.0 * (1.0 + 0.05**2) + 0.25) / (G * 0.5)) * ellipk(0.5)
        found["period off"] = pendulum_period(worlds) / period - 1.0
    return found


def undamped(spec: SceneSpec) -> SceneSpec:
    return replace(spec, bodies=tuple(replace(body, linear_damping=0.0, angular_damping=0.0) for body in spec.bodies))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--links", type=int, default=40)
    parser.add_argument("--planks", type=int, default=12)
    parser.add_argument("--load", type=float, default=1000.0)
    parser.add_argument("--only", nargs="+", default=["chain", "bridge", "rest", "pendulum"])
    arguments = parser.parse_args()
    rod = box("Rod", (1.0, 0.1, 0.05), (0.5, 0.0, 0.0), MaterialSpec())
    # its Z along y
    turned = np.array([math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0])
    nail = JointSpec("Nail", "", "Rod", orientation=turned, angular=(LOCKED, LOCKED, FREE_AXIS))
    stiction.addon.register()
    made = {
        "chain": lambda: scenes.chain(arguments.links),
        "bridge": lambda: scenes.bridge(arguments.planks, load=arguments.load),
        "rest": lambda: jointed_scenes.rope_bridge(arguments.planks, load=arguments.load),
        "pendulum": lambda: SceneSpec((rod,), joints=(nail,)),
    }
    frames = round(FPS * arguments.seconds) + 1
    rows: list[dict[str, object]] = []
    for name in arguments.only:
        spec = undamped(with_posts(made[name](), frames))
        for who in ("Stiction", *BULLET):
            worlds = by_stiction(spec, SUBSTEPS.get(name, 10)) if who == "Stiction" else by_bullet(spec, *BULLET[who])
            row = {"scene": name, "by": who, **figures(name, spec, worlds)}
            rows.append(row)
            values = (f"{value:.4g}" if isinstance(value, float) else value for value in row.values())
            print(*(f"{key} {value}" for key, value in zip(row, values, strict=True)), sep="  ", flush=True)
    print(write_rows("joints_beside_bullet", rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
