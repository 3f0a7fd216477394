# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces that move along themselves: belts, escalators, turntables.

The surface of such a body has a velocity of its own, v_s + omega_s x r, in the body frame. A contact sees the part of it that
lies in its plane. That part is known before the step, so it is added to the bias of the tangential rows, and the law of
friction holds for the velocity between the two surfaces. The motion along the normal is left out: the surface stays in place.

The lever r is that of the middle of the step, to which the contact goes with the center of mass of the other body. Taken where
the step begins, it would lead what a turntable carries along a tangent, out by r omega^2 h / 2 in a second.

Values that change from frame to frame go smoothly between frames, as animated bodies do. A step has the value at its middle.
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
    """The motions of the surfaces of a scene's bodies; made once for a scene."""

    def __init__(self, spec: SceneSpec, center_of_mass: Floats):
        """Take in the motions.

        Parameters
        ----------
        spec : SceneSpec
            A scene that is valid.
        center_of_mass : (n, 3) m
            Of the bodies, in their body frames.
        """
        self._bodies = np.array([i for i, body in enumerate(spec.bodies) if body.surface_motion is not None], dtype=np.int64)
        motions = [body.surface_motion for body in spec.bodies if body.surface_motion is not None]
        self._paths = [(rows_of(motion.velocity), rows_of(motion.spin)) for motion in motions]
        self._center_of_mass = center_of_mass
        # (n, 6) velocities and spins in body axes, in the step that is in work
        self._now = np.zeros((len(spec.bodies), 6))
        self.place(0.0, 0.0)

    def __len__(self) -> int:
        """How many bodies have a surface that moves at some time."""
        return len(self._bodies)

    def place(self, begin: float, end: float) -> None:
        """Take the values at the middle of a step from `begin` to `end`, in frames counted from the first."""
        middle = 0.5 * (begin + end)
        for body, (velocity, spin) in zip(self._bodies, self._paths, strict=True):
            self._now[body, :3], self._now[body, 3:] = smooth(velocity, middle), smooth(spin, middle)

    @property
    def moving(self) -> Flags:
        """(n,) whose surfaces move in the step that is in work."""
        return self._now.any(axis=1)

    def drift(self, contacts: ContactSet, position: Floats, bodies: Prediction, h: float) -> Floats:
        """What surfaces add to the velocities at contacts.

        Parameters
        ----------
        contacts : m contacts
        position : (n, 3) m
            Centers of mass of the bodies.
        bodies : Prediction
            Their axes, and their twists as the step begins.
        h : s, the step

        Returns
        -------
        (m, 3) m/s, world
            The velocity of the surface of B against that of A beyond the motions of their bodies, in the plane of the contact.
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
        """(m, 3) rad/s, world: the angular velocity of the surface of B against that of A, beyond those of their bodies.

        Only the part along the normal turns a surface within the plane of a contact; the rest is left out.
        """
        spin = np.zeros((len(contacts), 3))
        for bodies, sign in ((contacts.body_a, -1.0), (contacts.body_b, 1.0)):
            rows = np.flatnonzero(self.moving[bodies])
            if rows.size:
                spin[rows] += sign * product(rotation[bodies[rows]], self._now[bodies[rows], 3:, None])[..., 0]
        return dots(spin, contacts.normal)[:, None] * contacts.normal

    def carried(self, body_a: Ints, body_b: Ints) -> Ints:
        """The bodies that touch a surface which moves; body_a, body_b: (m,) of the contacts."""
        moving = self.moving
        return np.unique(np.concatenate([body_b[moving[body_a]], body_a[moving[body_b]]]))


@dataclass(frozen=True)
class Surfaces:
    """All that surfaces do beyond the rigid motions of their bodies: they deform, bend, and move along themselves."""

    deformation: Deformation
    motions: SurfaceMotions

    def drift(self, contacts: ContactSet, position: Floats, bodies: Prediction, h: float) -> Floats:
        """(m, 3) m/s, world: the velocity at contacts of the surface of B against that of A beyond their rigid motions, without
        the modes of bodies that bend; all else is as in `SurfaceMotions.drift`."""
        drift = self.deformation.drift(contacts.body_a, contacts.body_b, contacts.point, position, bodies.rotation)
        return drift + self.motions.drift(contacts, position, bodies, h) if len(self.motions) else drift


def rows_of(values: Floats) -> Floats:
    """Values (3,) or (frames, 3) as rows."""
    return np.asarray(values, dtype=np.float64).reshape(-1, 3)
