# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands with joints, solved in one kernel together with the corrections that make their joints hold where the step ends.

After a solve the bodies are moved to the end of the step, and the bias of the joints is evaluated there. Islands whose bias
changed are solved again (`dynamics/joints/rows.py`). Only the bias differs between these solves. So the factor of the joints is
computed once for each island (`solvers/coulomb/elimination.py`), and a correction costs one or two steps of Newton's method.

An island that its given impulses solve is not eliminated. An island that is not accepted here keeps its given impulses and
bias, and the cascade solves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ...problem.residuals import effective_masses, fastest_velocity
from ...problem.result import Found, Status
from ...problem.system import System, effective_inverse_mass
from ...solvers.block_operator import State, update_velocities
from ...solvers.coulomb.elimination import begin_elimination, can_eliminate, solve_eliminated
from ...solvers.criteria import ACCEPTABLE, good_enough, relative_target
from ...solvers.effort import OVERDUE
from ...solvers.kaufman_2008.staggered import into_cones, residual
from ..joints.laws import EndMotion, JointPose, laws_about
from ..joints.rows import Followed, largest_changes
from ..model import bodies as model_bodies
from ..model.integrate import FreeMotion, RigidModel, RigidState, integrate
from ..model.predict import Begin
from .islands import Again, Error, Requests, island_part, island_requests, measure_given

