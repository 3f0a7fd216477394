# SPDX-License-Identifier: GPL-3.0-or-later
"""A step's contact problems, solved island by island with the chosen method, within the step's bounds on work and time.

The solver sees disks of friction, single bodies and contacts. This file converts to that and back, one layer a method:

| layer                 | input                                   | conversion                                        |
| --------------------- | --------------------------------------- | ------------------------------------------------- |
| `solve`               | a `StepProblem`                         | ellipses of friction to disks (`ellipse.py`)      |
| `_solve_clusters`     | a system, and its bonds                 | bonded bodies to one body each (`clusters.py`)    |
| `_solve_with_moments` | a system, and moments at its contacts   | moments to contacts of particles (`moments.py`)   |
| `_solve_system`       | a system                                | none: the method itself                           |
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.ellipse import Disks
from ...problem.result import Status
from ...problem.system import System
from ...scene.spec import ContactMethod, SolverSettings
from ...solvers.coulomb.cascade import ACCELERATED, VARIANTS
from ...solvers.effort import deadline_timer, effort_of_a_step, is_worked_off
from ..contact.build import StepProblem
from ..model.island_motion import Asked
from ..model.predict import Begin
from .clusters import Bonds, Clustered
from .islands import Again, Requests, Totals, solve_islands, totals
from .joined_islands import Corrected, CorrectedStep, solve_corrected
from .kicked import solve_with_kicks
from .moments import Moments, WithMoments
from .step_methods import StepInput, step_method

__all__ = ["SystemSolver"]

Floats = NDArray[np.float64]

# Iterations of a solve whose result only starts another one. With more, bounded rows that no start solves take long each time.
START_ITERATIONS = 5


class Begun(NamedTuple):
    """The start of a solve of islands.

    now: (dof,) velocities at the start of the step. asked: requested accuracy of each body's island. again: the islands to
    solve and the outcomes of the others; None to solve all. is_start: whether another solve starts from this solution.
    """

    now: Floats
    asked: Asked
    again: Again | None
    is_start: bool


class SystemSolver:
    """Solves the contact problems of a scene's steps with the method of its settings.

    moments: what the contacts of the current problem carry of rolling and torsional friction; None if they carry none. The
    caller sets it with each problem. fall: m/s, the velocity that gravity gives in the current step.
    """

    def __init__(
        self, settings: SolverSettings, has_grain: bool, threads: int, see: Callable[[System, Floats], object] | None
    ) -> None:
        """has_grain: whether any friction differs with direction. see: is called with each system and its initial impulses."""
        self._settings, self._has_grain, self._threads, self._see = settings, has_grain, threads, see
        self.is_staggered = settings.method is ContactMethod.STAGGERED
        self._published = None if self.is_staggered else step_method(settings.method)
        self.moments: Moments | None = None
        self.fall = 0.0
        self._effort = effort_of_a_step()
        self._deadline = np.inf
        self._options = settings.max_iterations, settings.polygon_sides, VARIANTS[settings.staggering.value]

    @property
    def effort(self) -> NDArray[np.int64]:
        """The counters of the step's work and time, shared by all that is solved in it."""
        return self._effort

    def one_step(self) -> AbstractContextManager[None]:
        """Return a context in which all solves belong to one step, and share its bounds on work and time."""
        seconds = self._settings.step_time_limit or np.inf
        self._deadline = perf_counter() + seconds
        return deadline_timer(self._effort, seconds)

    def is_worked_off(self, contacts: int) -> bool:
        """Return whether a step of that many contacts has used up its work."""
        return is_worked_off(self._effort, contacts)

    def can_be_cut(self, totals: Totals, contacts: int) -> bool:
        """Return whether a shorter step may give a better result than these totals of a step with that many contacts."""
        return totals.status not in (Status.INFEASIBLE, Status.TIME_LIMIT) and not self.is_worked_off(contacts)

    def solve(
        self,
        begin: Begin,
        problem: StepProblem,
        asked: Asked,
        again: Again | None = None,
        is_start: bool = False,
        bonds: Bonds | None = None,
    ) -> tuple[Floats, Totals]:
        """Solve a step's contact problem.

        Parameters
        ----------
        begin : the step
        problem : its impulses are the warm start and are overwritten by the solution
        asked : requested accuracy of each body's island
        again : as for `solve_islands`; the published methods solve all islands
        is_start : whether another solve starts from this solution, so that unsolved islands are not kicked
        bonds : of the step, whose clusters move as one body each; None if there are none

        Returns
        -------
        velocities (dof,), and totals over all islands
        """
        of_solve = Begun(begin.velocities, asked, again, is_start)
        if not self._has_grain:
            return self._solve_clusters(problem.system, problem.impulse, of_solve, bonds)
        disks = Disks.of(problem.system, problem.stretch)
        impulse = disks.impulse(problem.impulse)
        v, totals = self._solve_clusters(disks.system, impulse, of_solve, bonds)
        problem.impulse[:] = disks.undone(impulse)
        return v, totals

    def solve_corrected(self, problem: StepProblem, asked: Asked, step: CorrectedStep | None, again: Again) -> Corrected:
        """Solve islands with joints in one kernel, with their corrections (`joined_islands.py`).

        Nothing is solved with a friction polygon, grain, moments of contacts, or another method than Staggered Projections.

        Parameters
        ----------
        problem : its impulses are the warm start; they and the bias of joints are overwritten in islands that are solved
        asked, again : as for `solve`
        step : the step and its joints; None to solve nothing

        Returns
        -------
        the outcome of the islands
        """
        _, sides, variant = self._options
        is_plain = not self._has_grain and (self.moments is None or not len(self.moments.contact))
        if step is None or not (self.is_staggered and variant == ACCELERATED and sides == 0 and is_plain):
            drift = np.zeros(len(again.outcomes.status))
            drift[again.which] = np.inf
            return Corrected(np.zeros(len(drift), np.bool_), drift)
        if self._see is not None:
            self._see(problem.system, problem.impulse)
        requests = Requests(*asked, *self._options)
        return solve_corrected(problem.system, problem.impulse, requests, step, self._effort, again)

    def _solve_clusters(self, system: System, impulse: Floats, begun: Begun, bonds: Bonds | None) -> tuple[Floats, Totals]:
        """Solve a system with isotropic friction; impulse (m, 3) is the warm start and is overwritten. See `solve`."""
        if bonds is None:
            return self._solve_with_moments(system, impulse, self.moments, begun)
        clustered, again = Clustered.of(system, bonds), begun.again
        exact = begun.asked.exactly(self._settings.tolerance)
        of_clusters, whose = (None, None) if again is None else clustered.again(again)
        of_solve = Begun(
            clustered.gathered_velocities(begun.now),
            Asked(*(clustered.asked(*of_bodies) for of_bodies in zip(begun.asked, exact, strict=True))),
            of_clusters,
            begun.is_start,
        )
        own, moments = impulse[clustered.kept], self.moments
        if moments is None:
            v, found = self._solve_with_moments(clustered.system, own, None, of_solve)
        else:
            which = clustered.bears(moments)
            of_kept = clustered.moments(moments, which)
            v, found = self._solve_with_moments(clustered.system, own, of_kept, of_solve)
            moments.impulse[which] = of_kept.impulse
        v = clustered.velocities(v)
        impulse[:] = clustered.impulses(v, own)
        if again is None or of_clusters is None or whose is None:
            return v, found
        again.v[:] = v
        if not self.is_staggered:
            return v, found
        clustered.take_outcomes(of_clusters.outcomes, of_clusters.which, whose, again)
        return v, totals(again.outcomes)

    def _solve_with_moments(
        self, system: System, impulse: Floats, moments: Moments | None, begun: Begun
    ) -> tuple[Floats, Totals]:
        """Solve a system without bonds. The impulses and the moments are warm starts and are overwritten. See `solve`."""
        now, asked, again, is_start = begun
        if moments is None or not len(moments.contact):
            return self._solve_system(system, impulse, now, asked, again, is_start)
        wider = WithMoments.of(system, moments)
        own, then = wider.impulse(impulse), wider.velocities(now)
        of_wider = None if again is None else wider.again(again)
        v, found = self._solve_system(wider.system, own, then, asked, of_wider, is_start)
        impulse[:] = wider.without(own)
        wider.keep(own)
        if again is not None:
            again.v[:] = v[wider.columns]
            again.outcomes.worst_contact[:] = wider.of_contacts(again.outcomes.worst_contact)
        worst = wider.of_contacts(np.array([found.worst_contact]))
        return v[wider.columns], found._replace(worst_contact=int(worst[0]))

    def _solve_system(
        self,
        system: System,
        impulse: Floats,
        now: Floats,
        asked: Asked,
        again: Again | None,
        is_start: bool,
    ) -> tuple[Floats, Totals]:
        """Solve a system of single bodies and contacts by the chosen method.

        impulse: (m, 3) warm start, overwritten. now: (dof,) velocities at the start of the step. See `solve` for the others.
        """
        settings = self._settings
        if self._see is not None:
            self._see(system, impulse)
        if self._published is not None:
            limits = settings.tolerance, settings.max_iterations, self._deadline
            return self._published(system, impulse, StepInput(now, self.fall, *limits))
        requests = Requests(*asked, *self._options)
        if is_start:
            requests = requests._replace(max_iterations=min(requests.max_iterations, START_ITERATIONS))
            return solve_islands(system, impulse, requests, self._effort, self._threads, again)
        return solve_with_kicks(solve_islands, system, impulse, requests, self._effort, self._threads, again)
