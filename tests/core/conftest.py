"""Contact problems that several test files share."""

from __future__ import annotations

import numpy as np
import pytest


def random_stack(rng, dim, most_bodies=8, mu_most=1.0):
    """Delassus operator, free velocity and friction of bodies that touch each other and the ground at random places."""
    bodies, degrees = int(rng.integers(1, most_bodies + 1)), 3 if dim == 2 else 6
    m = int(rng.integers(1, 6 * bodies))
    J = np.zeros((m, dim, bodies * degrees))
    inverse = []
    for _ in range(bodies):
        mass = 10.0 ** rng.uniform(-1, 1)
        inverse += [1 / mass] * dim + list(1 / (mass * rng.uniform(0.05, 0.4, 1 if dim == 2 else 3)))
    for k in range(m):
        below, above = rng.permutation(np.arange(-1, bodies))[:2]
        axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0] if rng.random() < 0.5 else np.roll(np.eye(dim), 1, axis=0)
        for body, sign in ((below, -1.0), (above, 1.0)):
            if body >= 0:
                arm = rng.uniform(-1, 1, dim)
                turn = np.cross(arm, axes) if dim == 3 else (arm[0] * axes[:, 1] - arm[1] * axes[:, 0])[:, None]
                J[k, :, degrees * body : degrees * (body + 1)] = sign * np.hstack([axes, turn])
    J = J.reshape(m * dim, -1)
    G = (J * inverse) @ J.T
    return 0.5 * (G + G.T), J @ rng.normal(size=J.shape[1]), rng.uniform(0.0, mu_most, m)


@pytest.fixture
def stack_of_bodies():
    """The maker of random stacks: (rng, dim, most_bodies, mu_most) -> G, g, mu."""
    return random_stack
