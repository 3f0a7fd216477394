# SPDX-License-Identifier: GPL-3.0-or-later
"""Surface velocities of conveyor belts, escalators and turntables.

The surface of such a body has a velocity v_s + omega_s x r in the body frame. Its part in the plane of a contact counts. This
part is known before the step, so it is added to the bias of the tangential rows, and the friction law uses the relative
velocity of the two surfaces. The part along the normal is ignored: the surface stays in place.

The lever r is that of the middle of the step, to which the contact moves with the center of mass of the other body. With the
lever at the start of the step, a turntable would move bodies along a tangent, outward at r omega^2 h / 2.

Values that change from frame to frame are interpolated smoothly, like the paths of kinematic bodies. A step uses the value at
its middle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...linalg.in_order import dots, product
from ...scene.spec import SceneSpec
from ..model.predict import Prediction
from ..motion.deformation import Deformation
from ..motion.paths import smooth

__all__ = ["SurfaceMotions", "Surfaces"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


class SurfaceMotions:
    """The surface motions of a scene's bodies. One instance serves a scene."""

    def __init__(self, spec: SceneSpec, center_of_mass: Floats):
        """Read the surface motions of a scene.

        Parameters
        ----------
        spec : a valid scene
        center_of_mass : (n, 3) m, in body frames
        """
        self._bodies = np.array([i for i, body in enumerate(spec.bodies) if body.surface_motion is not None], dtype=np.int64)
        motions = [body.surface_motion for body in spec.bodies if body.surface_motion is not None]
        self._paths = [(rows_of(motion.velocity), rows_of(motion.spin)) for motion in motions]
        self._center_of_mass = center_of_mass
        # (n, 6) velocities and spins in body axes, in the current step
        self._now = np.zeros((len(spec.bodies), 6))
        self.place(0.0, 0.0)

    def __len__(self) -> int:
        """Return the number of bodies with a surface motion."""
        return len(self._bodies)

    def place(self, begin: float, end: float) -> None:
        """Set the values to those at the middle of a step from `begin` to `end`, in frames counted from the first."""
        middle = 0.5 * (begin + end)
        for body, (velocity, spin) in zip(self._bodies, self._paths, strict=True):
            self._now[body, :3], self._now[body, 3:] = smooth(velocity, middle), smooth(spin, middle)

    @property
    def moving(self) -> Flags:
        """(n,) the bodies whose surfaces move in the current step."""
        return self._now.any(axis=1)

    def drift(self, contacts: ContactSet, position: Floats, bodies: Prediction, h: float) -> Floats:
        """Return the surface velocities at contacts.

        Parameters
        ----------
        contacts : the m contacts
        position : (n, 3) m, centers of mass
        bodies : their rotations and twists at the start of the step
        h : s, the step

        Returns
        -------
        (m, 3) m/s, world; the velocity of B's surface relative to A's in the plane of the contact, in addition to the motions
        of the bodies
        """
        drift = np.zeros((len(contacts), 3))
        moving, a, b = self.moving, contacts.body_a, contacts.body_b
        for own, other, sign in ((a, b, -1.0), (b, a, 1.0)):
            rows = np.flatnonzero(moving[own])
            if not rows.size:
                continue
            body, axes = own[rows], bodies.rotation[own[rows]]
            arm = contacts.point[rows] - position[body]
            passing = bodies.twist[other[rows], :3] - bodies.twist[body, :3] - np.cross(bodies.twist[body, 3:], arm)
            lever = product(axes.transpose(0, 2, 1), (arm + 0.5 * h * passing)[..., None])[..., 0]
            local = self._now[body, :3] + np.cross(self._now[body, 3:], lever + self._center_of_mass[body])
            drift[rows] += sign * product(axes, local[..., None])[..., 0]
        return drift - dots(drift, contacts.normal)[:, None] * contacts.normal

    def spin(self, contacts: ContactSet, rotation: Floats) -> Floats:
        """Return (m, 3) rad/s, world: the angular velocity of B's surface relative to A's, in addition to that of the bodies.

        Only its part along the normal, which rotates a surface in the plane of the contact, counts.
        """
        spin = np.zeros((len(contacts), 3))
        for bodies, sign in ((contacts.body_a, -1.0), (contacts.body_b, 1.0)):
            rows = np.flatnonzero(self.moving[bodies])
            if rows.size:
                spin[rows] += sign * product(rotation[bodies[rows]], self._now[bodies[rows], 3:, None])[..., 0]
        return dots(spin, contacts.normal)[:, None] * contacts.normal

    def carried(self, body_a: Ints, body_b: Ints) -> Ints:
        """Return the bodies that touch a moving surface. body_a, body_b: (m,) of the contacts."""
        moving = self.moving
        return np.unique(np.concatenate([body_b[moving[body_a]], body_a[moving[body_b]]]))


@dataclass(frozen=True)
class Surfaces:
    """The motions of surfaces in addition to the rigid motions of their bodies: deformation and surface velocities."""

    deformation: Deformation
    motions: SurfaceMotions

    def drift(self, contacts: ContactSet, position: Floats, bodies: Prediction, h: float) -> Floats:
        """Return (m, 3) m/s, world: the velocity of B's surface relative to A's at contacts, in addition to rigid motions.

        The modes of flexible bodies do not count. Parameters as in `SurfaceMotions.drift`.
        """
        drift = self.deformation.surface_velocity(contacts.body_a, contacts.body_b, contacts.point, position, bodies.rotation)
        return drift + self.motions.drift(contacts, position, bodies, h) if len(self.motions) else drift


def rows_of(values: Floats) -> Floats:
    """Return values (3,) or (frames, 3) as rows."""
    return np.asarray(values, dtype=np.float64).reshape(-1, 3)
