# SPDX-License-Identifier: GPL-3.0-or-later
"""Thirty concave meshes dropped into a bin, by *Settle* and by Blender's own simulation, measured alike.

    python -m tests.bench.settle_bin [--things 30] [--seed 3] [--seconds 10] [--keep FILE.blend]

The file is as those are in which pictures for training are rendered: cups, channels and rings modeled in millimeters, objects
with a scale of 0.001. *Settle* takes the meshes as they are, without rigid bodies. Blender's own simulation, Bullet, takes the
exact convex parts that the meshes are made of, as children of compounds, with a margin of 0, 10 substeps and 10 iterations, or
40 and 50, and plays as many seconds at 24 frames per second. Both start from the same poses.

The measures are taken of the meshes at the end, by Blender's BVH trees and winding numbers, and by neither simulation: the
depth of points on the edges of one mesh inside another, the gap between an object and whatever is nearest to it, who is outside
of the bin, and how far anything moved in the last half second of Bullet. Times are of processors.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ..addon.loading import load_extension

load_extension()
# ruff: noqa: E402 (what follows is found only now)

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from scipy.spatial.transform import Rotation

import stiction.addon
from stiction.solver_core.geometry.surfaces import winding_numbers

from ..core.meshes import blocks, cup, torus
from .records import write_rows

MM = 1e-3
FPS = 24
BIN = (400.0, 300.0, 200.0)
WALL = 10.0
# mm between points on the edges whose depth is measured
SPACING = 1.0
BULLET = {"Bullet, 10 and 10": (10, 10), "Bullet, 40 and 50": (40, 50)}

Surface = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Thing:
    """A mesh in mm, and the vertices of the convex parts that it is made of."""

    surface: Surface
    parts: tuple[np.ndarray, ...]


Things = list[tuple[bpy.types.Object, Thing]]


def box_corners(low: tuple[float, ...], high: tuple[float, ...]) -> np.ndarray:
    return np.array(list(itertools.product(*zip(low, high, strict=True))))


def a_cup() -> Thing:
    """50 mm wide and 60 mm high, walls and bottom of 4 mm."""
    around, radius, wall = 24, 25.0, 4.0
    points, triangles = cup(radius, 60.0, wall, around)
    rings = points[: 4 * around].reshape(4, around, 3)
    # the wall between two angles: its two outer and two inner edges
    walls = []
    for i in range(around):
        j = (i + 1) % around
        low_inside = rings[3, [i, j]]
        at_bottom = low_inside * [1.0, 1.0, 0.0]
        walls.append(np.concatenate([rings[0, [i, j]], rings[1, [i, j]], rings[2, [i, j]], at_bottom]))
    bottom = np.concatenate([rings[3] * [1.0, 1.0, 0.0], rings[3]])
    return Thing((points, triangles), (*walls, bottom))


def a_channel() -> Thing:
    """A U of 60 x 40 x 40 mm, 6 mm thick."""
    filled = np.ones((1, 3, 2), dtype=bool)
    filled[0, 1, 1] = False
    surface = blocks([-30.0, 30.0], [-20.0, -14.0, 14.0, 20.0], [0.0, 6.0, 40.0], filled)
    bottom = box_corners((-30.0, -20.0, 0.0), (30.0, 20.0, 6.0))
    sides = (box_corners((-30.0, y, 6.0), (30.0, y + 6.0, 40.0)) for y in (-20.0, 14.0))
    return Thing(surface, (bottom, *sides))


def a_ring() -> Thing:
    """A torus of 60 mm across, its tube of 14 mm with eight sides."""
    around, across = 24, 8
    points, triangles = torus(23.0, 7.0, around, across)
    rings = points.reshape(around, across, 3)
    return Thing((points, triangles), tuple(np.concatenate([rings[i], rings[(i + 1) % around]]) for i in range(around)))


def a_bin() -> Thing:
    x, y, z = (0.5 * BIN[0], 0.5 * BIN[1], BIN[2])
    filled = np.ones((3, 3, 2), dtype=bool)
    filled[1, 1, 1] = False
    xs, ys = ([-h - WALL, -h, h, h + WALL] for h in (x, y))
    surface = blocks(xs, ys, [-WALL, 0.0, z], filled)
    bottom = box_corners((xs[0], ys[0], -WALL), (xs[3], ys[3], 0.0))
    sides = [box_corners((xs[i], ys[0], 0.0), (xs[i + 1], ys[3], z)) for i in (0, 2)]
    ends = [box_corners((xs[1], ys[i], 0.0), (xs[2], ys[i + 1], z)) for i in (0, 2)]
    return Thing(surface, (bottom, *sides, *ends))


def starts(count: int, seed: int) -> list[tuple[np.ndarray, Rotation]]:
    """Places in m and rotations: layers of six above the bin, turned at random."""
    turns = Rotation.random(count, rng=np.random.default_rng(seed))
    places = []
    for i in range(count):
        column, row, layer = i % 3, i // 3 % 2, i // 6
        places.append(np.array([0.12 * (column - 1), 0.13 * (row - 0.5), 0.14 + 0.1 * layer]))
    return [(place, turns[i]) for i, place in enumerate(places)]


def add_mesh(name: str, points: np.ndarray, triangles: np.ndarray) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points.tolist(), [], triangles.tolist())
    ob = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(ob)
    ob.scale = (MM,) * 3
    return ob


def built(count: int, seed: int) -> Things:
    """A new file with the bin, first of what is returned, and the things above it; no rigid bodies yet."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = FPS
    bpy.ops.rigidbody.world_add()
    scene.rigidbody_world.collection = bpy.data.collections.new("RigidBodyWorld")
    kinds = {"Cup": a_cup(), "Channel": a_channel(), "Ring": a_ring()}
    found = [(add_mesh("Bin", *a_bin().surface), a_bin())]
    for i, (place, turn) in enumerate(starts(count, seed)):
        kind = list(kinds)[i % len(kinds)]
        ob = add_mesh(f"{kind}.{i}", *kinds[kind].surface)
        ob.location, ob.rotation_mode = place, "QUATERNION"
        ob.rotation_quaternion = turn.as_quat(scalar_first=True)
        found.append((ob, kinds[kind]))
    bpy.context.view_layer.update()
    return found


