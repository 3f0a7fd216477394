# SPDX-License-Identifier: GPL-3.0-or-later
"""Mass properties of collision shapes of all kinds.

The child shapes of a compound have one density. Their masses and centers add up, and so do their inertias about the common
center by the parallel axis theorem, I + m (d . d 1 - d d^T). A region inside several child shapes counts several times.
"""

from __future__ import annotations

import numpy as np

from ..linalg.in_order import dot, product
from ..scene.spec import ShapeKind, ShapeSpec
from .compounds import parts
from .mass_properties import MassProperties, mass_properties
from .solids_of_revolution import ROUND, round_moments
from .surfaces import mesh_surface

__all__ = ["shape_mass_properties"]


def shape_mass_properties(shape: ShapeSpec, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """Return the mass properties of a shape that is not a plane, from its mass [kg] or its density [kg/m^3].

    Those of a cylinder or a cone are those of the core without the margin.

    Raises ValueError as `mass_properties` does, and if a mesh is not closed. The message names the child shape of a compound.
    """
    if shape.kind is ShapeKind.MESH:
        return mesh_mass_properties(shape, mass, density)
    if shape.kind is not ShapeKind.COMPOUND and shape.kind not in ROUND:
        return mass_properties(shape.vertices, shape.triangles, mass=mass, density=density, margin=shape.margin)
    if (mass is None) == (density is None):
        raise ValueError("give exactly one of mass and density")
    if shape.kind in ROUND:
        volume, centre, inertia = round_moments(shape)
        if mass is None:
            assert density is not None
            mass = density * volume
        return MassProperties(float(mass), volume, centre, inertia * (mass / volume), True)
    solids = []
    for number, part in enumerate(parts(shape)):
        try:
            solid = shape_mass_properties(part.shape, density=1.0)
        except ValueError as error:
            raise ValueError(f"child shape {number} of the compound: {error}") from error
        centre = product(part.rotation, solid.center_of_mass) + part.position
        solids.append((solid.volume, centre, product(product(part.rotation, solid.inertia), part.rotation.T), solid.closed))
    volume = sum(each for each, _, _, _ in solids)
    if not volume > 0.0:
        raise ValueError("the compound has no child shape with a volume; add one")
    centre = np.sum([each * center for each, center, _, _ in solids], axis=0) / volume
    inertia = np.zeros((3, 3))
    for each, center, own_inertia, _ in solids:
        arm = center - centre
        inertia += own_inertia + each * (dot(arm, arm) * np.eye(3) - np.outer(arm, arm))
    if mass is None:
        assert density is not None
        mass = density * volume
    return MassProperties(float(mass), float(volume), centre, inertia * (mass / volume), all(each[3] for each in solids))


def mesh_mass_properties(shape: ShapeSpec, mass: float | None, density: float | None) -> MassProperties:
    """Return the mass properties of the solid in a mesh, with vertices merged and faces oriented as for collisions."""
    surface = mesh_surface(shape.vertices, shape.triangles)
    if surface.volume == 0.0:
        raise ValueError("the mesh is open, so it encloses no volume; close its holes")
    if surface.volume < 0.0:
        raise ValueError("the normals of the mesh point inward, so it is a room and not a solid; flip them")
    properties = mass_properties(surface.vertices, surface.triangles, mass=mass, density=density)
    if not properties.closed:
        raise ValueError(
            "the mesh intersects itself or is partly inside out; remove the intersections and recalculate its normals"
        )
    return properties
