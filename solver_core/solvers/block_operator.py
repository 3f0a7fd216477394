# SPDX-License-Identifier: GPL-3.0-or-later
"""The block-sparse operator M + J^T D J, and the evaluation of impulses.

The operator has one block per body and one per pair of bodies in contact. D has one (3, 3) block per contact and joint. The
structure and the positions of the blocks are computed once per solve and serve for all D. The methods that improve impulses get
an operator, stopping criteria, a budget of work and a state, which they update. The natural map measures the error of a state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, inner_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.block_cholesky import Structure, allocate_factor, analyse, find_block
from ..linalg.rows_of_six import add_three_rows, weigh_rows
from ..problem.residuals import effective_masses, natural_error_between
from ..problem.system import System, apply_inverse_mass, apply_mass, effective_inverse_mass, push_bodies, relative_velocity

__all__ = [
    "BOTH",
    "CONTACT",
    "FRICTION",
    "Blocks",
    "Operator",
    "State",
    "assemble",
    "gap_velocity",
    "generalised_impulse",
    "imbalance",
    "measure",
    "measure_each",
    "operator_of",
    "operator_of_joints",
    "rows_of_kind",
    "update_velocities",
    "velocities_of_change",
    "velocity_after",
]

# numpy integers, because a Python literal in a named tuple triggers a separate numba specialization
CONTACT, FRICTION, BOTH = np.int64(0), np.int64(1), np.int64(2)


class Blocks(NamedTuple):
    """Positions of the blocks of each contact and joint in the Hessian.

    structure: structure of the factor.
    diagonal_a, diagonal_b: (m,) positions of the diagonal blocks of both bodies, -1 for the world.
    between: (m,) position of the off-diagonal block, -1 if one body is the world.
    b_is_row: (m,) True if the rows of the off-diagonal block belong to body B.
    """

    structure: Structure
    diagonal_a: NDArray[np.int64]
    diagonal_b: NDArray[np.int64]
    between: NDArray[np.int64]
    b_is_row: NDArray[np.bool_]


class Operator(NamedTuple):
    """A `System` with the block structure of M + J^T D J and storage for one factor.

    system: the system.
    blocks: positions of the blocks.
    factor: storage of the factor.
    inverse: (m, 3) diagonal of the Delassus operator [1/kg].
    kappa: (m,) effective masses [kg].
    """

    system: System
    blocks: Blocks
    factor: NDArray[np.float64]
    inverse: NDArray[np.float64]
    kappa: NDArray[np.float64]


class State(NamedTuple):
    """Impulses and the velocities that they cause.

    impulse: (m, 3) impulses of contacts and of the rows of joints [N s].
    v: (n,) generalized velocities.
    """

    impulse: NDArray[np.float64]
    v: NDArray[np.float64]


@kernel
def operator_of(system):
    """Return the `Operator` of a system."""
    blocks, inverse = _find_blocks(system), effective_inverse_mass(system)
    return Operator(system, blocks, allocate_factor(blocks.structure), inverse, effective_masses(inverse))


@inner_kernel
def operator_of_joints(system):
    """Return the `Operator` of the joint rows of a system only. Its `inverse` and `kappa` are empty."""
    c = system.mu.size
    joints = System(
        system.offset,
        system.block_start,
        system.mass,
        system.inverse_mass,
        system.velocity,
        system.body_a[c:],
        system.body_b[c:],
        system.jacobian_a[c:],
        system.jacobian_b[c:],
        system.bias[c:],
        system.slack[:0],
        system.mu[:0],
        system.box,
        system.least_scale,
    )
    blocks = _find_blocks(joints)
    return Operator(joints, blocks, allocate_factor(blocks.structure), np.empty((0, 3)), np.empty(0))


@inner_kernel
def _find_blocks(system):
    """Analyze the contact graph of a `System` and return its `Blocks`."""
    m, structure = system.body_a.size, analyse(system.offset, system.body_a, system.body_b)
    diagonal_a, diagonal_b, between = np.full(m, -1, np.int64), np.full(m, -1, np.int64), np.full(m, -1, np.int64)
    b_is_row = np.zeros(m, np.bool_)
    for k in range(m):
        a, b = system.body_a[k], system.body_b[k]
        if a >= 0:
            diagonal_a[k] = structure.diagonal[structure.rank[a]]
        if b >= 0:
            diagonal_b[k] = structure.diagonal[structure.rank[b]]
        if a >= 0 and b >= 0:
            rank_a, rank_b = structure.rank[a], structure.rank[b]
            b_is_row[k] = rank_b > rank_a
            between[k] = find_block(structure, min(rank_a, rank_b), max(rank_a, rank_b))
    return Blocks(structure, diagonal_a, diagonal_b, between, b_is_row)


@inlined_kernel
def _add_product(block, left, rows, right, columns):
    """Add J^T X to block, where J belongs to the left body and X = D J to the right one."""
    for i in range(rows):
        row = block[i * columns :]
        if columns == 6:
            add_three_rows(row, left[0, i], left[1, i], left[2, i], right)
            continue
        for j in range(columns):
            row[j] += left[0, i] * right[0, j] + left[1, i] * right[1, j] + left[2, i] * right[2, j]


@inlined_kernel
def _weigh(d, jacobian, size, out):
    """Set out[:, :size] := D J of one body."""
    if size == 6:
        weigh_rows(out[0], d[0, 0], d[0, 1], d[0, 2], jacobian)
        weigh_rows(out[1], d[1, 0], d[1, 1], d[1, 2], jacobian)
        weigh_rows(out[2], d[2, 0], d[2, 1], d[2, 2], jacobian)
        return
    for r in range(3):
        for j in range(size):
            out[r, j] = d[r, 0] * jacobian[0, j] + d[r, 1] * jacobian[1, j] + d[r, 2] * jacobian[2, j]


@kernel_part
def _add_triple(lower, upper, operator, k, d, weighed_a, weighed_b):
    """Add J_k^T D J_k to its blocks. Blocks above the diagonal are skipped if there is no storage for them."""
    system, blocks = operator.system, operator.blocks
    a, b = system.body_a[k], system.body_b[k]
    size_a = system.offset[a + 1] - system.offset[a] if a >= 0 else 0
    size_b = system.offset[b + 1] - system.offset[b] if b >= 0 else 0
    ja, jb = system.jacobian_a[k], system.jacobian_b[k]
    if a >= 0:
        _weigh(d, ja, size_a, weighed_a)
        _add_product(lower[blocks.diagonal_a[k] :], ja, size_a, weighed_a, size_a)
    if b >= 0:
        _weigh(d, jb, size_b, weighed_b)
        _add_product(lower[blocks.diagonal_b[k] :], jb, size_b, weighed_b, size_b)
    if a >= 0 and b >= 0:
        of_b, of_a = (lower, upper) if blocks.b_is_row[k] else (upper, lower)
        if of_b.size > 0:
            _add_product(of_b[blocks.between[k] :], jb, size_b, weighed_a, size_a)
        if of_a.size > 0:
            _add_product(of_a[blocks.between[k] :], ja, size_a, weighed_b, size_b)


@leaf_kernel
def _assemble(lower, upper, operator, derivative, weighed_a, weighed_b):
    system, structure = operator.system, operator.blocks.structure
    lower[:] = 0.0
    upper[:] = 0.0
    for j in range(structure.order.size):
        entry, block = structure.diagonal[j], system.block_start[structure.order[j]]
        for i in range(structure.size[j] * structure.size[j]):
            lower[entry + i] = system.mass[block + i]
    for k in range(system.body_a.size):
        d = derivative[k]
        if d[0, 0] != 0.0 or d[1, 1] != 0.0 or d[2, 2] != 0.0:
            _add_triple(lower, upper, operator, k, d, weighed_a, weighed_b)


@inner_kernel
def assemble(operator, derivative, symmetric):
    """Assemble M + J^T D J in the storage of the operator's factor.

    derivative: (m, 3, 3) D. symmetric: True if all D are symmetric; then only blocks on and below the diagonal are stored.
    """
    length, widest = operator.blocks.structure.length, operator.system.jacobian_a.shape[2]
    lower, upper = operator.factor[:length], operator.factor[length : length if symmetric else 2 * length]
    _assemble(lower, upper, operator, derivative, np.empty((3, widest)), np.empty((3, widest)))


@leaf_kernel
def gap_velocity(system, k, v, out):
    """Set out := u_k + c_k for triple k, the relative velocity plus the slack of a contact [m/s]."""
    out[0], out[1], out[2] = relative_velocity(system, k, v)
    if k < system.slack.size:
        out[0] += system.slack[k]


@inlined_kernel
def rows_of_kind(kind, of_joint):
    """Return the range of rows of a triple that belong to a kind: the first row and the row after the last. Joints use all."""
    if of_joint:
        return 0, 3
    return 1 if kind == FRICTION else 0, 1 if kind == CONTACT else 3


@leaf_kernel
def generalised_impulse(system, kind, count, y, out):
    """Set out := J^T y, restricted to the rows of one kind and to the first `count` triples.

    This is N alpha for CONTACT, D beta for FRICTION, and their sum for BOTH, with y = (alpha, beta). Joints use all rows.
    """
    out[:] = 0.0
    for k in range(count):
        first, last = rows_of_kind(kind, k >= system.mu.size)
        n = y[k, 0] if first == 0 else 0.0
        t1, t2 = (y[k, 1], y[k, 2]) if last == 3 else (0.0, 0.0)
        if n != 0.0 or t1 != 0.0 or t2 != 0.0:
            push_bodies(system, k, n, t1, t2, out)


@leaf_kernel
def imbalance(system, kind, y, change, out):
    """Compute the momentum residual M x - J^T y with the rows of one kind, and M^-1 times it.

    y: (m, 3) impulses. change: (n,) velocity change x. out: the two output arrays, (n,) each.
    """
    gradient, back = out
    generalised_impulse(system, kind, y.shape[0], y, back)
    apply_mass(system, change, gradient)
    for i in range(change.size):
        gradient[i] -= back[i]
    apply_inverse_mass(system, gradient, back)


@leaf_kernel
def velocities_of_change(system, kind, change, out):
    """Set out (m, 3) := J x in the rows of one kind, for a velocity change x (n,). Return the largest absolute entry."""
    largest = 0.0
    for k in range(out.shape[0]):
        n, t1, t2 = relative_velocity(system, k, change)
        first, last = rows_of_kind(kind, k >= system.mu.size)
        if first == 0:
            out[k, 0] = n - system.bias[k, 0]
        if last == 3:
            out[k, 1], out[k, 2] = t1 - system.bias[k, 1], t2 - system.bias[k, 2]
        largest = max(largest, abs(out[k, 0]), abs(out[k, 1]), abs(out[k, 2]))
    return largest


@leaf_kernel
def velocity_after(system, base, p, v):
    """Set v := base + M^-1 p."""
    apply_inverse_mass(system, p, v)
    for i in range(v.size):
        v[i] += base[i]


@inner_kernel
def update_velocities(system, state):
    """Set v := v_hat + M^-1 J^T lam of a `State`."""
    momentum = np.empty(state.v.size)
    generalised_impulse(system, BOTH, state.impulse.shape[0], state.impulse, momentum)
    velocity_after(system, system.velocity, momentum, state.v)


@inner_kernel
def measure(operator, acceptable, state):
    """Update the velocities of a state and return its largest natural map [m/s].

    Also returns the number of contacts and joints whose natural map exceeds `acceptable` [m/s].
    """
    update_velocities(operator.system, state)
    impulse, v, kappa = state.impulse, state.v, operator.kappa
    return natural_error_between(operator.system, impulse, v, kappa, 0, 0, kappa.size, acceptable)


@kernel
def measure_each(system, kappa, state):
    """Update the velocities of a state and return the natural map of each contact and joint (m,) [m/s].

    It is 0 for those that cannot move. kappa: (m,) effective masses [kg].
    """
    update_velocities(system, state)
    errors = np.zeros(kappa.size)
    for k in range(errors.size):
        if kappa[k] > 0.0:
            errors[k], _ = natural_error_between(system, state.impulse, state.v, kappa, 0, k, k + 1, np.inf)
    return errors
