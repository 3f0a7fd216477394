# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems with joints: random bodies that touch, and triples of rows between them with every law that a row may have."""

from __future__ import annotations

import numpy as np

import solver_core as sc

from .contact_problems import frame, random_bodies, rigid_jacobian

HELD, GIVING, LOWER, UPPER, DRIVEN, UNUSED = range(6)


def law(random, kind):
    """(low, high, gamma) of a row."""
    force, give = random.uniform(0.1, 2.0), random.uniform(0.01, 3.0)
    return {
        HELD: (-np.inf, np.inf, 0.0),
        GIVING: (-np.inf, np.inf, give),
        LOWER: (0.0, np.inf, 0.0),
        UPPER: (-np.inf, 0.0, 0.0),
        DRIVEN: (-force, force, 0.0),
        UNUSED: (0.0, 0.0, 0.0),
    }[kind]


def joined(problem, pairs, jacobian_a, jacobian_b, bias, box):
    """A problem with triples of rows of joints; pairs: (j, 2) bodies, -1 for the world."""
    system, pairs = problem.system, np.asarray(pairs)
    return sc.ContactProblem.of_system(
        system._replace(
            body_a=np.append(system.body_a, pairs[:, 0]),
            body_b=np.append(system.body_b, pairs[:, 1]),
            jacobian_a=np.concatenate([system.jacobian_a, jacobian_a]),
            jacobian_b=np.concatenate([system.jacobian_b, jacobian_b]),
            bias=np.concatenate([system.bias, bias]),
            box=np.asarray(box, dtype=float),
        )
    )


def random_joined(seed, contacts=6, bodies=4, triples=4, mu=(0.1, 0.4), kinds=(HELD, GIVING, LOWER, UPPER, DRIVEN, UNUSED)):
    """Bodies thrown at each other, joined at random."""
    problem, random = random_bodies(seed, contacts, bodies, mu), np.random.default_rng(1000 + seed)
    pairs, left, right, box = [], np.zeros((triples, 3, 6)), np.zeros((triples, 3, 6)), np.zeros((triples, 3, 3))
    for k in range(triples):
        b = random.integers(0, bodies)
        a = random.choice([-1, *(i for i in range(bodies) if i != b)])
        pairs.append((a, b))
        axes = frame(random.normal(size=3))
        box[k] = [law(random, random.choice(kinds)) for _ in range(3)]
        used = box[k].any(axis=1)[:, None]
        left[k] = 0.0 if a < 0 else -rigid_jacobian(random.normal(size=3), axes) * used
        right[k] = rigid_jacobian(random.normal(size=3), axes) * used
    bias = 0.3 * random.normal(size=(triples, 3)) * box.any(axis=2)
    return joined(problem, pairs, left, right, bias, box)