def make_body(ob: bpy.types.Object, kind: str, shape: str) -> None:
    bpy.context.scene.rigidbody_world.collection.objects.link(ob)
    ob.rigid_body.type, ob.rigid_body.collision_shape = kind, shape


def by_stiction(things: Things, seconds: float) -> float:
    """Settle all things; returns the seconds of processors that it took."""
    make_body(things[0][0], "PASSIVE", "MESH")
    for ob, _ in things[1:]:
        ob.select_set(True)
    before = processor_seconds()
    assert bpy.ops.stiction.settle(max_seconds=seconds) == {"FINISHED"}
    return processor_seconds() - before


def by_bullet(things: Things, seconds: float, substeps: int, iterations: int) -> tuple[float, float]:
    """Play all things with decomposed meshes, and leave them where they end.

    Returns the seconds of processors, and m by which something moved in the last half second.
    """
    scene, world = bpy.context.scene, bpy.context.scene.rigidbody_world
    world.substeps_per_frame, world.solver_iterations = substeps, iterations
    for ob, thing in things:
        kind = "PASSIVE" if ob.name == "Bin" else "ACTIVE"
        make_body(ob, kind, "COMPOUND")
        for number, part in enumerate(thing.parts):
            child = add_mesh(f"{ob.name}.part{number}", part, np.zeros((0, 3), dtype=int))
            child.scale, child.parent = (1.0, 1.0, 1.0), ob
            make_body(child, kind, "CONVEX_HULL")
            child.rigid_body.use_margin, child.rigid_body.collision_margin = True, 0.0
        ob.rigid_body.use_margin, ob.rigid_body.collision_margin = True, 0.0
    last = round(seconds * FPS)
    world.point_cache.frame_start, world.point_cache.frame_end, scene.frame_end = 1, last + 1, last + 1
    before, poses = processor_seconds(), []
    for frame in range(1, last + 2):
        scene.frame_set(frame)
        if frame > last + 1 - FPS // 2:
            depsgraph = bpy.context.evaluated_depsgraph_get()
            poses.append([np.array(ob.evaluated_get(depsgraph).matrix_world) for ob, _ in things])
    took = processor_seconds() - before
    corners = np.array(box_corners((-30.0,) * 3, (30.0,) * 3))
    ends = np.array(poses)
    places = np.einsum("fbij,pj->fbpi", ends[..., :3, :3], corners) + ends[..., None, :3, 3]
    return took, float(np.linalg.norm(places - places[-1], axis=-1)[:, 1:].max())


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass(frozen=True)
class Solid:
    """A mesh in the world, in m: points on its edges (p, 3), its tree, in mm, and its bounds (3,) each."""

    surface: Surface
    edge_points: np.ndarray
    tree: BVHTree
    low: np.ndarray
    high: np.ndarray


