# SPDX-License-Identifier: GPL-3.0-or-later
"""Mass properties of a body: those that it is given, and those of its homogeneous shape for all that it is not.

A center of mass that is given moves the inertia of the homogeneous shape with it, by the parallel axis theorem,
I + m (d . d 1 - d d^T), as OpenUSD computes it. The sum of the inertia of a solid and that of a point satisfies the triangle
inequality, so a body exists that has it. An inertia that is given stays as it is.
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
    """Mass properties of a body as a simulation has them.

    Parameters
    ----------
    body : BodySpec
        With exactly one of mass and density; without a collider it needs a mass and an inertia.

    Returns
    -------
    MassProperties
        In the body frame; the inertia is about the center of mass.

    Raises
    ------
    ValueError
        As in `shape_mass_properties`, and for a body without a collider that lacks its mass or its inertia.
    """
    given = None if body.center_of_mass is None else np.asarray(body.center_of_mass, dtype=np.float64)
    if body.shape.kind is ShapeKind.NONE:
        if body.mass is None or body.inertia is None:
            raise ValueError("a body without a collider needs a mass and an inertia")
        center = np.zeros(3) if given is None else given
        return MassProperties(float(body.mass), 0.0, center, np.asarray(body.inertia, dtype=np.float64), False)
    solid = shape_mass_properties(body.shape, mass=body.mass, density=body.density)
    if given is None and body.inertia is None:
        return solid
    center, inertia = solid.center_of_mass if given is None else given, solid.inertia
    if body.inertia is not None:
        inertia = np.asarray(body.inertia, dtype=np.float64)
    elif given is not None:
        arm = center - solid.center_of_mass
        inertia = inertia + solid.mass * (dot(arm, arm) * np.eye(3) - np.outer(arm, arm))
    return MassProperties(solid.mass, solid.volume, center, inertia, solid.closed)


def radius_of_link(body: BodySpec) -> float:
    """m, the root of the mean squared distance of a body's mass from its center, by tr I = 2 m r^2.

    A body without a collider is taken to be as large as this. It is 0 where the mass or the inertia is not given.
    """
    if body.mass is None or body.inertia is None:
        return 0.0
    return math.sqrt(0.5 * float(np.trace(body.inertia)) / body.mass)
