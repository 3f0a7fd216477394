# SPDX-License-Identifier: GPL-3.0-or-later
"""Mass properties of a body: given values where there are any, and those of its homogeneous shape for the rest.

A given center of mass moves the inertia of the homogeneous shape to that center by the parallel axis theorem, I + m (d . d 1 -
d d^T), as OpenUSD computes it. The sum of the inertias of a solid and of a point satisfies the triangle inequality, so a body
with this inertia exists. A given inertia is not changed.
"""

from __future__ import annotations

import math

import numpy as np

from ..linalg.in_order import dot
from ..scene.spec import BodySpec, ShapeKind
from .mass_properties import MassProperties
from .solids import shape_mass_properties

__all__ = ["body_mass_properties", "radius_of_link"]


def body_mass_properties(body: BodySpec) -> MassProperties:
    """Return the mass properties of a body in a simulation.

    Parameters
    ----------
    body : BodySpec
        With exactly one of mass and density. A body without a collider needs a mass and an inertia.

    Returns
    -------
    MassProperties
        In the body frame. The inertia is about the center of mass.

    Raises
    ------
    ValueError
        As in `shape_mass_properties`; also if a body without a collider has no mass or no inertia.
    """
    override = None if body.center_of_mass is None else np.asarray(body.center_of_mass, dtype=np.float64)
    if body.shape.kind is ShapeKind.NONE:
        if body.mass is None or body.inertia is None:
            raise ValueError("a body without a collider needs a mass and an inertia")
        center = np.zeros(3) if override is None else override
        return MassProperties(float(body.mass), 0.0, center, np.asarray(body.inertia, dtype=np.float64), False)
    solid = shape_mass_properties(body.shape, mass=body.mass, density=body.density)
    if override is None and body.inertia is None:
        return solid
    center, inertia = solid.center_of_mass if override is None else override, solid.inertia
    if body.inertia is not None:
        inertia = np.asarray(body.inertia, dtype=np.float64)
    elif override is not None:
        arm = center - solid.center_of_mass
        inertia = inertia + solid.mass * (dot(arm, arm) * np.eye(3) - np.outer(arm, arm))
    return MassProperties(solid.mass, solid.volume, center, inertia, solid.closed)


def radius_of_link(body: BodySpec) -> float:
    """Return the root of the mean squared distance of a body's mass from its center, from tr I = 2 m r^2 [m].

    It is the size of a body without a collider. It is 0 if the mass or the inertia is not given.
    """
    if body.mass is None or body.inertia is None:
        return 0.0
    return math.sqrt(0.5 * float(np.trace(body.inertia)) / body.mass)
