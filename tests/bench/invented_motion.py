# SPDX-License-Identifier: GPL-3.0-or-later
"""Invented scenes of what rolls, spins, slides and rocks, beside closed forms and scipy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.geometry.solids import shape_mass_properties
from solver_core.scene.parts import box, cylinder_shape, ground, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

from ..core import spinning
from ..core.placing import turned
from .invented import Floats, Found, G, Random, any_turn, film, scale_of


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


def enlarged(spec: SceneSpec, scale: float) -> SceneSpec:
    """The scene so many times as large, with clocks that go with the root of that."""
    pace, bodies = math.sqrt(scale), []
    for body in spec.bodies:
        bodies.append(
            replace(
                body,
                shape=enlarged_shape(body.shape, scale),
                position=scale * body.position,
                velocity=pace * body.velocity,
                angular_velocity=body.angular_velocity / pace,
                inertia=None if body.inertia is None else scale**2 * body.inertia,
            )
        )
    return replace(spec, bodies=tuple(bodies))


def enlarged_shape(shape: ShapeSpec, scale: float) -> ShapeSpec:
    children = tuple(
        replace(child, shape=enlarged_shape(child.shape, scale), position=scale * child.position) for child in shape.children
    )
    sizes = {"vertices": scale * shape.vertices, "margin": scale * shape.margin, "radius": scale * shape.radius}
    return replace(shape, children=children, **sizes)


def anywhere(spec: SceneSpec, random: Random) -> tuple[SceneSpec, Rotation]:
    """The scene turned in space with its motion, or as it is; and the turn."""
    if not random.integers(2):
        return spec, Rotation.identity()
    turn = any_turn(random)
    return turned(spec, turn), turn


def axes(frames: list, turn: Rotation) -> Floats:
    """(frames, 3) the third axis of body 1, as it would be had the scene not been turned."""
    return np.array(
        [turn.inv().apply(Rotation.from_quat(f.poses[1, 3:], scalar_first=True).apply([0.0, 0.0, 1.0])) for f in frames]
    )


def degrees_off(found: Floats, exact: Floats) -> float:
    return float(spinning.degrees_between(found, exact).max())


def tops(random: Random) -> Found:
    """A top on its tip, either way round: its axis goes as scipy has it."""
    while True:
        rate, tilt = random.choice([-1.0, 1.0]) * random.uniform(30.0, 100.0), random.uniform(5.0, 30.0)
        heading = random.uniform(0.0, 360.0)
        exact = spinning.axis_of_top(rate, tilt, 2.0, heading)
        # others come down on their side
        if exact[:, 2].min() > 0.6:
            break
    scale = scale_of(random)
    spec, turn = anywhere(enlarged(spinning.top(rate, tilt, heading), scale), random)
    frames, missed = film(spec, 2.0, scale)
    off = degrees_off(-axes(frames, turn), exact)
    return Found(f"top at {rate:.0f} rad/s, {tilt:.0f} degrees", scale, 0.0, off, off < 0.5, missed)


def tippe_tops(random: Random) -> Found:
    """A ball with a low centre of mass slides as it spins, either way round: it turns over as scipy has it."""
    as_shaped = shape_mass_properties(spinning.HEAVY_BELOW, mass=1.0).inertia
    while True:
        rate, tilt = random.choice([-1.0, 1.0]) * random.uniform(30.0, 80.0), random.uniform(15.0, 60.0)
        mu, way = random.uniform(0.1, 0.4), tuple(0.1 * random.normal(size=2))
        inertia = as_shaped if random.integers(2) else 0.004 * np.eye(3)
        exact = spinning.tilts_of_tippe_top(2.0, rate, tilt, mu, inertia, way)
        # others roll at once
        if len(exact) > 12:
            break
    scale = scale_of(random)
    spec, turn = anywhere(enlarged(spinning.tippe_top(rate, tilt, mu, inertia, way), scale), random)
    frames, missed = film(spec, (len(exact) - 1) / 24.0, scale)
    off = float(np.abs(np.degrees(np.arccos(axes(frames, turn)[:, 2])) - exact).max())
    name = f"tippe top at {rate:.0f} rad/s, mu {mu:.2f}, from {tilt:.0f} to {exact[-1]:.0f} degrees"
    return Found(name, scale, 0.0, off, off < 2.0, missed)


def bottles(random: Random) -> Found:
    """A cylinder that lies slides while it spins about the vertical, either way round."""
    scale, rate = scale_of(random), random.choice([-1.0, 1.0]) * random.uniform(15.0, 50.0)
    speed, mu = random.uniform(0.5, 3.0), random.uniform(0.1, 0.5)
    # while it still does
    seconds = math.floor(24.0 * min(1.0, 0.5 * speed / (mu * G))) / 24.0
    exact = spinning.way_of_bottle(seconds, speed, rate, mu)
    spec, turn = anywhere(enlarged(spinning.bottle(speed, rate, mu), scale), random)
    frames, missed = film(spec, seconds, scale)
    found = axes(frames, turn)
    turns = np.abs(np.unwrap(np.arctan2(-found[:, 0], found[:, 1])) - exact[:, 2]).max()
    way = np.array([turn.inv().apply(frame.poses[1, :3]) for frame in frames])[:, :2] / scale
    off = float(max(turns, np.abs(way - exact[:, :2]).max() / spinning.BOTTLE_LENGTH))
    name = f"bottle at {speed:.1f} m/s, {rate:.0f} rad/s, mu {mu:.2f}"
    return Found(name, scale, 0.0, off, off < 5e-3, missed)


def edges(random: Random) -> Found:
    """A ball rolls from facet to facet, of a mesh or of hulls: of its speed (2/5 + cos of their angle) / (7/5) is left."""
    scale, facets, angle, hulls = scale_of(random), int(random.integers(2, 6)), random.uniform(0.02, 0.15), random.integers(2)
    radius, speed = random.uniform(0.05, 0.2), random.uniform(1.0, 3.0)
    slopes = angle * (np.arange(facets) - 0.5 * (facets - 1))
    along, across = np.stack([np.cos(slopes), np.sin(slopes)], axis=1), np.stack([-np.sin(slopes), np.cos(slopes)], axis=1)
    corners = np.concatenate([[[0.0, 0.0]], np.cumsum([0.5, *random.uniform(0.2, 0.5, facets - 2), 2.0] * along.T, axis=1).T])
    upper = np.array([[x, y, z] for x, z in corners for y in (-1.0, 1.0)])
    if hulls:
        parts = [np.concatenate([upper[2 * k : 2 * k + 4], upper[2 * k : 2 * k + 4] - [0.0, 0.0, 0.5]]) for k in range(facets)]
        trough = ShapeSpec(ShapeKind.COMPOUND, children=tuple(ChildSpec(ShapeSpec(ShapeKind.HULL, part)) for part in parts))
    else:
        faces = [face for k in range(0, 2 * facets, 2) for face in ((k, k + 2, k + 3), (k, k + 3, k + 1))]
        trough = ShapeSpec(ShapeKind.MESH, upper, np.array(faces, dtype=np.int32))
    material, begin = pair_material(1.0), 0.25 * along[0] + radius * across[0]
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        sphere_shape(radius),
        position=np.array([begin[0], 0.0, begin[1]]),
        velocity=speed * np.array([along[0, 0], 0.0, along[0, 1]]),
        angular_velocity=np.array([0.0, speed / radius, 0.0]),
        mass=1.0,
        material=material,
    )
    spec, turn = anywhere(
        enlarged(SceneSpec((BodySpec("Trough", BodyKind.PASSIVE, trough, material=material), ball)), scale), random
    )
    frames, missed = film(spec, 1.5, scale)
    # where it touches two facets, m above each corner, and what is left there of its energy
    energy = before = 0.7 * speed**2 + G * begin[1]
    for k in range(1, facets):
        height = G * (corners[k, 1] + radius * (across[k, 1] + across[k - 1, 1]) / (1.0 + math.cos(angle)))
        energy = height + (energy - height) * ((0.4 + math.cos(angle)) / 1.4) ** 2
    places = [turn.inv().apply(frame.poses[1, :3]) / scale for frame in frames]
    last = next(i for i, place in enumerate(places) if (place[[0, 2]] - corners[-2]) @ along[-1] > 0.1)
    velocity, spin = np.split(frames[last].velocities[1], 2)
    velocity, spin = turn.inv().apply(velocity) / math.sqrt(scale), spin * math.sqrt(scale)
    # velocities are those of the middle of the last step, 1/480 s ago
    left = 0.5 * velocity @ velocity + 0.2 * radius**2 * spin @ spin + G * (places[last][2] - velocity[2] / 480.0)
    name = f"ball over {facets - 1} edges of {math.degrees(angle):.1f} degrees, {'hulls' if hulls else 'mesh'}"
    expected, measured = float(before - energy), float(before - left)
    return Found(name, scale, expected, measured, abs(measured - expected) < 0.1 * expected + 1e-4 * before, missed)
