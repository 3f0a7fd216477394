# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of a simulation for a frame: poses, velocities, statistics of its steps, and contacts on request."""

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

# Arrays of a checkpoint from which a simulation of another scene can continue, in addition to the frame itself.
TAKEN_UP = ("last_step", "sleep_untouched", "joint_angle", "joint_twist", "joint_attached", "modal_velocity")


class ContactState(IntEnum):
    """The state of a contact at the end of a step."""

    SEPARATING = 0  # without load: the bodies have a gap or separate
    STICKING = 1
    SLIDING = 2  # loaded, with more slip than counts as rest (`build.stick_speed`)


@dataclass(frozen=True)
class FrameStatistics:
    """The statistics of the time steps of a frame, in order. Arrays have the shape (steps,) unless stated otherwise.

    Attributes
    ----------
    status : values of `solver_core.Status`
    contacts, islands, iterations, factorisations : counts
    solves : number of solves: the first with the contacts at the start, the others with contacts that the motion violated
    found : (steps, len(Found)) number of islands solved by each method of `solver_core.Found`
    cuts : number of times that the step was split into partial steps, 0 for a whole step
    asleep : number of bodies that slept through the step; their contacts do not count in any figure
    moving : number of bodies in large moving islands, which are solved to the moving tolerance
    relative_error : (28) of Kaufman et al. 2008
    residual : J, (29) of Kaufman et al. 2008
    cone, complementarity, dissipation, natural_map : relative Coulomb residuals, as in `solver_core.residuals`; with pivoting,
        natural_map is its static_map
    worst_pair : (steps, 2) bodies of the contact with the largest residual, -1 for none
    deepest_overlap : m, of the pair with the largest overlap relative to the half size of its smaller body, at the start or the
        end of the step; 0 for none
    overlap_ratio : the same relative to this half size
    deepest_pair : (steps, 2) its bodies
    chosen_normals : number of loaded contacts with an ambiguous normal, see `collision.chosen_normals`
    chosen_pair : (steps, 2) the bodies with the most of them, -1 for none
    spin : rad per full time step, the largest rotation of a body with contacts
    spinning_body : this body, -1 for none
    violations : (steps, len(Violation)) number of violations of the contact law, see `model.violations.Violation`
    violating_pairs : (steps, len(Violation), 2) the bodies of the first one of each kind, -1 for none
    seconds : wall time
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
    """The impacts in the steps of a frame, one row for each step and each pair of bodies that collided in it.

    Attributes
    ----------
    time : (k,) s of simulated time since the first frame
    body_a, body_b : (k,) indices of bodies, a < b
    point : (k, 3) m, world, the mean of the contacts that closed, weighted by impulse
    normal : (k, 3) unit, from a to b
    impulse : (k,) N s, the sum of their normal impulses in the step
    speed : (k,) m/s, the largest closing speed
    energy : (k,) J, absorbed by their normal impulses; negative in a step in which bodies rebound faster than they closed
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
    """The work of friction in all steps of a frame, one row for each pair of bodies that slid. Means are weighted by energy.

    Attributes
    ----------
    time : (k,) s of simulated time since the first frame, mean
    body_a, body_b : (k,) indices of bodies, a < b
    point : (k, 3) m, world, mean of the contacts
    spread : (k, 3) m, standard deviation of the contacts of a step along the world axes
    normal : (k, 3) unit, world, from a to b
    slip : (k, 3) m/s, world, velocity of b relative to a along the surface, mean
    impulse : (k,) N s, of friction during sliding
    energy : (k,) J, dissipated
    duration : (k,) s, of sliding
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
    """The m contacts of the last time step of a frame, in single precision, and the impacts and scrapes of all its steps.

    Contacts of sleeping bodies are not included. Forces are means over the step: its impulses divided by the time over which
    forces act.

    Attributes
    ----------
    body_a, body_b : (m,) indices of bodies, a < b
    point : (m, 3) m, world
    normal : (m, 3) unit, world, from a to b
    force : (m,) N, normal force
    friction : (m, 3) N, world, on body b
    slip : (m, 3) m/s, world, velocity of b relative to a along the surface
    gap : (m,) m at the start of the step, negative for an overlap
    mu : (m,) effective coefficient of friction; in the direction of the friction if a surface has a grain
    ellipse : (m, 2, 3) world, semi-axes of the ellipse that bounds friction, for a unit normal force; zero if the bound is a
        circle of radius mu
    state : (m,) values of `ContactState`
    impacts, scrapes : of all steps of the frame
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
    """The state at the end of a frame.

    Attributes
    ----------
    frame : number
    poses : (bodies, 7) position in m and orientation quaternion (w, x, y, z) of every body frame in the world
    velocities : (bodies, 6) linear velocity in m/s of the origin of the body frame, and angular velocity in rad/s, world axes
    statistics : of the steps since the previous frame; empty arrays for the first frame
    reactions : (joints, 6) force in N on body B of every joint, and torque in N m about the joint, world axes, mean over the
        frame
    broken : (joints,) which are broken
    giving_way : (joints,) constraint error of joints whose error does not decrease because joints conflict; 0 for others. In m,
        or rad times a length at which forces rotate bodies as easily as they translate them
    contacts : None if not requested, and at the first frame
    modal : (k,) m sqrt(kg), modal coordinates of flexible bodies, concatenated
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
    """Raise SceneError with the names of the bodies whose poses or velocities in a frame are not finite."""
    is_lost = ~(np.isfinite(frame.poses).all(axis=1) & np.isfinite(frame.velocities).all(axis=1))
    message = (
        f"its motion is too large to compute in frame {frame.frame}; check its causes: gravity, velocities, force "
        "fields, masses, or very few frames a second"
    )
    if is_lost.any():
        raise SceneError(tuple(SceneProblem(bodies[index], "velocity", message) for index in np.flatnonzero(is_lost)))
