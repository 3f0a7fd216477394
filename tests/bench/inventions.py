# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes at random of what touches, spins, rocks, bounces and is glued, each with a closed form of what it has to do.

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
from dataclasses import dataclass, replace
from time import process_time
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.joints import JointSpec
from solver_core.scene.parts import box, box_shape, cylinder_shape, ground, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

from ..core.leaning import leaning, standing
from ..core.masonry import mirrored, turned
from ..core.meshes import CUBE, CUBE_TRIANGLES
from .records import on_one_thread, write_rows

G = 9.81
Random = np.random.Generator
Floats = np.ndarray


@dataclass(frozen=True)
class Found:
    """What a scene has to do and did; missed: steps that were not solved."""

    scene: str
    scale: float
    expected: float
    measured: float
    ok: bool
    missed: int


def scale_of(random: Random) -> float:
    """A size in m, as likely in each decade."""
    return float(10.0 ** random.uniform(-3.0, 1.0))


def any_turn(random: Random) -> Rotation:
    """A turn in space, all alike likely."""
    legacy: Any = Rotation.random
    return legacy(random_state=int(random.integers(1 << 31)))


def gap_of(random: Random) -> float:
    """A gap in parts of the size."""
    size = float(10.0 ** random.uniform(-9.0, -4.0))
    return (0.0, size, -size)[random.integers(3)]


def anyhow(spec: SceneSpec, random: Random) -> tuple[SceneSpec, str]:
    """The scene turned in space, or its mirror image, or as it is, and which of these."""
    how = ("as it is", "mirrored", "turned")[random.integers(3)]
    if how == "mirrored":
        spec = mirrored(spec)
    if how == "turned":
        spec = turned(spec, any_turn(random))
    return spec, how


def film(spec: SceneSpec, seconds: float, scale: float = 1.0) -> tuple[list, int]:
    """Frames of ten steps each, a second of which is that of a scene of 1 m, and how many steps were missed."""
    clock = 24.0 / math.sqrt(scale)
    frames = sc.Simulation(replace(spec, fps=clock), substeps=10, threads=1).run(round(24 * seconds))
    return frames, sum(int((frame.statistics.status != sc.Status.SOLVED).sum()) for frame in frames[1:])


def farthest(frames: list, scale: float) -> float:
    """How far the farthest body went from where it began, in sizes of the scene."""
    return float(np.abs(frames[-1].poses[:, :3] - frames[0].poses[:, :3]).max()) / scale


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


def rolls(random: Random) -> Found:
    """A ball or a cylinder rolls down a slope: 5/7 or 2/3 of what a smooth one does."""
    ball, scale, slope = bool(random.integers(2)), scale_of(random), random.uniform(0.05, 0.3)
    heading = random.uniform(0.0, 2.0 * np.pi)
    shape = sphere_shape(0.5 * scale) if ball else cylinder_shape(0.5 * scale, 0.7 * scale)
    turn = Rotation.from_euler("ZX", [heading, 0.5 * np.pi])
    material = pair_material(1.0)
    place = np.array([0.0, 0.0, 0.5 * scale])
    body = BodySpec("Roll", BodyKind.ACTIVE, shape, place, turn.as_quat(scalar_first=True), mass=1.0, material=material)
    tilt, down = math.atan(slope), turn.apply([1.0, 0.0, 0.0])
    gravity = G * (math.sin(tilt) * down - [0.0, 0.0, math.cos(tilt)])
    spec = SceneSpec((ground(material), body), gravity=gravity)
    if random.integers(2):
        spec = turned(spec, any_turn(random))
    frames, missed = film(spec, 1.0, scale)
    way = np.linalg.norm(frames[-1].poses[1, :3] - frames[0].poses[1, :3])
    free = 0.5 * G * math.sin(tilt) * scale * ((len(frames) - 1) / 24.0) ** 2
    expected, measured = (5.0 / 7.0 if ball else 2.0 / 3.0), float(way / free)
    right = abs(measured / expected - 1.0) < 5e-3
    return Found(f"{'ball' if ball else 'cylinder'} on a slope of {slope:.2f}", scale, expected, measured, right, missed)


