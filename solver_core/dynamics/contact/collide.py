# SPDX-License-Identifier: GPL-3.0-or-later
"""The collision stage: contacts that can close within a step, and sleeping bodies that moving bodies may touch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...collision.detect import Scene, detect, detect_and_keep, pairs_near
from ...collision.mesh.walks import KeptWalks
from ..look_ahead.impacts import ImpactFinder
from ..model.bodies import Bodies, State
from ..model.held_together import HeldTogether
from ..model.rest_gaps import rest_offsets
from ..motion.deformation import Deformation
from ..motion.rotation import matrices
from .memory import ContactMemory, bore

__all__ = ["Collider"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

STILL_MOTION = 1e-12  # m per step; the rounding of an interpolation between equal poses is less


class Collider:
    """Detects the contacts of a scene's n bodies."""

    def __init__(
        self,
        bodies: Bodies,
        together: HeldTogether,
        impacts: ImpactFinder,
        deformation: Deformation,
        kept: KeptWalks,
        threads: int,
    ) -> None:
        self._bodies, self._impacts, self._deformation, self._threads = bodies, impacts, deformation, threads
        self._together, self._kept = together, kept
        self._rest = rest_offsets(bodies.model.size)

    def contacts(
        self,
        state: State,
        movable: Flags,
        twist: Floats,
        h: float,
        rotation: Floats | None = None,
        every: bool = False,
        memory: ContactMemory | None = None,
    ) -> ContactSet:
        """Return the contacts that can close within h seconds.

        Parameters
        ----------
        state : of the bodies
        movable : (n,) one body of each pair is movable
        twist : (n, 6) m/s and rad/s
        h : s
        rotation : (n, 3, 3) of the orientations; None to compute it
        every : whether all contacts of meshes are kept
        memory : the contact history; contacts that carried load are kept
        """
        shapes, model, excluded = self._bodies.shapes, self._bodies.model, self._together.excluded
        turned: Floats = matrices(state.orientation) if rotation is None else rotation
        reach = 2.0 * self._rest + self._impacts.turning_reach(twist, h) + self._deformation.reach(h)
        scene = Scene(state.position, turned, reach, h * twist[:, :3], model.collections, movable, excluded)
        whole = np.ones(len(reach), np.bool_) if every else self._deformation.bends
        contacts, self._kept.walks = detect_and_keep(shapes, scene, self._threads, whole, self._kept.walks)
        held = bore(memory, contacts) if memory is not None and whole.any() else None
        return self._deformation.without_redundant(contacts, state.position, turned, self._rest, held)

    def neighbours(self, state: State) -> Ints:
        """Return (k, 2) bodies a < b, sorted, whose bounding boxes overlap, each expanded by half of the body's half size."""
        shapes, model = self._bodies.shapes, self._bodies.model
        reach = np.where(np.isfinite(model.size), 0.5 * model.size, 0.0)
        still, every, excluded = np.zeros_like(state.position), np.ones(len(reach), np.bool_), self._bodies.excluded
        scene = Scene(state.position, matrices(state.orientation), reach, still, model.collections, every, excluded)
        _, colliders = pairs_near(shapes._replace(surfaces=None), scene)
        return np.unique(np.sort(shapes.body[colliders], axis=1), axis=0)

    def moves(self, prescribed: Floats, h: float) -> tuple[Floats, Flags]:
        """Return (n,) m, a bound on the motion of kinematic and deforming bodies within h seconds, and (n,) which move.

        prescribed: (n, 6) twists.
        """
        motion = self._impacts.reach(prescribed, h) + self._deformation.reach(h)
        return motion, motion > STILL_MOTION

    def near(self, state: State, asleep: Flags, moving: Flags, motion: Floats) -> ContactSet:
        """Return the contacts between sleeping bodies (n,) and moving bodies (n,), which move by at most `motion` (n,) m."""
        bodies, rotation = self._bodies, matrices(state.orientation)
        collections = np.where(asleep | moving, bodies.model.collections, 0)
        reach = 2.0 * self._rest + motion
        return detect(bodies.shapes, state.position, rotation, reach, collections, moving, self._together.excluded)
