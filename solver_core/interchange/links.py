# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of machines: bodies without a collider, which have a mass and an inertia of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..scene.spec import BodySpec
from .described import Found

__all__ = ["as_link"]

# m, of the ball that OpenUSD takes for a link whose inertia is not given.
USUAL_RADIUS = 0.1
USUAL_MASS = 1.0
OF_A_BALL = 0.4


def as_link(body: BodySpec, where: str, names: tuple[str, str], found: Found) -> BodySpec:
    """The body without a collider, with what a file leaves out of its mass properties.

    Parameters
    ----------
    body : BodySpec
        Of the shape NONE, active.
    where : the path of its prim or node
    names : the attributes of its mass and of its moments of inertia, as they are called in the file
    found : Found
        What was filled in is added to it.

    Returns
    -------
    BodySpec
        With a mass, 1 kg where none is given, and an inertia, that of a ball with a radius of 0.1 m where none is given, as
        OpenUSD has them.
    """
    if body.mass is None:
        found.odd(where, names[0], f"the body has neither a collider nor a mass; it weighs {USUAL_MASS:g} kg")
        body = replace(body, mass=USUAL_MASS, density=None)
    if body.inertia is None:
        assert body.mass is not None
        message = f"the body has neither a collider nor an inertia; it turns like a ball with a radius of {USUAL_RADIUS:g} m"
        found.odd(where, names[1], message)
        body = replace(body, inertia=OF_A_BALL * body.mass * USUAL_RADIUS**2 * np.eye(3))
    return body
