# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints as pure data: what holds two bodies together, and along which of six directions it lets them move."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["FREE_AXIS", "LOCKED", "AxisSpec", "BondStrength", "JointChange", "JointSpec"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AxisSpec:
    """What a joint does about one of its coordinates: a displacement in m or an angle in rad, 0 where the scene begins.

    lower, upper: where the coordinate may be; both 0 locks it, both infinite leaves it free. stiffness in N/m or N m/rad and
    damping in N s/m or N m s/rad of a spring that pulls the coordinate to `rest`. motor_velocity: m/s or rad/s at which a motor
    drives it, with no more than motor_force, N or N m; 0 is no motor.
    """

    lower: float = -math.inf
    upper: float = math.inf
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    motor_velocity: float = 0.0
    motor_force: float = 0.0


FREE_AXIS = AxisSpec()
LOCKED = AxisSpec(0.0, 0.0)


@dataclass(frozen=True)
class JointChange:
    """What a joint is from a frame on, the first of the scene's range being 0; it is so on the way to that frame already."""

    frame: int
    linear: tuple[AxisSpec, AxisSpec, AxisSpec]
    angular: tuple[AxisSpec, AxisSpec, AxisSpec]
    breaking_impulse: float = math.inf
    enabled: bool = True


@dataclass(frozen=True)
class BondStrength:
    """What a bond between two bodies bears, whose Z axis points from A to B: tension along Z and shear across it in N, bending
    about X and about Y and torsion about Z in N m.

    It breaks when tension / `tension` + |bending about X| / `bending_x` + |bending about Y| / `bending_y` reaches 1, where
    pressure counts as negative tension, or shear / `shear` + |torsion| / `torsion` does. Pressure alone breaks nothing.
    area: m^2 of the shared section, 0 where it is not known; only debris uses it.
    """

    tension: float
    shear: float
    bending_x: float
    bending_y: float
    torsion: float
    area: float = 0.0


@dataclass(frozen=True)
class JointSpec:
    """A joint between two bodies.

    body_a, body_b: their names; empty for the world. position (3,) m and orientation (4,) place the joint's frame in the world
    at the first frame; each body carries its own copy of it from then on, and the joint's six coordinates say where B's is,
    seen from A's: linear along the axes of A's frame, angular the angles of the rotations about A's X, then A's Y, then A's Z
    that lead from A's axes to B's, R = Rz Ry Rx. breaking_impulse: N s, or N m s; a joint one of whose coordinates is held by
    as much within one time step breaks, and is gone from then on. strength: forces at which a bond breaks, whatever the
    time step, in place of a breaking impulse. One that is not enabled does nothing. changes: by frame.
    holds_where_enabled: a change that enables it takes the bodies as they are at that time for its frames, so that all of its
    coordinates are 0 there; else they are counted from where the scene begins.
    """

    name: str
    body_a: str
    body_b: str
    position: Array = field(default_factory=lambda: np.zeros(3))
    orientation: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    linear: tuple[AxisSpec, AxisSpec, AxisSpec] = (LOCKED, LOCKED, LOCKED)
    angular: tuple[AxisSpec, AxisSpec, AxisSpec] = (LOCKED, LOCKED, LOCKED)
    breaking_impulse: float = math.inf
    enabled: bool = True
    changes: tuple[JointChange, ...] = ()
    holds_where_enabled: bool = False
    strength: BondStrength | None = None

    def is_enabled_at(self, frame: int) -> bool:
        """Whether it holds on the way to a frame, the first of the scene's range being 0."""
        return next((change.enabled for change in reversed(self.changes) if change.frame <= frame), self.enabled)

    def becomes_enabled_at(self, frame: int) -> bool:
        """Whether it begins to hold on the way to a frame after the first."""
        return frame > 0 and self.is_enabled_at(frame) and not self.is_enabled_at(frame - 1)
