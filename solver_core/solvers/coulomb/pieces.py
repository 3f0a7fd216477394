# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps and the alternating direction method in pieces: what they do with the parts that an elimination tree falls into.

Two parts share no contact and no block of the factor. What a part takes from the velocities or momenta of the top it writes to
a vector of its own, and these are added in their order. So an iteration is one stage: every part solves backwards, looks at its
contacts and solves forwards; then the leader does the same for the top, which is small, and whose velocities the parts begin
the next one with. A system that is not worth it is one part, without a top.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import FALSE, TRUE, inlined_kernel, kernel, leaf_kernel
from ...linalg.block_triangular import solve_backward, solve_forward
from ...linalg.elimination_parts import factorise_part, factorise_top
from ...problem.residuals import natural_error_between
from ...problem.system import apply_inverse_mass_of
from ...threads.board import (
    NO_STAGE,
    STAGE_MASK,
    STOP,
    is_alone,
    piece_done,
    post,
    take,
    wait_for_all,
    wait_for_work,
)
from .gauss_seidel import fill_delassus_blocks, sweep
from .splitting import pull_contact, pull_joint, push, relax, split

__all__ = [
    "assist",
    "factorise_pieces",
    "fill_all_delassus_blocks",
    "how_many_far",
    "iterate",
    "measure",
    "measure_split",
    "sweep_all",
]

# stages
FORWARD, BACK_AND_FORTH, BACKWARD, SPLIT, ADD_UP, MEASURE, FILL, SWEEP_ON, SWEEP_BACK, FACTORISE = range(10)


@inlined_kernel
def _own(work, part):
    """The first row of a part's bodies, the one after the last, and the first of the top's, which end with the vector."""
    offset, start = work.system.offset, work.parts.start
    return offset[start[part]], offset[start[part + 1]], offset[start[work.parts.number]]


@inlined_kernel
def _clear(work, part, out):
    """out := 0 in the rows of a part and of the top."""
    first, last, top = _own(work, part)
    out[first:last] = 0.0
    out[top:] = 0.0


@inlined_kernel
def _look_at_contacts(work, part, relaxed, pulled):
    """Of a part's triples x, where velocities are new, and right := J^T y of what these are pulled to next."""
    system, rho, x, z, offset = work.system, work.rho, work.x, work.z, work.offset
    v, right = work.solution[part], work.right[part]
    if pulled:
        _clear(work, part, right)
    for k in range(work.triple[0, 2 * part], work.triple[0, 2 * part + 2]):
        now = relax(system, k, v, offset, z, x) if relaxed else (x[k, 0], x[k, 1], x[k, 2])
        if pulled:
            n, t1, t2 = pull_contact(system, rho, k, now, offset, z)
            push(system, k, n, t1, t2, right)
    for k in range(work.triple[1, 2 * part], work.triple[1, 2 * part + 2]):
        now = relax(system, k, v, offset, z, x) if relaxed else (x[k, 0], x[k, 1], x[k, 2])
        if pulled:
            n, t1, t2 = pull_joint(system, rho, k, now, offset, z)
            push(system, k, n, t1, t2, right)


@inlined_kernel
def _begin_forward(work, part):
    """solution := right, M v_hat added for a part's own bodies."""
    first, last, top = _own(work, part)
    right, solution = work.right[part], work.solution[part]
    for i in range(first, last):
        solution[i] = right[i] + work.momentum[i]
    if part < work.parts.number:
        for i in range(top, solution.size):
            solution[i] = right[i]


@inlined_kernel
def _iterate(work, part, backward, forward):
    """A part's share of the end of an iteration, and of the beginning of the next one."""
    structure, values, parts = work.blocks.structure, work.values, work.parts
    solution = work.solution[part]
    if backward:
        _, _, top = _own(work, part)
        for i in range(top, solution.size):
            solution[i] = work.solution[parts.number, i]
        solve_backward(structure, values, parts.start[part], parts.start[part + 1], solution)
    _look_at_contacts(work, part, backward, forward)
    if forward:
        _begin_forward(work, part)
        solve_forward(structure, values, parts.start[part], parts.start[part + 1], solution)


@leaf_kernel
def _iterate_top(work, again):
    """The same for the top, whose velocities are solved for altogether. again: whether it was solved for before."""
    structure, values, parts = work.blocks.structure, work.values, work.parts
    top = parts.number
    _look_at_contacts(work, top, again, TRUE)
    _begin_forward(work, top)
    first, last, _ = _own(work, top)
    solution = work.solution[top]
    for part in range(top):
        for i in range(first, last):
            solution[i] += work.solution[part, i]
    solve_forward(structure, values, parts.start[top], parts.start[top + 1], solution)
    solve_backward(structure, values, parts.start[top], parts.start[top + 1], solution)


@leaf_kernel
def _add_up(work, part, splits):
    """right := J^T lam of a part's triples, lam being what x says or what it is already; and of its own bodies the velocities
    after that."""
    system, right = work.system, work.right[part]
    _clear(work, part, right)
    for kind in range(2):
        for k in range(work.triple[kind, 2 * part], work.triple[kind, 2 * part + 2]):
            if splits:
                split(system, work.rho, k, work.x, work.impulse)
            n, t1, t2 = work.impulse[k, 0], work.impulse[k, 1], work.impulse[k, 2]
            if n != 0.0 or t1 != 0.0 or t2 != 0.0:
                push(system, k, n, t1, t2, right)
    if part < work.parts.number:
        _accelerate(work, part)


