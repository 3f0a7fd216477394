# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulation hands out for every frame: poses, velocities, the statistics of the frame's steps, and its contacts where
they were asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ...validation.findings import SceneError, SceneProblem

__all__ = [
    "NOTHING_SCRAPED",
    "TAKEN_UP",
    "ContactState",
    "Frame",
    "FrameContacts",
    "FrameImpacts",
    "FrameScrapes",
    "FrameStatistics",
    "require_finite",
]

Singles = NDArray[np.float32]
Bodies = NDArray[np.int32]

# What of a checkpoint a simulation of another scene takes up with a frame, besides the frame itself.
TAKEN_UP = ("last_step", "sleep_untouched", "joint_angle", "joint_twist", "joint_attached", "modal_velocity")


class ContactState(IntEnum):
    """What a contact does at the end of a step."""

    SEPARATING = 0  # it bears nothing: a gap, or bodies that part
    STICKING = 1
    SLIDING = 2  # it bears, and slips faster than what counts as rest (`build.stick_speed`)


@dataclass(frozen=True)
class FrameStatistics:
    """One entry a time step of the frame, in order.

    Every array has the shape (steps,) unless it says more. status holds the values of `solver_core.Status`; iterations,
    factorisations and contacts are counts; found (steps, len(Found)) is how many islands were solved by what each of
    `solver_core.Found` names; solves is how often the step was solved, once for what touched at its begin and again with what
    the motion ran into, cuts how often it was cut at an impact into shorter ones, 0 for a whole step; relative_error is (28) of
    Kaufman et al. 2008 and residual is their (29) in J; cone, complementarity, dissipation and natural_map (of pivoting its
    static_map) are the relative Coulomb residuals as `solver_core.residuals` measures them; worst_pair (steps, 2) are the
    indices of the bodies at the worst of these contacts, -1 when there is none; deepest_overlap in m is that of the two bodies
    deepest_pair (steps, 2), which are deepest in each other for the size of the smaller one, and overlap_ratio the same in its
    half extents, 0 when nothing overlaps as the step begins or ends; chosen_normals counts the contacts with an impulse along a
    normal that is a choice, see `collision.chosen_normals`, and chosen_pair (steps, 2) are the two bodies with the most of
    them, -1 when there is none; spin in rad is how far the body spinning_body turns in one of the scene's time steps, of those
    with contacts the one that turns farthest, -1 when none has any; violations (steps, len(Violation)) counts what the contact
    law does not explain, each kind that `model.violations.Violation` names, and violating_pairs (steps, len(Violation), 2) are
    the two bodies of the first of each, -1 when there is none; asleep counts the bodies that slept through the step, whose
    contacts are in none of these figures, and moving those in large islands in motion, which are solved to the tolerance in
    motion; seconds is wall time.
    """

    status: NDArray[np.int64]
    contacts: NDArray[np.int64]
    islands: NDArray[np.int64]
    iterations: NDArray[np.int64]
    factorisations: NDArray[np.int64]
    solves: NDArray[np.int64]
    found: NDArray[np.int64]
    cuts: NDArray[np.int64]
    asleep: NDArray[np.int64]
    moving: NDArray[np.int64]
    relative_error: NDArray[np.float64]
    residual: NDArray[np.float64]
    cone: NDArray[np.float64]
    complementarity: NDArray[np.float64]
    dissipation: NDArray[np.float64]
    natural_map: NDArray[np.float64]
    worst_pair: NDArray[np.int64]
    deepest_overlap: NDArray[np.float64]
    overlap_ratio: NDArray[np.float64]
    deepest_pair: NDArray[np.int64]
    chosen_normals: NDArray[np.int64]
    chosen_pair: NDArray[np.int64]
    spin: NDArray[np.float64]
    spinning_body: NDArray[np.int64]
    violations: NDArray[np.int64]
    violating_pairs: NDArray[np.int64]
    seconds: NDArray[np.float64]


@dataclass(frozen=True)
class FrameImpacts:
    """The impacts of two bodies in the steps of a frame, one row for each step and each two bodies that met in it.

    Attributes
    ----------
    time : (k,) s of simulated time since the first frame
    body_a, body_b : (k,) indices of bodies, a < b
    point : (k, 3) m, world, the mean of the contacts that closed, by their impulses
    normal : (k, 3) unit, from a to b
    impulse : (k,) N s, the sum of their normal impulses in the step
    speed : (k,) m/s, at which the fastest of them closed
    energy : (k,) J, that their normal impulses took; negative in a step in which bodies rebound faster than they closed
    """

    time: NDArray[np.float64]
    body_a: Bodies
    body_b: Bodies
    point: Singles
    normal: Singles
    impulse: Singles
    speed: Singles
    energy: Singles