def spins(random: Random) -> Found:
    """Euler's disc rolls with its centre at rest, at Omega^2 sin(tilt) = 4 g / R: it keeps its tilt."""
    scale, tilt = scale_of(random), random.uniform(5.0, 45.0)
    sense, heading = float(random.choice([-1.0, 1.0])), random.uniform(0.0, 360.0)
    turn = Rotation.from_euler("ZY", [heading, tilt], degrees=True)
    normal, sine, thick = turn.apply((0.0, 0.0, 1.0)), math.sin(math.radians(tilt)), 0.002 * scale
    rate = sense * math.sqrt(4.0 * G / (scale * sine))
    material = pair_material(1.0)
    body = BodySpec(
        "Disc",
        BodyKind.ACTIVE,
        cylinder_shape(scale, thick),
        np.array([0.0, 0.0, scale * sine + 0.5 * thick * normal[2]]),
        turn.as_quat(scalar_first=True),
        angular_velocity=rate * (np.array([0.0, 0.0, 1.0]) - normal[2] * normal),
        mass=1.0,
        material=material,
    )
    frames, missed = film(SceneSpec((ground(material), body)), 1.0, 2.0 * scale)
    axis = Rotation.from_quat(frames[-1].poses[1, 3:], scalar_first=True).apply((0.0, 0.0, 1.0))
    after = math.degrees(math.acos(min(1.0, abs(axis[2]))))
    return Found(f"disc that leans by {tilt:.1f} degrees", scale, tilt, after, abs(after - tilt) < 0.02 * tilt, missed)


def rocks(random: Random) -> Found:
    """A block falls from one edge onto the other: 1 - 1.5 sin^2 of its slenderness is left of its angular velocity."""
    scale, slender, share = scale_of(random), random.uniform(0.15, 0.4), random.uniform(0.2, 0.8)
    side, heading = float(random.choice([-1.0, 1.0])), random.uniform(0.0, 2.0 * np.pi)
    size = scale * np.array([math.tan(slender), 0.5, 1.0])
    turn = Rotation.from_euler("ZY", [heading, side * share * slender])
    place = -turn.apply([0.5 * side * size[0], 0.0, -0.5 * size[2]])
    material = pair_material(2.0)
    block = box("Block", tuple(size), tuple(place), material, 1.0, tuple(turn.as_quat(scalar_first=True)))
    frames, missed = film(replace(SceneSpec((ground(material), block)), frame_end=500), 3.0, 0.5 * scale)
    axes = [Rotation.from_quat(frame.poses[1, 3:], scalar_first=True).apply((1.0, 0.0, 0.0))[2] for frame in frames]
    tilts = -side * np.arcsin(axes)
    after = np.flatnonzero(tilts < 0.0)
    end = after[0] + np.flatnonzero(np.diff(tilts[after[0] :]) > 0.0)[0]
    # the highest of a parabola through the three frames about it
    a, b, c = tilts[end - 1 : end + 2]
    peak = -(b - 0.125 * (c - a) ** 2 / (a - 2.0 * b + c)) / slender
    risen = np.cos(slender * (1.0 - np.array([share, peak]))) - np.cos(slender)
    expected, measured = 1.0 - 1.5 * math.sin(slender) ** 2, float(np.sqrt(risen[1] / risen[0]))
    right = abs(measured - expected) < 0.01 * expected
    return Found(f"slenderness {slender:.2f}, from {share:.2f} of it", scale, expected, measured, right, missed)


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


LINES: dict[str, Callable[[Random], Found]] = {
    "leaning": leans,
    "slope": falls_over,
    "rolling": rolls,
    "spin": spins,
    "rocking": rocks,
    "rows": knocks,
    "glue, falling": lambda random: glued(random, True),
    "glue, standing": lambda random: glued(random, False),
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