@leaf_kernel
def _accelerate(work, part):
    """v := v_hat + M^-1 right for a part's own bodies."""
    first, last, _ = _own(work, part)
    for body in range(work.parts.start[part], work.parts.start[part + 1]):
        apply_inverse_mass_of(work.system, body, work.right[part], work.v)
    for i in range(first, last):
        work.v[i] += work.system.velocity[i]


@leaf_kernel
def _measure(work, part):
    """The natural map of a part's triples."""
    error, far = 0.0, 0
    for kind in range(2):
        first, last = work.triple[kind, 2 * part], work.triple[kind, 2 * part + 2]
        here, beyond = natural_error_between(work.system, work.impulse, work.v, work.kappa, 0, first, last, work.enough[0])
        if here > error or np.isnan(here):
            error = here
        far += beyond
    work.error[part], work.far[part] = error, far


@leaf_kernel
def _sweep(work, part, backwards):
    """A sweep over a part's triples that have no body in the top, or over those of the top."""
    for i in range(2):
        kind = 1 - i if backwards else i
        first, last = work.triple[kind, 2 * part], work.triple[kind, 2 * part + 1]
        sweep(work.system, work.delassus, first, last, backwards, work.impulse, work.v)


@leaf_kernel
def _sweep_between(work, backwards):
    """A sweep over the triples that have a body in the top."""
    parts = work.parts.number
    if backwards:
        _sweep(work, parts, TRUE)
    for i in range(parts):
        part = parts - 1 - i if backwards else i
        for j in range(2):
            kind = 1 - j if backwards else j
            first, last = work.triple[kind, 2 * part + 1], work.triple[kind, 2 * part + 2]
            sweep(work.system, work.delassus, first, last, backwards, work.impulse, work.v)
    if not backwards:
        _sweep(work, parts, FALSE)


@leaf_kernel
def _fill(work, part):
    for kind in range(2):
        first, last = work.triple[kind, 2 * part], work.triple[kind, 2 * part + 2]
        fill_delassus_blocks(work.system, first, last, work.delassus)


@inlined_kernel
def _do(work, stage, part):
    """A piece of a stage."""
    if stage <= BACKWARD:
        _iterate(work, part, stage != FORWARD, stage != BACKWARD)
    elif stage in (SPLIT, ADD_UP):
        _add_up(work, part, stage == SPLIT)
    elif stage == MEASURE:
        _measure(work, part)
    elif stage == FILL:
        _fill(work, part)
    elif stage == FACTORISE:
        work.positive[part] = 1 if factorise_part(work.blocks.structure, work.parts, work.values, part) else 0
    else:
        _sweep(work, part, stage == SWEEP_BACK)


@leaf_kernel
def _together(work, stage):
    """Do a stage of all parts, with whoever helps."""
    parts = work.parts.number
    if is_alone(work.board):
        for part in range(parts):
            _do(work, stage, part)
        return
    posted = post(work.board, stage)
    for i in range(parts):
        if take(work.board, posted, work.turn[0, i]):
            _do(work, stage, work.turn[0, i])
            piece_done(work.board)
    wait_for_all(work.board, parts)


@kernel
def assist(work, thread):
    """Do what is written on the board, until STOP is; or return True where there was nothing to do for a while."""
    posted = np.int64(0)
    while True:
        posted = wait_for_work(work.board, posted)
        if posted == NO_STAGE:
            return True
        stage = posted & STAGE_MASK
        if stage == STOP:
            return False
        for i in range(work.parts.number):
            if take(work.board, posted, work.turn[thread, i]):
                _do(work, stage, work.turn[thread, i])
                piece_done(work.board)


@leaf_kernel
def _measured(work, stage):
    top = work.parts.number
    _together(work, stage)
    _add_up(work, top, stage == SPLIT)
    first, last, _ = _own(work, top)
    for part in range(top):
        for i in range(first, last):
            work.right[top, i] += work.right[part, i]
    _accelerate(work, top)
    _together(work, MEASURE)
    _measure(work, top)
    error = 0.0
    for here in work.error:
        # a nan is the worst there is
        if here > error or np.isnan(here):
            error = here
    return error


@leaf_kernel
def how_many_far(work):
    """Of how many triples the natural map was beyond `work.enough` when it was measured."""
    return work.far.sum()


@leaf_kernel
def measure(work):
    """The natural map of the impulses; v becomes their velocities."""
    return _measured(work, ADD_UP)


@leaf_kernel
def measure_split(work):
    """The same, where impulses become what x says."""
    return _measured(work, SPLIT)


@leaf_kernel
def fill_all_delassus_blocks(work):
    """Fill in the diagonal blocks of the Delassus operator."""
    _together(work, FILL)
    _fill(work, work.parts.number)


@leaf_kernel
def sweep_all(work, backwards):
    """A sweep over all triples."""
    if backwards:
        _sweep_between(work, TRUE)
        _together(work, SWEEP_BACK)
    else:
        _together(work, SWEEP_ON)
        _sweep_between(work, FALSE)


@leaf_kernel
def factorise_pieces(work):
    """The factor of what is in `values`; False where there is none."""
    _together(work, FACTORISE)
    for positive in work.positive:
        if positive == 0:
            return False
    return factorise_top(work.blocks.structure, work.parts, work.values)


@leaf_kernel
def iterate(work, times):
    """So many iterations of the alternating direction method."""
    for i in range(times):
        _together(work, FORWARD if i == 0 else BACK_AND_FORTH)
        _iterate_top(work, i > 0)
    _together(work, BACKWARD)
    _look_at_contacts(work, work.parts.number, TRUE, FALSE)