@dataclass(frozen=True)
class FrameScrapes:
    """What friction dissipated in all steps of a frame, one row for each two bodies that slid on each other.

    Attributes
    ----------
    time : (k,) s of simulated time since the first frame, the mean by energy
    body_a, body_b : (k,) indices of bodies, a < b
    point : (k, 3) m, world, the mean of the contacts by energy
    spread : (k, 3) m, the standard deviation of the contacts of a step about their mean along the world axes, by energy
    normal : (k, 3) unit, world, from a to b
    slip : (k, 3) m/s, world, velocity of b against a along the surface, the mean by energy
    impulse : (k,) N s, of friction while the bodies slid
    energy : (k,) J, dissipated
    duration : (k,) s, for which the bodies slid
    """

    time: NDArray[np.float64]
    body_a: Bodies
    body_b: Bodies
    point: Singles
    spread: Singles
    normal: Singles
    slip: Singles
    impulse: Singles
    energy: Singles
    duration: Singles


NOTHING_SCRAPED = FrameScrapes(
    time=np.zeros(0),
    body_a=np.zeros(0, np.int32),
    body_b=np.zeros(0, np.int32),
    point=np.zeros((0, 3), np.float32),
    spread=np.zeros((0, 3), np.float32),
    normal=np.zeros((0, 3), np.float32),
    slip=np.zeros((0, 3), np.float32),
    impulse=np.zeros(0, np.float32),
    energy=np.zeros(0, np.float32),
    duration=np.zeros(0, np.float32),
)


@dataclass(frozen=True)
class FrameContacts:
    """The m contacts of a frame's last time step, in single precision, and the impacts and scrapes of all of its steps.

    Contacts of bodies that sleep are not among them. body_a, body_b: (m,) indices of bodies, a < b. point: (m, 3) m, world.
    normal: (m, 3) unit, world, from a to b. force: (m,) N, the normal force; friction: (m, 3) N, world, on body b. slip: (m, 3)
    m/s, world, of b against a along the surface. gap: (m,) m as the step began, negative for an overlap. mu: (m,) the
    coefficient in force, in the direction of the friction where a surface has a grain. ellipse: (m, 2, 3) world, the semi-axes
    of the ellipse that bounds friction, for a normal force of 1; zero where the bound is a circle of radius mu. state: (m,)
    values of `ContactState`. Forces are the step's impulses over the time that forces act in it, on average.
    """

    body_a: Bodies
    body_b: Bodies
    point: Singles
    normal: Singles
    force: Singles
    friction: Singles
    slip: Singles
    gap: Singles
    mu: Singles
    ellipse: Singles
    state: NDArray[np.uint8]
    impacts: FrameImpacts
    scrapes: FrameScrapes = NOTHING_SCRAPED

    def __len__(self) -> int:
        return len(self.force)


@dataclass(frozen=True)
class Frame:
    """State at the end of a frame.

    poses: (bodies, 7) position in m and orientation quaternion (w, x, y, z) of every body frame in the world. velocities:
    (bodies, 6) linear velocity in m/s of the body frame's origin and angular velocity in rad/s, world axes. statistics: of the
    steps that led here from the frame before, empty arrays for the first frame. reactions: (joints, 6) force in N on body B of
    every joint, and torque in N m about the joint, world axes, the mean over the frame; broken: (joints,) which are gone.
    giving_way: (joints,) m, or rad times a length at which forces turn bodies as easily as they move them: how far those are
    from where they may be that come no nearer, as they contradict each other or what they hold; 0 of all others. contacts: None
    where they were not asked for, and at the first frame. modal: (k,) m sqrt(kg), how far bodies that bend are in their modes,
    one body after the other.
    """

    frame: int
    poses: NDArray[np.float64]
    velocities: NDArray[np.float64]
    statistics: FrameStatistics
    reactions: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 6)))
    broken: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    giving_way: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    contacts: FrameContacts | None = None
    modal: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


def require_finite(frame: Frame, bodies: tuple[str, ...]) -> None:
    """Raise SceneError with the names of the bodies whose poses or velocities in a frame are no numbers."""
    is_lost = ~(np.isfinite(frame.poses).all(axis=1) & np.isfinite(frame.velocities).all(axis=1))
    message = (
        f"its motion is too large to compute in frame {frame.frame}; check its causes: gravity, velocities, force "
        "fields, masses, or very few frames a second"
    )
    if is_lost.any():
        raise SceneError(tuple(SceneProblem(bodies[index], "velocity", message) for index in np.flatnonzero(is_lost)))
