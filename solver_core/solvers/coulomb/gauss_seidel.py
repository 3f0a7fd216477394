# SPDX-License-Identifier: GPL-3.0-or-later
"""Block Gauss-Seidel sweeps over contacts, each solved exactly: the method of nonsmooth contact dynamics.

For one contact after the other, the impulse lam_k is set to the solution of

    u = G_kk lam_k + g_k,    0 <= u_n + c  perp  lam_n >= 0,    lam_t in argmin { y . u_t : |y| <= mu lam_n },

where g_k contains the present impulses of all other contacts (Jean and Moreau 1992, "Unilaterality and dry friction in the
dynamics of rigid body collections"; Jean 1999, "The non-smooth contact dynamics method"). A sweep costs about as much as a
measurement of the residuals. Every second sweep runs backwards, so that changes travel up and down a pile equally fast. A few
sweeps find the contacts that carry load, but even many do not reach the last digits. So the result is a proposal. The rows of a
joint are solved one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel_part, leaf_kernel
from ...linalg.rows_of_six import weigh_six_rows
from ...problem.coulomb import decompose, solve_contact
from ...problem.system import add_velocity, push_body
from ..block_operator import measure
from ..criteria import is_converged
from ..effort import count_products, spent

__all__ = ["DelassusBlocks", "delassus_blocks", "sweep", "sweeps"]

Floats = NDArray[np.float64]

MAX_SWEEPS = 60  # ADMM is faster for a problem that needs more
SWEEPS_A_CHECK = 5  # sweeps between two measurements; fewer cost more measurements, more end later than necessary
GAIN = 1.0 / 3.0  # fraction of the error that the sweeps between two checks must remove, or ADMM is faster


class DelassusBlocks(NamedTuple):
    """The diagonal blocks of the Delassus operator of m contacts and joints.

    of_a, of_b: (m, 3, largest block) rows of (M^-1 J^T)^T of both bodies.
    delassus: (m, 3, 3) G_kk [1/kg]. inverse: (m, 3, 3) its inverse [kg], for contacts.
    slip: (m, 6) factors of the sliding case (`coulomb.decompose`), for contacts.
    """

    of_a: Floats
    of_b: Floats
    delassus: Floats
    inverse: Floats
    slip: Floats


@leaf_kernel
def _fill_block(system, k, body, jacobian, out, delassus):
    """Set out[k] := (M^-1 J_k^T)^T of one body, and add J_k out[k]^T to delassus (3, 3)."""
    size = system.offset[body + 1] - system.offset[body]
    inverse, rows, answer = system.inverse_mass[system.block_start[body] :], jacobian[k], out[k]
    for row in range(3):
        if size == 6:
            # M is symmetric, so its rows are its columns.
            weigh_six_rows(answer[row], rows[row], inverse)
        else:
            for i in range(size):
                s = 0.0
                for j in range(size):
                    s += inverse[i * size + j] * rows[row, j]
                answer[row, i] = s
    for row in range(3):
        for column in range(3):
            for i in range(size):
                delassus[row, column] += rows[row, i] * answer[column, i]


@inner_kernel
def delassus_blocks(system):
    """Return the `DelassusBlocks` of a `System`."""
    count, widest = system.body_a.size, system.jacobian_a.shape[2]
    blocks = DelassusBlocks(
        np.zeros((count, 3, widest)),
        np.zeros((count, 3, widest)),
        np.zeros((count, 3, 3)),
        np.zeros((count, 3, 3)),
        np.zeros((count, 6)),
    )
    _fill(system, blocks)
    return blocks


@leaf_kernel
def _fill(system, out):
    for k in range(system.body_a.size):
        if system.body_a[k] >= 0:
            _fill_block(system, k, system.body_a[k], system.jacobian_a, out.of_a, out.delassus[k])
        if system.body_b[k] >= 0:
            _fill_block(system, k, system.body_b[k], system.jacobian_b, out.of_b, out.delassus[k])
        if out.delassus[k, 0, 0] > 0.0 and k < system.mu.size:
            decompose(out.delassus[k], out.inverse[k], out.slip[k])


@kernel_part
def _one_joint(g, box, joint, impulse, velocity):
    """Solve the rows of a joint one after the other, and return their impulses, three numbers [N s].

    impulse, velocity: present impulses of the rows [N s] and their velocities [m/s], three numbers each.
    """
    changes = (0.0, 0.0, 0.0)
    for r in range(3):
        if not g[r, r] > 0.0:
            continue
        low, high, gamma = box[joint, r, 0], box[joint, r, 1], box[joint, r, 2]
        u = velocity[r] + g[r, 0] * changes[0] + g[r, 1] * changes[1] + g[r, 2] * changes[2]
        after = min(max(impulse[r] - (u + gamma * impulse[r]) / (g[r, r] + gamma), low), high)
        change = after - impulse[r]
        changes = (
            change if r == 0 else changes[0],
            change if r == 1 else changes[1],
            change if r == 2 else changes[2],
        )
    return impulse[0] + changes[0], impulse[1] + changes[1], impulse[2] + changes[2]


@leaf_kernel
def sweep(system, blocks, backwards, state):
    """Do one sweep over all contacts and joints. The velocities of the state are updated with its impulses."""
    contacts, count, impulse, v = system.mu.size, system.body_a.size, state.impulse, state.v
    for i in range(count):
        k = count - 1 - i if backwards else i
        g = blocks.delassus[k]
        if not g[0, 0] > 0.0 and k < contacts:
            continue
        a, b = system.body_a[k], system.body_b[k]
        first_a, first_b, size_a, size_b = 0, 0, 0, 0
        u0, u1, u2 = system.bias[k, 0], system.bias[k, 1], system.bias[k, 2]
        if k < contacts:
            u0 += system.slack[k]
        if a >= 0:
            first_a = system.offset[a]
            size_a = system.offset[a + 1] - first_a
            u0, u1, u2 = add_velocity(system.jacobian_a, k, v, first_a, size_a, u0, u1, u2)
        if b >= 0:
            first_b = system.offset[b]
            size_b = system.offset[b + 1] - first_b
            u0, u1, u2 = add_velocity(system.jacobian_b, k, v, first_b, size_b, u0, u1, u2)
        l0, l1, l2 = impulse[k, 0], impulse[k, 1], impulse[k, 2]
        if k < contacts:
            n, t1, t2 = solve_contact(
                g,
                blocks.inverse[k],
                blocks.slip[k],
                system.mu[k],
                u0 - (g[0, 0] * l0 + g[0, 1] * l1 + g[0, 2] * l2),
                u1 - (g[1, 0] * l0 + g[1, 1] * l1 + g[1, 2] * l2),
                u2 - (g[2, 0] * l0 + g[2, 1] * l1 + g[2, 2] * l2),
            )
        else:
            n, t1, t2 = _one_joint(g, system.box, k - contacts, (l0, l1, l2), (u0, u1, u2))
        d0, d1, d2 = n - l0, t1 - l1, t2 - l2
        if d0 == 0.0 and d1 == 0.0 and d2 == 0.0:
            continue
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = n, t1, t2
        if a >= 0:
            push_body(blocks.of_a, k, d0, d1, d2, v, first_a, size_a)
        if b >= 0:
            push_body(blocks.of_b, k, d0, d1, d2, v, first_b, size_b)


@inner_kernel
def sweeps(operator, criteria, effort, state):
    """Sweep until the natural map converges, or converges slowly.

    Returns the natural map [m/s], and the number of contacts and joints that are not acceptable.
    """
    system, before, error, unconverged = operator.system, np.inf, np.inf, 0
    blocks = delassus_blocks(system)
    for done in range(MAX_SWEEPS + 1):
        if done % SWEEPS_A_CHECK == 0:
            before = error
            error, unconverged = measure(operator, criteria.acceptable, state)
            count_products(effort, SWEEPS_A_CHECK * state.impulse.shape[0])
            slow = error > criteria.acceptable and error > (1.0 - GAIN) * before
            if slow or is_converged(criteria, error, before, unconverged) or spent(effort):
                break
        if done < MAX_SWEEPS:
            sweep(system, blocks, done % 2 == 1, state)
    return error, unconverged
