# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds between bodies whose faces touch: joints with a strength from stresses and the shared section.

The section carries stresses as that of an elastic beam does (Euler and Bernoulli): tension N / A + M c / I, with I the second
moment of area about a principal axis and c the largest distance from it. The shear is V / A + T r / J, with J = I_x + I_y and r
the largest distance from the centroid; for torsion of circles that is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..geometry.compounds import parts, rotation_matrix
from ..scene.joints import LOCKED, BondStrength, JointChange, JointSpec
from ..scene.spec import BodyKind, BodySpec
from .touching import Faces, Section, touching_sections

__all__ = ["Stresses", "bonds", "bonds_of_bodies", "released_at", "strength_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stresses:
    """What a material bears, in Pa."""

    tension: float
    shear: float


def strength_of(section: Section, stresses: Stresses) -> BondStrength:
    """The forces and moments that a section bears, each alone."""
    (about_x, about_y), (along_x, along_y, far) = section.second, section.reach
    return BondStrength(
        tension=stresses.tension * section.area,
        shear=stresses.shear * section.area,
        bending_x=stresses.tension * float(about_x / along_y),
        bending_y=stresses.tension * float(about_y / along_x),
        torsion=stresses.shear * float((about_x + about_y) / far),
        area=float(section.area),
    )


def bonds(sections: Sequence[Section], names: Sequence[str], stresses: Stresses) -> list[JointSpec]:
    """A bond for each section. names: of the bodies, by their numbers."""
    # registering the add-on loads no scipy
    from scipy.spatial.transform import Rotation

    counts: dict[tuple[int, int], int] = {}
    joints = []
    for section in sections:
        pair = section.a, section.b
        counts[pair] = counts.get(pair, 0) + 1
        number = f" {counts[pair]}" if counts[pair] > 1 else ""
        joints.append(
            JointSpec(
                name=f"bond of {names[section.a]} and {names[section.b]}{number}",
                body_a=names[section.a],
                body_b=names[section.b],
                position=section.place,
                orientation=Rotation.from_matrix(section.axes.T).as_quat(scalar_first=True),
                strength=strength_of(section, stresses),
            )
        )
    return joints


def released_at(joint: JointSpec, frame: int) -> JointSpec:
    """The bond, which holds up to a frame and not on the way on from it. frame: 0 is the first of the scene's range."""
    release = JointChange(max(frame, 0) + 1, (LOCKED, LOCKED, LOCKED), (LOCKED, LOCKED, LOCKED), enabled=False)
    return replace(joint, changes=(release,))


def bonds_of_bodies(bodies: Sequence[BodySpec], stresses: Stresses, tolerance: float) -> list[JointSpec]:
    """The bonds between bodies whose collision shapes have flat faces that touch, apart by no more than `tolerance` m, where at
    least one of the two is active. Round shapes and planes have no bonds."""
    surfaces = [(body, faces_of(body)) for body in bodies]
    surfaces = [(body, faces) for body, faces in surfaces if len(faces.normals)]
    if not surfaces:
        return []
    sections = touching_sections([faces for _, faces in surfaces], tolerance)
    moves = [body.kind is BodyKind.ACTIVE for body, _ in surfaces]
    return bonds([one for one in sections if moves[one.a] or moves[one.b]], [body.name for body, _ in surfaces], stresses)


def faces_of(body: BodySpec) -> Faces:
    """The triangles of the collision shape of a body in the world at the first frame."""
    turn, found = rotation_matrix(body.orientation), [np.zeros((0, 3, 3))]
    for part in parts(body.shape):
        if len(part.shape.triangles):
            corners = (part.shape.vertices @ part.rotation.T + part.position) @ turn.T + body.position
            found.append(corners[part.shape.triangles])
    corners = np.concatenate(found)
    return Faces.of(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))
