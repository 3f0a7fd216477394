# SPDX-License-Identifier: GPL-3.0-or-later
"""Cubes that fall, columns that stand, and a wall as a contact problem."""

from __future__ import annotations

import math

import numpy as np

import solver_core as sc
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import MaterialSpec, SceneSpec

from .contact_problems import GRAVITY_STEP, rigid_jacobian

ROUGH = MaterialSpec(math.sqrt(0.6), math.sqrt(0.6))


def falling_cubes(count):
    """Cubes at random turns, close above each other and the ground."""
    random = np.random.default_rng(3)
    bodies = []
    for i in range(count):
        layer, place = divmod(i, 16)
        at = 0.36 * (place % 4), 0.36 * (place // 4), 0.2 + 0.36 * layer
        turn = random.normal(size=4)
        bodies.append(box(f"Cube {i}", (0.2, 0.2, 0.2), at, ROUGH, orientation=turn / np.linalg.norm(turn)))
    return SceneSpec((ground(ROUGH), *bodies))


def pile(columns, height):
    """Columns of cubes side by side that rest on each other and on one slab."""
    slab = box("Slab", (0.3 * columns, 0.4, 0.1), (0.0, 0.0, 0.05), ROUGH)
    cubes = [
        box(f"Cube {i} {j}", (0.2, 0.2, 0.2), (0.3 * (i - 0.5 * (columns - 1)), 0.0, 0.2 + 0.2 * j), ROUGH)
        for i in range(columns)
        for j in range(height)
    ]
    return SceneSpec((ground(ROUGH), slab, *cubes))


def stacked_boxes(columns, layers):
    """A wall of boxes of 1 kg, half over half, that each have a velocity of their own."""
    random = np.random.default_rng(7)
    half = np.array([0.5, 0.3, 0.2])
    inertia = 1.0 / 3.0 * np.array([half[1] ** 2 + half[2] ** 2, half[0] ** 2 + half[2] ** 2, half[0] ** 2 + half[1] ** 2])
    axes = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    centre = {}
    for layer in range(layers):
        for column in range(columns):
            centre[layer, column] = np.array([column + 0.5 * (layer % 2), 0.0, 0.4 * layer + 0.2])
    number = {place: i for i, place in enumerate(centre)}
    body_a, body_b, left, right = [], [], [], []
    for (layer, column), middle in centre.items():
        below = [(layer - 1, other) for other in (column - 1, column, column + 1) if (layer - 1, other) in centre]
        touched = [(None, middle[0] - 0.5, middle[0] + 0.5)] if layer == 0 else []
        for place in below:
            low, high = max(middle[0], centre[place][0]) - 0.5, min(middle[0], centre[place][0]) + 0.5
            if high - low > 0.1:
                touched.append((place, low, high))
        for place, low, high in touched:
            for x in (low, high):
                for y in (-half[1], half[1]):
                    point = np.array([x, y, middle[2] - half[2]])
                    body_a.append(-1 if place is None else number[place])
                    body_b.append(number[layer, column])
                    arm = np.zeros(3) if place is None else point - centre[place]
                    left.append(-rigid_jacobian(arm, axes) if place is not None else np.zeros((3, 6)))
                    right.append(rigid_jacobian(point - middle, axes))
    masses = [np.diag(np.concatenate([np.ones(3), inertia]))] * len(centre)
    velocity = 0.05 * random.normal(size=6 * len(centre))
    velocity[2::6] -= GRAVITY_STEP
    return sc.ContactProblem.from_bodies(masses, velocity, (body_a, body_b), (np.array(left), np.array(right)), 0.6)
