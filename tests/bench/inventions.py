# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes at random of what touches, spins, rocks, bounces and is glued, and problems, each with what it has to come to.

    python -m tests.bench.inventions [--lines leaning spin ...] [--number 10] [--seed 0]

Sizes are from 1 mm to 10 m, gaps nothing or 1e-9 to 1e-4 of the size to either side, and scenes are turned in space and
mirrored at random. A scene's clock goes with the root of its size, so that every size takes as many steps. The CSV has a row a
scene: what was expected, what was measured, and whether that is right by the line's bound.
"""

from __future__ import annotations

import argparse
import math
import traceback
from collections.abc import Callable
from dataclasses import replace
from time import process_time

import numpy as np
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.bake.breaking_loads import breaking_loads
from solver_core.geometry.solids import shape_mass_properties
from solver_core.scene.joints import JointSpec
from solver_core.scene.parts import box, box_shape, cone_shape, cylinder_shape, ground, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

from ..core.leaning import leaning, standing
from ..core.meshes import CUBE, CUBE_TRIANGLES
from ..core.placing import mirrored, turned
from .invented import Floats, Found, G, Random, any_turn, anyhow, farthest, film, gap_of, scale_of
from .invented_motion import bottles, edges, rocks, rolls, spins, tippe_tops, tops
from .invented_problems import looser, warm
from .records import on_one_thread, write_rows


def board(kind: str, size: Floats) -> ShapeSpec:
    """A board of (thickness, width, length): a hull, a mesh, or two halves in one body."""
    if kind == "mesh":
        return ShapeSpec(ShapeKind.MESH, np.asarray(CUBE * size, dtype=np.float64), CUBE_TRIANGLES)
    if kind == "compound":
        half = box_shape(size * [1.0, 0.5, 1.0])
        sides = (-0.25 * size[1], 0.25 * size[1])
        return ShapeSpec(ShapeKind.COMPOUND, children=tuple(ChildSpec(half, np.array([0.0, y, 0.0])) for y in sides))
    if kind == "bevelled":
        inner, across = CUBE * size * [1.0, 0.98, 1.0], CUBE * size * [1.0, 1.0, 1.0]
        middle = across * [0.9, 1.0, 0.9]
        return ShapeSpec(ShapeKind.HULL, np.concatenate([inner, middle]))
    return box_shape(size)


def leans(random: Random) -> Found:
    """Two boards edge on edge: they stand with the friction that moments about their feet ask for, and fall with less."""
    kind = ("hull", "mesh", "compound", "bevelled")[random.integers(4)]
    scale, degrees = scale_of(random), random.uniform(50.0, 75.0)
    size = scale * np.array([random.uniform(0.02, 0.12), random.uniform(0.3, 1.0), 1.0])
    centres, turns = leaning(size, degrees, gap_of(random) * scale)
    corners = turns[0].apply(CUBE * size) + centres[0]
    foot, top = corners[corners[:, 2].argmin()], corners[corners[:, 0].argmax()]
    needed = (centres[0, 0] - foot[0]) / (top[2] - foot[2])
    stands = bool(random.integers(2))
    mu = needed * (1.05 if stands else 0.95)
    shape = board(kind, size)
    spec, how = anyhow(standing(list(zip([shape] * 2, centres, turns, strict=True)), Rotation.identity(), mu), random)
    frames, missed = film(spec, 1.0, scale)
    moved = farthest(frames, scale)
    name = f"{kind} boards at {degrees:.0f} degrees, {'more' if stands else 'less'} friction than needed, {how}"
    return Found(name, scale, 0.0 if stands else 1.0, moved, moved < 2e-3 if stands else moved > 1e-2, missed)


def falls_over(random: Random) -> Found:
    """A prism of many sides on a slope, rough enough: it stands while its weight is over the polygon that it stands on."""
    sides, scale = int(random.integers(5, 41)), scale_of(random)
    angle = 2.0 * np.pi * np.arange(sides) / sides + random.uniform(0.0, 2.0 * np.pi)
    heading, stands = random.uniform(0.0, 2.0 * np.pi), bool(random.integers(2))
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    downhill = np.array([math.cos(heading), math.sin(heading)])
    # the edge over which it falls: the lowest corner it would stand on alone, or the one whose outline the downhill ray leaves
    crossing = min(
        (a[0] * b[1] - a[1] * b[0]) / (downhill[0] * (b[1] - a[1]) - downhill[1] * (b[0] - a[0]))
        for a, b in zip(rim, np.roll(rim, -1, axis=0), strict=True)
        if downhill[0] * (b[1] - a[1]) - downhill[1] * (b[0] - a[0]) > 0.0
    )
    slope = random.uniform(0.2, 0.5)
    half = crossing / slope * (0.97 if stands else 1.03)
    points = scale * np.concatenate([np.column_stack([rim, np.full(sides, z)]) for z in (-half, half)])
    material = pair_material(1.0)
    place = np.array([0.0, 0.0, half * scale])
    body = BodySpec("Prism", BodyKind.ACTIVE, ShapeSpec(ShapeKind.HULL, points), place, mass=1.0, material=material)
    tilt = math.atan(slope)
    gravity = G * np.array([*(math.sin(tilt) * downhill), -math.cos(tilt)])
    spec, how = anyhow(SceneSpec((ground(material), body), gravity=gravity), random)
    frames, missed = film(spec, 3.0, scale * half)
    moved = farthest(frames, scale * half)
    name = f"prism of {sides} sides on a slope of {slope:.2f}, {'lower' if stands else 'higher'} than it may be, {how}"
    return Found(name, scale, 0.0 if stands else 1.0, moved, moved < 2e-3 if stands else moved > 1e-2, missed)


def knocks(random: Random) -> Found:
    """One ball comes into a row, each lighter than the one before by one ratio: each goes on at its own speed."""
    number, scale = int(random.integers(3, 13)), scale_of(random)
    ratio = random.uniform(0.5, 1.0) if random.integers(2) else 1.0
    gap = abs(gap_of(random)) if random.integers(2) else 10.0 ** random.uniform(-4.0, -1.0)
    along = any_turn(random).apply([1.0, 0.0, 0.0])
    material = pair_material(1e-9, restitution=1.0)
    bodies = []
    for i in range(number):
        place, speed = i * (1.0 + gap) * scale * along, (scale if i == 0 else 0.0) * along
        mass = ratio**i
        shape = sphere_shape(0.5 * scale)
        bodies.append(BodySpec(f"Ball {i}", BodyKind.ACTIVE, shape, place, velocity=speed, mass=mass, material=material))
    frames, missed = film(SceneSpec(tuple(bodies), gravity=np.zeros(3)), 0.5 + number * gap)
    kept, handed = (1.0 - ratio) / (1.0 + ratio), 2.0 / (1.0 + ratio)
    expected = np.array([kept * handed**i for i in range(number - 1)] + [handed ** (number - 1)])
    off = float(np.abs(frames[-1].velocities[:, :3] @ along / scale - expected).max())
    return Found(f"{number} balls, ratio {ratio:.2f}, gaps of {gap:.1e} diameters", scale, 0.0, off, off < 1e-4, missed)


def glued(random: Random, falling: bool) -> Found:
    """A column of cubes glued to each other: in free fall joints bear nothing, on the floor the weight above."""
    number, scale, gap = int(random.integers(2, 7)), scale_of(random), gap_of(random)
    turn = any_turn(random) if falling else Rotation.identity()
    orientation, material = turn.as_quat(scalar_first=True), pair_material(0.6)
    base = np.array([0.0, 0.0, 50.0 * scale if falling else 0.5 * scale])
    places = [base + turn.apply([0.0, 0.0, i * (1.0 + gap) * scale]) for i in range(number)]
    cubes = [box(f"{i}", (scale,) * 3, tuple(place), material, 1.0, tuple(orientation)) for i, place in enumerate(places)]
    joints = [
        JointSpec(f"Glue {i}", f"{i}", f"{i + 1}", 0.5 * (places[i] + places[i + 1]), orientation) for i in range(number - 1)
    ]
    frames, missed = film(SceneSpec((ground(material), *cubes), joints=tuple(joints)), 0.5, scale)
    above = np.zeros(number - 1) if falling else G * np.arange(number - 1, 0, -1.0)
    force = np.array([np.linalg.norm(frame.reactions[:, :3], axis=1) for frame in frames[1:]])
    off = float(np.abs(force - above).max() if falling else np.abs(force[-1] - above).max()) / G
    name = f"column of {number}, gaps of {gap:.1e}, {'in free fall' if falling else 'on the floor'}"
    return Found(name, scale, 0.0, off, off < (1e-6 if falling else 1e-3), missed)


def loops(random: Random) -> Found:
    """Cubes grown at random, each glued to all that it touches, fly through space: joints that agree bear nothing, nothing is
    said against them, and nothing gives way."""
    number, scale, gap = int(random.integers(4, 13)), scale_of(random), gap_of(random)
    cells = [(0, 0, 0)]
    while len(cells) < number:
        cell = np.array(cells[random.integers(len(cells))])
        cell[random.integers(3)] += random.choice([-1, 1])
        if tuple(cell) not in cells:
            cells.append(tuple(cell))
    turn, material = any_turn(random), pair_material(0.6)
    orientation = turn.as_quat(scalar_first=True)
    places = turn.apply((1.0 + gap) * scale * np.array(cells, dtype=np.float64))
    cubes = [box(f"{i}", (scale,) * 3, tuple(place), material, 1.0, tuple(orientation)) for i, place in enumerate(places)]
    beside = [(i, j) for j in range(number) for i in range(j) if np.abs(np.subtract(cells[i], cells[j])).sum() == 1]
    joints = [JointSpec(f"Glue {i} {j}", f"{i}", f"{j}", 0.5 * (places[i] + places[j]), orientation) for i, j in beside]
    spec = SceneSpec(tuple(cubes), joints=tuple(joints))
    said = len(sc.Simulation(spec).warnings)
    frames, missed = film(spec, 0.5, scale)
    off = float(max(np.abs(frame.reactions[:, :3]).max() / G for frame in frames[1:])) + said
    off += max(float(np.abs(frame.giving_way).max()) for frame in frames[1:]) / scale
    return Found(f"{number} cubes, {len(joints)} joints, gaps of {gap:.1e}", scale, 0.0, off, off < 1e-6, missed)


def hangs(random: Random) -> Found:
    """Bodies of any masses hang on each other: what their joints are found to bear is the weight below, and one breaks if that
    is more than it may bear."""
    number, scale = int(random.integers(2, 8)), scale_of(random)
    masses, material = 10.0 ** random.uniform(-1.0, 1.0, number), pair_material(0.6)
    sides, gap = scale * random.uniform(0.5, 1.0, number), gap_of(random) * scale
    ends = -np.cumsum(sides + gap)
    cubes = [
        box(f"{i}", (side,) * 3, (0.0, 0.0, end + 0.5 * side), material, float(mass))
        for i, (side, end, mass) in enumerate(zip(sides, ends, masses, strict=True))
    ]
    below, step = G * np.cumsum(masses[::-1])[::-1], math.sqrt(scale) / 240.0
    weak, share = int(random.integers(number)), float(random.choice([0.99, 1.01]))
    joints = [
        JointSpec(f"{i}", f"{i - 1}" if i else "", f"{i}", np.array([0.0, 0.0, ends[i] + sides[i]]), breaking_impulse=limit)
        for i, limit in enumerate(step * below * np.where(np.arange(number) == weak, share, 10.0))
    ]
    spec = SceneSpec(tuple(cubes), joints=tuple(joints), frame_end=500)
    if random.integers(2):
        spec = mirrored(spec)
    settings = sc.SolverSettings(substeps=10)
    loads = breaking_loads(replace(spec, fps=24.0 / math.sqrt(scale)), settings)
    off = max(abs(loads[f"{i}"][0] / (step * below[i]) - 1.0) for i in range(number))
    frames, missed = film(spec, 0.5, scale)
    broken = np.flatnonzero(frames[-1].broken)
    right = off < 1e-3 and broken.tolist() == ([weak] if share < 1.0 else [])
    name = f"{number} that hang, joint {weak} bears {share:.2f} of its weight, gaps of {gap / scale:.1e}"
    return Found(name, scale, 0.0, off, right, missed)


def tripods(random: Random) -> Found:
    """Three legs lean on each other along upright faces that meet in a line: they stand with the friction that moments about
    their feet ask for, and fall with less."""
    scale, spread, deep = scale_of(random), random.uniform(0.3, 0.9), random.uniform(0.05, 0.2)
    wide, foot = random.uniform(0.05, 0.15), random.uniform(0.02, 0.1)
    outer = wide * np.array([0.5, 0.5 * math.sqrt(3.0)])
    ends = [(0.0, 0.0), (outer[0], outer[1]), (outer[0], -outer[1])]
    corners = [(spread, foot, 0.0), (spread, -foot, 0.0), *((x, y, z) for x, y in ends for z in (1.0 - deep, 1.0))]
    shape = ShapeSpec(ShapeKind.HULL, scale * np.array(corners))
    centre = shape_mass_properties(shape, mass=1.0).center_of_mass / scale
    needed = (spread - centre[0]) / 1.0
    stands = bool(random.integers(2))
    apart, bodies = gap_of(random) * scale / math.sqrt(3.0), []
    for third in range(3):
        own = Rotation.from_euler("z", third * 2.0 * np.pi / 3.0)
        bodies.append((shape, own.apply([2.0 * apart / math.sqrt(3.0), 0.0, 0.0]), own))
    spec, how = anyhow(standing(bodies, Rotation.identity(), needed * (1.05 if stands else 0.95)), random)
    frames, missed = film(spec, 1.0, scale)
    moved = farthest(frames, scale)
    name = f"three legs that spread by {spread:.2f}, {'more' if stands else 'less'} friction than needed, {how}"
    return Found(name, scale, 0.0 if stands else 1.0, moved, moved < 2e-3 if stands else moved > 1e-2, missed)


def rims(random: Random) -> Found:
    """A cylinder or a cone on a slope, rough enough: it stands while its weight is over its base."""
    cone, scale, slope = bool(random.integers(2)), scale_of(random), random.uniform(0.2, 0.5)
    heading, stands, material = random.uniform(0.0, 2.0 * np.pi), bool(random.integers(2)), pair_material(1.0)
    height = scale / slope * (4.0 if cone else 2.0) * (0.97 if stands else 1.03)
    shape = cone_shape(scale, height) if cone else cylinder_shape(scale, height)
    about = Rotation.from_euler("z", random.uniform(0.0, 2.0 * np.pi)).as_quat(scalar_first=True)
    body = BodySpec("Round", BodyKind.ACTIVE, shape, np.array([0.0, 0.0, 0.5 * height]), about, mass=1.0, material=material)
    tilt, downhill = math.atan(slope), np.array([math.cos(heading), math.sin(heading)])
    gravity = G * np.array([*(math.sin(tilt) * downhill), -math.cos(tilt)])
    spec = SceneSpec((ground(material), body), gravity=gravity)
    if random.integers(2):
        spec = turned(spec, any_turn(random))
    frames, missed = film(spec, 3.0, 0.5 * height)
    moved = farthest(frames, 0.5 * height)
    name = f"{'cone' if cone else 'cylinder'} on a slope of {slope:.2f}, {'lower' if stands else 'higher'} than it may be"
    return Found(name, scale, 0.0 if stands else 1.0, moved, moved < 2e-3 if stands else moved > 1e-2, missed)


LINES: dict[str, Callable[[Random], Found]] = {
    "leaning": leans,
    "slope": falls_over,
    "rolling": rolls,
    "spin": spins,
    "rocking": rocks,
    "rows": knocks,
    "glue, falling": lambda random: glued(random, True),
    "glue, standing": lambda random: glued(random, False),
    "tripods": tripods,
    "rims": rims,
    "tops": tops,
    "tippe tops": tippe_tops,
    "bottles": bottles,
    "edges": edges,
    "joints that agree": loops,
    "breaking loads": hangs,
    "looser tolerances": looser,
    "warm starts": warm,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", nargs="+", choices=list(LINES), default=list(LINES), metavar="LINE")
    parser.add_argument("--number", type=int, default=10, help="scenes a line")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    on_one_thread()
    rows: list[dict[str, object]] = []
    seeds = f"{arguments.seed} to {arguments.seed + arguments.number - 1}"
    for line in arguments.lines:
        for number in range(arguments.seed, arguments.seed + arguments.number):
            begin = process_time()
            try:
                found = LINES[line](np.random.default_rng([number, list(LINES).index(line)]))
            except Exception as error:  # a scene that ends the run is a finding too
                traceback.print_exc()
                found = Found(f"{type(error).__name__}: {error}", math.nan, math.nan, math.nan, False, 0)
            row: dict[str, object] = {"line": line, "number": number, "seed": seeds}
            rows.append(row | found.__dict__)
            right = "right" if found.ok else "WRONG"
            shown = f"{line:15} {number:3} {right} expected {found.expected:.5g} measured {found.measured:.5g}"
            seconds = process_time() - begin
            print(f"{shown} missed {found.missed} size {found.scale:.2g} {found.scene} ({seconds:.1f} s)", flush=True)
    print(write_rows("inventions", rows))


if __name__ == "__main__":
    main()