def solid(surface: Surface, world: np.ndarray) -> Solid:
    points = surface[0] @ world[:3, :3].T + world[:3, 3]
    triangles = surface[1]
    edges = np.unique(
        np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1), axis=0
    )
    on_edges = []
    for a, b in points[edges]:
        count = max(2, int(np.ceil(np.linalg.norm(b - a) / (SPACING * MM))) + 1)
        on_edges.append(a + np.linspace(0.0, 1.0, count)[:, None] * (b - a))
    tree = BVHTree.FromPolygons((points / MM).tolist(), triangles.tolist())
    return Solid((points, triangles), np.concatenate(on_edges), tree, points.min(axis=0), points.max(axis=0))


def depth_and_gap(a: Solid, b: Solid) -> tuple[float, float]:
    """m: how deep points on the edges of a are inside of b, and how near they come to its surface."""
    near = ((a.edge_points > b.low - 2.0 * MM) & (a.edge_points < b.high + 2.0 * MM)).all(axis=1)
    gap, behind, distances = np.inf, [], []
    for place in a.edge_points[near]:
        found, normal, _, distance = b.tree.find_nearest(Vector(place / MM), 5.0)
        if found is None:
            continue
        gap = min(gap, distance)
        if (Vector(place / MM) - found).dot(normal) < 0.0:
            behind.append(place)
            distances.append(distance)
    # beside an edge a point may be behind the nearest face and outside all the same
    inside = winding_numbers(*b.surface, np.array(behind).reshape(-1, 3)) > 0.5
    return MM * float(np.max(np.array(distances)[inside], initial=0.0)), MM * gap


def measured(things: Things) -> dict[str, object]:
    """What is measured of all things where they are shown now."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    solids = [solid(thing.surface, np.array(ob.evaluated_get(depsgraph).matrix_world)) for ob, thing in things]
    deepest, gaps = 0.0, np.full(len(things), np.inf)
    for i, j in itertools.permutations(range(len(things)), 2):
        if (solids[i].low > solids[j].high + 2.0 * MM).any() or (solids[j].low > solids[i].high + 2.0 * MM).any():
            continue
        depth, gap = depth_and_gap(solids[i], solids[j])
        deepest = max(deepest, depth)
        gaps[[i, j]] = np.minimum(gaps[[i, j]], gap)
    half = 0.5 * MM * np.array(BIN[:2])
    middles = np.array([0.5 * (each.low + each.high) for each in solids[1:]])
    outside = (np.abs(middles[:, :2]) > half).any(axis=1) | (middles[:, 2] < -WALL * MM)
    return {
        "deepest overlap mm": 1e3 * deepest,
        "widest gap mm": 1e3 * float(gaps[1:].max()),
        "outside": int(outside.sum()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--things", type=int, default=30)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", nargs="+", default=["Stiction", *BULLET])
    parser.add_argument("--keep", type=Path, metavar="FILE.blend", help="keep the settled scene")
    arguments = parser.parse_args()
    stiction.addon.register()
    rows: list[dict[str, object]] = []
    for who in arguments.only:
        things = built(arguments.things, arguments.seed)
        row: dict[str, object] = {"by": who, "things": arguments.things, "seed": arguments.seed}
        if who == "Stiction":
            row |= {"processor_s": by_stiction(things, arguments.seconds), "moved at the end mm": 0.0}
        else:
            seconds, still_moved = by_bullet(things, arguments.seconds, *BULLET[who])
            row |= {"processor_s": seconds, "moved at the end mm": 1e3 * still_moved}
        row |= measured(things)
        rows.append(row)
        values = (f"{value:.4g}" if isinstance(value, float) else value for value in row.values())
        print(*(f"{key} {value}" for key, value in zip(row, values, strict=True)), sep="  ", flush=True)
        if who == "Stiction" and arguments.keep is not None:
            bpy.ops.wm.save_as_mainfile(filepath=str(arguments.keep.resolve()))
    print(write_rows("settle_bin", rows))
    # Blender 4.2 crashes at the end of the process otherwise
    stiction.addon.unregister()
    return 0


if __name__ == "__main__":
    sys.exit(main())