__all__ = ["Corrected", "CorrectedStep", "Corrections", "solve_corrected"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Corrections(NamedTuple):
    """Limits of the corrections of joints.

    drift: lengths of a joint; an island is solved again while a joint drifts by more. loose: lengths; an island with a larger
    drift is loose. few, most: solves of an island, and of a loose one.
    """

    drift: float
    loose: float
    few: int
    most: int


class CorrectedStep(NamedTuple):
    """A step whose joints are corrected.

    begin: the step. joints: with the state at the start of the step. at_end: the state at its end of bodies that the solver
    does not move. corrections: the limits.
    """

    begin: Begin
    joints: Followed
    at_end: model_bodies.State
    corrections: Corrections


class Corrected(NamedTuple):
    """The outcome of the islands with joints.

    is_solved: (islands,). drift: (islands,) lengths, of their joints; infinite for unsolved islands.
    """

    is_solved: Bools
    drift: Floats


class _Motion(NamedTuple):
    """The input of `integrate`, and the motion of bodies that the solver does not move.

    model, state, bodies: as for `integrate`. offset: (moving + 1,) as in a `System`. position: (n, 3) m and orientation: (n,
    4), at the end of the step, of bodies that the solver does not move; other entries are not used.
    """

    model: RigidModel
    state: RigidState
    bodies: FreeMotion
    offset: NDArray[np.int64]
    position: Floats
    orientation: Floats


class _Piece(NamedTuple):
    """An island with joints: its system, the indices of its bodies and of its triples of rows in the whole system, effective
    masses kappa (m,), its state, its requested tolerance, and whether it tumbles."""

    system: System
    bodies: NDArray[np.int64]
    rows: NDArray[np.int64]
    kappa: Floats
    state: State
    tolerance: float
    tumbles: bool


class _Progress(NamedTuple):
    """The progress of pieces (p,).

    todo: pieces to solve again. kept: pieces that the cascade need not solve. steps: of Newton's method. number: index of the
    elimination, -1 for none. drift: lengths, of their joints. fastest: m/s, the scale of errors.
    """

    todo: Bools
    kept: Bools
    steps: NDArray[np.int64]
    number: NDArray[np.int64]
    drift: Floats
    fastest: Floats


@inner_kernel
def _pieces_of(system, requests, which, impulse):
    """Return the islands with indices `which` as pieces."""
    islands, of_islands = island_requests(system, requests)
    pieces = []
    for i in which:
        rows = islands.contacts[islands.start[i] : islands.start[i + 1]]
        part, bodies = island_part(system, islands, of_islands, i)
        kappa = effective_masses(effective_inverse_mass(part))
        state = State(impulse[rows], np.empty(part.velocity.size))
        pieces.append(_Piece(part, bodies, rows, kappa, state, of_islands.tolerance[i], of_islands.tumbles[i]))
    return pieces


@leaf_kernel
def _fill_owners(contacts, piece, p, of_triple, of_body):
    """Write the index p of a piece to the entries of its triples of joint rows (t,) and of its bodies (moving,)."""
    for k in piece.rows:
        if k >= contacts:
            of_triple[k - contacts] = p
    for body in piece.bodies:
        of_body[body] = p


@inner_kernel
def _bias_about(joints, motion, of_triple, of_body, todo, v):
    """Return the bias (t, 3) of the joints of the pieces `todo` (p,) about velocities v (dof,). Other entries are undefined."""
    model, pose = motion.model, joints.pose
    dof, active = np.full(model.dof.size, -1, np.int64), np.zeros(pose.active.size, np.bool_)
    for b in range(dof.size):
        if model.dof[b] >= 0 and of_body[model.dof[b]] >= 0 and todo[of_body[model.dof[b]]]:
            dof[b] = model.dof[b]
    for r in range(joints.rows.joint.size):
        if todo[of_triple[joints.rows.triple[r]]]:
            active[joints.rows.joint[r]] = pose.active[joints.rows.joint[r]]
    solved, still = RigidModel(dof, model.lock, model.axes, model.moments), np.zeros(v.size)
    moved = integrate(solved, motion.state, motion.bodies, motion.offset, v, still, joints.times.h)
    for b in range(dof.size):
        if model.dof[b] < 0:
            moved.position[b], moved.orientation[b] = motion.position[b], motion.orientation[b]
    where, end = JointPose(pose.frames, active, pose.angle), EndMotion(v, motion.offset, moved.position, moved.orientation)
    bias, _ = laws_about(joints.rows, joints.fixed, where, end, joints.times, joints.recovery_speed)
    return bias


@leaf_kernel
def _scatter(system, piece, v):
    """Write the velocities of the bodies of a piece to v (dof,)."""
    for b in range(piece.bodies.size):
        first = system.offset[piece.bodies[b]]
        for d in range(piece.system.offset[b + 1] - piece.system.offset[b]):
            v[first + d] = piece.state.v[piece.system.offset[b] + d]


@inner_kernel
def _solve_piece(piece, one, fastest, effort):
    """Solve a piece with its present bias and its `Elimination`.

    Returns the number of steps of Newton's method, and whether the piece is solved.
    """
    into_cones(piece.system, piece.state.impulse)
    target = relative_target(piece.tolerance, piece.tumbles) * fastest
    steps, is_solved = solve_eliminated(piece.system, one, target, effort, piece.state)
    return steps, is_solved and effort[OVERDUE] == 0


@inner_kernel
def _begin_piece(piece, fastest, sides):
    """Update the velocities of a piece, and return whether the given impulses solve it.

    The bound is that of the cascade for islands with joints. It is wider than `good_enough`, because the bias of the joints
    corrects in the next step what this one leaves.
    """
    worst, _, _ = measure_given(piece.system, piece.state.impulse, (piece.kappa, fastest), sides, np.empty(3))
    update_velocities(piece.system, piece.state)
    return worst <= ACCEPTABLE * piece.tolerance


@leaf_kernel
def _go_on(progress, found, h, solves, corrections):
    """Mark the pieces to solve again, among those just solved. found: (p + 1,) lengths a second, the drift of their joints."""
    for p in range(progress.todo.size):
        if not progress.todo[p]:
            continue
        off = found[p] * h
        most = corrections.few if off <= corrections.loose else corrections.most
        progress.todo[p] = off > corrections.drift and solves < most and off < progress.drift[p]
        progress.drift[p] = off


@inner_kernel
def _take_over(piece, sides, island, of_piece, out):
    """Return whether a piece is accepted. If so, update its velocities and write the outcome of its island to `out`.

    of_piece: whether it was eliminated, the steps of Newton's method, and m/s, the fastest velocity.
    """
    is_eliminated, steps, fastest = of_piece
    into_cones(piece.system, piece.state.impulse)
    relative = np.empty(3)
    masses = piece.kappa, fastest
    worst, contact, natural = measure_given(piece.system, piece.state.impulse, masses, sides, relative)
    bound = good_enough(piece.tolerance, piece.tumbles) if is_eliminated else ACCEPTABLE * piece.tolerance
    if not worst <= bound:
        return False
    update_velocities(piece.system, piece.state)
    out.status[island], out.iterations[island] = Status.SOLVED, 1
    out.factorisations[island] = steps + 1 if is_eliminated else 0
    out.found[island] = Found.ELIMINATION if is_eliminated else Found.START
    out.errors[island, Error.CHANGE] = 0.0
    out.errors[island, Error.RESIDUAL] = residual(piece.system, piece.state.impulse, piece.state.v)
    for j in range(relative.size):
        out.errors[island, Error.CONE + j] = relative[j]
    out.errors[island, Error.WORST], out.errors[island, Error.NATURAL_MAP] = worst, natural
    out.worst_contact[island] = piece.rows[contact] if contact >= 0 else -1
    return True


@leaf_kernel
def _take_bias(piece, contacts, about, bias):
    """Copy the new bias `about` (t, 3) of a piece's joint rows to the piece and to `bias` (t, 3) of the whole system."""
    for a in range(piece.rows.size):
        t = piece.rows[a] - contacts
        if t >= 0:
            for r in range(3):
                bias[t, r] = piece.system.bias[a, r] = about[t, r]


@kernel_part
def _solve_once(system, pieces, begun, progress, is_first, sides, effort, v):
    """Solve the marked pieces with their present bias; write their velocities to v (dof,).

    begun: the eliminations so far. Eliminations of pieces without one are appended.
    """
    for p in range(len(pieces)):
        if not progress.todo[p]:
            continue
        progress.fastest[p] = fastest_velocity(pieces[p].system)
        if not (is_first and _begin_piece(pieces[p], progress.fastest[p], sides)):
            if progress.number[p] < 0:
                progress.number[p] = len(begun)
                begun.append(begin_elimination(pieces[p].system, effort))
            one, is_solved = begun[progress.number[p]]
            if is_solved:
                steps, is_solved = _solve_piece(pieces[p], one, progress.fastest[p], effort)
                progress.steps[p] += steps
            progress.kept[p] = progress.todo[p] = is_solved
        if progress.todo[p]:
            _scatter(system, pieces[p], v)


@inner_kernel
def _solve_pieces(system, pieces, sides, joints, motion, corrections, effort, v):
    """Solve pieces and correct their joints; write their velocities to v (dof,). Returns their `_Progress`."""
    contacts, count, solves = system.mu.size, len(pieces), 0
    # An empty list, written so that the compiler can infer its type.
    begun = [begin_elimination(pieces[p].system, effort) for p in range(solves)]
    todo, of_triple = np.zeros(count + 1, np.bool_), np.full(system.box.shape[0], count, np.int64)
    of_body, number = np.full(system.offset.size - 1, -1, np.int64), np.full(count, -1, np.int64)
    bias = system.bias[contacts:].copy()
    for p in range(count):
        todo[p] = can_eliminate(pieces[p].system, sides)
        _fill_owners(contacts, pieces[p], p, of_triple, of_body)
    kept, steps, drift = todo[:count].copy(), np.zeros(count, np.int64), np.full(count, np.inf)
    progress = _Progress(todo[:count], kept, steps, number, drift, np.zeros(count))
    while todo.any():
        _solve_once(system, pieces, begun, progress, solves == 0, sides, effort, v)
        solves += 1
        about, found = _bias_about(joints, motion, of_triple, of_body, todo, v), np.zeros(count + 1)
        largest_changes(joints.rows, joints.fixed, bias, about, of_triple, found)
        _go_on(progress, found, joints.times.h, solves, corrections)
        for p in range(count):
            if todo[p]:
                _take_bias(pieces[p], contacts, about, bias)
    return progress


@kernel
def _solve_corrected(system, requests, joints, motion, corrections, effort, again, impulse):
    """Solve islands as `solve_corrected` does, from arrays. Returns `Corrected`."""
    which, v, out = again.which, again.v, again.outcomes
    pieces = _pieces_of(system, requests, which, impulse)
    progress = _solve_pieces(system, pieces, requests.sides, joints, motion, corrections, effort, v)
    is_solved, drift = np.zeros(out.status.size, np.bool_), np.zeros(out.status.size)
    drift[which] = np.inf
    for p in range(which.size):
        i, piece = which[p], pieces[p]
        of_piece = progress.number[p] >= 0, progress.steps[p], progress.fastest[p]
        if not (progress.kept[p] and _take_over(piece, requests.sides, i, of_piece, out)):
            continue
        is_solved[i], drift[i] = True, progress.drift[p]
        _scatter(system, piece, v)
        for a in range(piece.rows.size):
            k = piece.rows[a]
            for r in range(3):
                impulse[k, r], system.bias[k, r] = piece.state.impulse[a, r], piece.system.bias[a, r]
    return Corrected(is_solved, drift)


def solve_corrected(
    system: System,
    impulse: Floats,
    requests: Requests,
    step: CorrectedStep,
    effort: NDArray[np.int64],
    again: Again,
) -> Corrected:
    """Solve islands with joints, and correct the bias of their joints about the solved velocities.

    Parameters
    ----------
    system : with the rows of joints, whose bias is overwritten by that of the solution in solved islands
    impulse : (m, 3) N s, the warm start, overwritten by the solution in solved islands
    requests : of each body
    step : the step and its joints
    effort : (5,) the work budget; the solve stops when it is overdue
    again : the islands to solve; and the velocities (dof,) and outcomes of all islands, both updated in place

    Returns
    -------
    which islands are solved, and the constraint drift of their joints
    """
    begin, joints = step.begin, step.joints
    model, predicted = begin.model, begin.bodies
    motion = _Motion(
        RigidModel(model.dof, model.lock, model.axes, model.moments),
        RigidState(*joints.state[:4]),
        FreeMotion(predicted.predicted, predicted.end_momentum, predicted.mass),
        begin.offset,
        step.at_end.position,
        step.at_end.orientation,
    )
    return _solve_corrected(system, requests, joints, motion, step.corrections, effort, again, impulse)
