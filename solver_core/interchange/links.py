# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of machines: bodies without a collider, with a given mass and inertia."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..scene.spec import BodySpec
from .described import Found

__all__ = ["as_link"]

# m and kg, of the ball that OpenUSD uses for a link without inertia or mass.
LINK_RADIUS = 0.1
LINK_MASS = 1.0
# Moment of inertia of a ball, divided by m r^2.
BALL_INERTIA = 0.4


def as_link(body: BodySpec, where: str, names: tuple[str, str], found: Found) -> BodySpec:
    """Complete the mass properties of a body without a collider.

    Parameters
    ----------
    body : BodySpec
        Of the shape NONE, active.
    where : the path of its prim or node
    names : names of its mass and of its moments of inertia in the file
    found : Found
        Gets a warning for each default that is used.

    Returns
    -------
    BodySpec
        With a mass, by default 1 kg, and an inertia, by default that of a ball with a radius of 0.1 m, as in OpenUSD.
    """
    if body.mass is None:
        found.odd(where, names[0], f"the body has neither a collider nor a mass; it weighs {LINK_MASS:g} kg")
        body = replace(body, mass=LINK_MASS, density=None)
    if body.inertia is None:
        assert body.mass is not None
        message = f"the body has neither a collider nor an inertia; it turns like a ball with a radius of {LINK_RADIUS:g} m"
        found.odd(where, names[1], message)
        body = replace(body, inertia=BALL_INERTIA * body.mass * LINK_RADIUS**2 * np.eye(3))
    return body
