# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact problem, which is the input of every solver.

    u = J v + b,   v = v_hat + M^-1 J^T lam        or, with the Delassus operator,   u = G lam + g,  G = J M^-1 J^T
    contact:   0 <= u_n + c  perp  lam_n >= 0
    friction:  lam_t in argmin { y . u_t : |y| <= mu lam_n }        if the contact may stick
               lam = 0 or u_t = 0                                   if mu = inf, so that it cannot slip
               lam_t = -mu_dynamic lam_n d                          if it slides along the given unit vector d
    bilateral: u_b = 0, lam_b of either sign

Contact axes are (n, t1, t2), with n from body A to body B. u is the velocity of B relative to A [m/s]. lam is an impulse [N s].
If u is an acceleration [m/s^2], lam is a force [N].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse, sparray, spmatrix

from ..linalg.small_dense import sparse_product, times
from .delassus import (
    as_bodies,
    factor_by_island,
    require_semidefinite,
    stays_sparse,
    unfactored,
    without_rounding,
)
from .friction import Friction, friction_of
from .given_arrays import (
    body_indices,
    finite_array,
    mass_blocks,
    per_contact,
    square_matrix,
    two_sides,
)
from .rolling import Moments, moments_of, rows_of_moments
from .rounding import Rounded, Rounding, rounding_named
from .small_matrices import SMALL_ROWS, small_system
from .system import System, apply_inverse_mass, relative_velocities, transpose_product

__all__ = ["ContactProblem"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ContactProblem:
    """A contact problem with friction, in two or three dimensions.

    Make one with `from_delassus`, `from_bodies` or `GlobalForm`, which validate their arguments.

    dim: 2 or 3.
    system: the arrays of the compiled kernels.
    mu, mu_dynamic: (m,) coefficients of static and dynamic friction; inf for a contact that cannot slip.
    sliding: (m,) bool, contacts that use the dynamic coefficient.
    direction: (m, dim - 1) unit vectors of the sliding velocity at contacts with a prescribed sliding direction, else zero.
    bilateral: rows (b, n) of J and free velocities (b,) of the bilateral constraints.
    rounded: the original matrix, if its round-off was repaired, else None.
    matrix: the sparse Delassus operator, if an island of it is too large for a dense matrix, else None. The bodies of the
        system do not move in that case.

    The contacts that represent moments come after the other contacts (`problem/rolling.py`).
    """

    dim: int
    system: System
    mu: Floats
    mu_dynamic: Floats
    sliding: NDArray[np.bool_]
    direction: Floats
    bilateral: tuple[Floats, Floats]
    rounded: Rounded | None = None
    matrix: csr_matrix | None = None

    @property
    def contacts(self) -> int:
        """Number of triples m: the contacts, followed by the triples of rows of joints."""
        return self.system.body_a.size

    @property
    def joints(self) -> int:
        """Number of triples of rows of joints j."""
        return len(self.system.box)

    @classmethod
    def of_system(cls, system: System, direction: Floats | None = None) -> ContactProblem:
        """Return the three-dimensional problem of a system.

        direction: (c, 2) unit vectors at contacts with a prescribed sliding direction, zero at the others; None for none.
        """
        directions = np.zeros((system.mu.size, 2)) if direction is None else direction.copy()
        none = np.zeros((0, system.velocity.size)), np.zeros(0)
        return cls(3, system, system.mu, system.mu, np.asarray(directions.any(axis=1)), directions, none)

    @classmethod
    def from_delassus(
        cls,
        G: ArrayLike | spmatrix | sparray,
        g: ArrayLike,
        mu: ArrayLike | Friction,
        dim: int = 3,
        slack: ArrayLike | None = None,
        bilateral: int = 0,
        rounding: Rounding | str = Rounding.REPAIR,
    ) -> ContactProblem:
        """Return the problem with a given Delassus operator, u = G lam + g.

        The rows of a contact are (n, t1, t2) if dim is 3 and (n, t) if dim is 2, followed by those of its moments. The rows of
        bilateral constraints come last.

        G: (m dim + b, m dim + b) symmetric positive semidefinite matrix of any rank, dense or a sparse matrix of scipy.
        g: (m dim + b,) or, if b = 0, (m, dim) free velocities.
        mu: coefficients of friction, a scalar or (m,), or a `Friction`.
        dim: 2 or 3.
        slack: (m,) c of the normal condition; None for 0.
        bilateral: number b of bilateral constraints.
        rounding: whether to repair or refuse a G that was rounded to few digits (`problem/rounding.py`).

        Raises ValueError with the name of the argument and the index.
        """
        if not isinstance(dim, int | np.integer) or dim not in (2, 3):
            raise ValueError(f"dim must be 2 or 3, not {dim!r}")
        if isinstance(bilateral, bool) or not isinstance(bilateral, int | np.integer) or bilateral < 0:
            raise ValueError(f"bilateral must be a whole number of constraints, at least 0, not {bilateral!r}")
        policy, friction, moments = rounding_named(rounding), Friction.of(mu), None
        matrix = square_matrix("G", G)
        rows, each = matrix.shape[0], dim + rows_of_moments(dim, friction.rolling, friction.torsion)
        if rows < bilateral or (rows - bilateral) % each:
            extra = f" - bilateral = {bilateral}" if bilateral else ""
            rows_of_contact = f"dim = {dim}" if each == dim else f"the {each} rows of a contact with its moments"
            raise ValueError(f"G has {rows} rows; rows{extra} is not a multiple of {rows_of_contact}")
        m = (rows - bilateral) // each
        free = finite_array("g", g)
        if free.shape != (rows,) and (bilateral or free.shape != (m, each)):
            wanted = f"({rows},)" if bilateral else f"({rows},) or ({m}, {each})"
            raise ValueError(f"g must have shape {wanted} to match G, not {free.shape}")
        free = free.reshape(-1)
        if each > dim:
            without_rounding(matrix, policy)  # which names entries as they were given
            moments = moments_of(int(dim), m, friction.rolling, friction.torsion)
            matrix, free = moments.in_matrix(matrix, free, bilateral)
            slack = moments.with_own(per_contact("slack", 0.0 if slack is None else slack, m), 0.0)
            m += moments.number
        slacks = per_contact("slack", 0.0 if slack is None else slack, m)
        if bilateral == 0 and not issparse(matrix) and matrix.shape[0] <= SMALL_ROWS and m:
            system, is_one = small_system(np.ascontiguousarray(matrix), int(dim), free, slacks, np.zeros(m))
            if is_one:
                none = np.zeros((0, system.velocity.size)), np.zeros(0)
                return cls._with_friction(int(dim), system, friction, none, moments)
        group = np.concatenate([np.repeat(np.arange(m), dim), np.arange(m, m + bilateral)])
        delassus, rounded = without_rounding(matrix, policy)
        if bilateral == 0 and stays_sparse(delassus, group):
            require_semidefinite(delassus, policy)
            system = unfactored(int(dim), free.reshape(m, dim), slacks)
            none = np.zeros((0, 0)), np.zeros(0)
            problem = cls._with_friction(int(dim), system, friction, none, moments)
            return replace(problem, rounded=rounded, matrix=csr_matrix(delassus))
        factor = factor_by_island(delassus, group, policy)
        if factor.below_zero or rounded is not None:
            asymmetry = 0.0 if rounded is None else rounded.asymmetry
            rounded = Rounded(csr_matrix(matrix), asymmetry, factor.below_zero)
        system = as_bodies(factor, int(dim), free[: m * dim].reshape(m, dim), slacks)
        jacobian_b = (factor.rows_from(m * dim), free[m * dim :])
        problem = cls._with_friction(int(dim), system, friction, jacobian_b, moments)
        return problem if rounded is None else replace(problem, rounded=rounded)

    @classmethod
    def from_bodies(
        cls,
        masses: list[ArrayLike],
        velocity: ArrayLike,
        pairs: tuple[ArrayLike, ArrayLike] | Ints,
        jacobians: tuple[ArrayLike, ArrayLike] | Floats,
        mu: ArrayLike | Friction,
        bias: ArrayLike | None = None,
        slack: ArrayLike | None = None,
        bilateral: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> ContactProblem:
        """Return the problem of bodies with any number of degrees of freedom.

        With rolling or torsion, each contact has additional rows of angular velocities. A body then gets one more degree of
        freedom, which stays at rest, for each of its moments (`problem/rolling.py`).

        masses: one symmetric positive definite (d, d) block per body.
        velocity: (n,) predicted velocity v_hat, where n is the sum of all d.
        pairs: (body_a, body_b), each (m,) indices of bodies, -1 for the world.
        jacobians: (jacobian_a, jacobian_b), each (m, dim, largest d), the contribution of each body to u.
        mu: coefficients of friction, a scalar or (m,), or a `Friction`.
        bias: (m, dim) b; None for 0.
        slack: (m,) c of the normal condition; None for 0.
        bilateral: rows (b, n) of J and their biases, a scalar or (b,), of the constraints J_b v + b_b = 0.

        Raises ValueError with the name of the argument and the index.
        """
        if not isinstance(masses, Sequence | np.ndarray):
            raise ValueError(f"masses must be a row of square matrices, not {masses!r}")
        blocks, inverses = mass_blocks(masses)
        sizes = np.array([block.shape[0] for block in blocks], dtype=np.int64)
        offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        v_hat = finite_array("velocity", velocity).reshape(-1)
        if v_hat.size != offset[-1]:
            raise ValueError(f"velocity must have {offset[-1]} entries to match masses, not {v_hat.size}")
        friction = Friction.of(mu)
        first, second = (body_indices(f"pairs[{i}]", side) for i, side in enumerate(two_sides("pairs", pairs)))
        m = first.size
        for name, index in (("pairs[0]", first), ("pairs[1]", second)):
            if index.shape != (m,):
                raise ValueError(f"{name} must have {m} entries, not shape {index.shape}")
            wrong = np.flatnonzero((index < -1) | (index >= len(blocks)))
            if wrong.size:
                raise ValueError(
                    f"{name}[{wrong[0]}] = {index[wrong[0]]} is no body: there are {len(blocks)}, and -1 is the world"
                )
        same = np.flatnonzero(first == second)
        if same.size:
            raise ValueError(f"pairs[0][{same[0]}] and pairs[1][{same[0]}] are the same body, {first[same[0]]}")
        widest = int(sizes.max(initial=0))
        sides = two_sides("jacobians", jacobians)
        left, right = (finite_array(f"jacobians[{i}]", side) for i, side in enumerate(sides))
        each = left.shape[1] if left.ndim == 3 else 0
        dims = (2, 3) if friction.torsion is None else (3,)
        rows_of = {dim + rows_of_moments(dim, friction.rolling, friction.torsion): dim for dim in dims}
        dim = rows_of.get(each, 0)
        for name, block in (("jacobians[0]", left), ("jacobians[1]", right)):
            if not dim or block.shape != (m, each, widest):
                raise ValueError(f"{name} must have shape ({m}, {' or '.join(map(str, rows_of))}, {widest}), not {block.shape}")
        padded = [np.zeros((m, max(each, 3), widest)) for _ in range(2)]
        for target, block, index in zip(padded, (left, right), (first, second), strict=True):
            width = np.where(index >= 0, sizes[index] if sizes.size else 0, 0)
            target[:, :each] = np.where(np.arange(widest) < width[:, None, None], block, 0.0)
        offset_velocity = np.zeros((m, max(each, 3)))
        if bias is not None:
            bias_array = finite_array("bias", bias)
            if bias_array.shape != (m, each):
                raise ValueError(f"bias must have shape ({m}, {each}), not {bias_array.shape}")
            offset_velocity[:, :each] = bias_array
        flat = [block.ravel() for block in blocks]
        system = System(
            offset=offset,
            block_start=np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64),
            mass=np.concatenate(flat) if flat else np.zeros(0),
            inverse_mass=inverses,
            velocity=v_hat,
            body_a=first,
            body_b=second,
            jacobian_a=padded[0],
            jacobian_b=padded[1],
            bias=offset_velocity,
            slack=per_contact("slack", 0.0 if slack is None else slack, m),
            mu=np.zeros(m),
            box=np.zeros((0, 3, 3)),
            least_scale=0.0,
        )
        rows, biases = (np.zeros((0, v_hat.size)), 0.0) if bilateral is None else two_sides("bilateral", bilateral)
        jacobian_b = finite_array("bilateral[0]", rows)
        if jacobian_b.ndim != 2 or jacobian_b.shape[1] != v_hat.size:
            raise ValueError(f"bilateral[0] must have shape (b, {v_hat.size}) to match velocity, not {jacobian_b.shape}")
        bias_b = per_contact("bilateral[1]", biases, len(jacobian_b))
        free_b, moments = jacobian_b @ v_hat + bias_b, None
        if each > dim:
            moments = moments_of(dim, m, friction.rolling, friction.torsion)
            system, jacobian_b = moments.in_bodies(system, jacobian_b)
        return cls._with_friction(dim, system, friction, (jacobian_b, free_b), moments)

    @classmethod
    def _with_friction(
        cls, dim: int, system: System, friction: Friction, bilateral: tuple[Floats, Floats], moments: Moments | None
    ) -> ContactProblem:
        m = system.body_a.size - (0 if moments is None else moments.number)
        static, dynamic, slides, direction = friction_of(friction, m, dim)
        if moments is not None:
            static, dynamic = moments.with_own(static, 1.0), moments.with_own(dynamic, 1.0)
            slides, direction = moments.with_own(slides, False), moments.with_own(direction, 0.0)
        system = system._replace(mu=np.where(slides, dynamic, static))
        return cls(dim, system, static, dynamic, slides, direction, bilateral)

    @property
    def bilateral_constraints(self) -> int:
        """Number of bilateral constraints b."""
        return self.bilateral[1].size

    @cached_property
    def is_plain(self) -> bool:
        """True if the system describes the whole problem.

        The problem then has no stored or repaired matrix, no bilateral constraints, no prescribed sliding directions and no
        contacts with mu = inf.
        """
        has_more = self.matrix is not None or self.rounded is not None or self.bilateral_constraints
        return not (has_more or self.direction.any() or np.isposinf(self.system.mu).any())

    @property
    def slides_along_given(self) -> NDArray[np.bool_]:
        """(m,) bool, contacts with a prescribed sliding direction, whose friction is -mu lam_n d."""
        return self.direction.any(axis=1)

    @cached_property
    def jacobian(self) -> Floats:
        """Dense J of the contacts, (m dim, n)."""
        system = self.system
        dense = np.zeros((self.contacts, self.dim, system.offset[-1]))
        for index, block in ((system.body_a, system.jacobian_a), (system.body_b, system.jacobian_b)):
            for k, body in enumerate(index):
                if body >= 0:
                    begin, end = system.offset[body], system.offset[body + 1]
                    dense[k, :, begin:end] += block[k, : self.dim, : end - begin]
        return dense.reshape(self.contacts * self.dim, system.offset[-1])

    @cached_property
    def inverse_mass(self) -> Floats:
        """Dense M^-1, (n, n)."""
        system = self.system
        dense = np.zeros((system.velocity.size, system.velocity.size))
        for body in range(system.offset.size - 1):
            begin, end = system.offset[body], system.offset[body + 1]
            block = system.inverse_mass[system.block_start[body] : system.block_start[body + 1]]
            dense[begin:end, begin:end] = block.reshape(end - begin, end - begin)
        return dense

    @cached_property
    def delassus(self) -> Floats:
        """Dense G = J M^-1 J^T, (m dim + b, m dim + b), bilateral constraints last."""
        if self.matrix is not None:
            return self.matrix.toarray()
        rows = np.vstack([self.jacobian, self.bilateral[0]])
        return sparse_product(sparse_product(rows, self.inverse_mass), np.ascontiguousarray(rows.T))

    def velocity_after(self, impulse: Floats, bilateral: Floats) -> Floats:
        """Return v = v_hat + M^-1 J^T lam, (n,), for impulses of contacts (m, dim) and of bilateral constraints (b,)."""
        padded = np.zeros((self.contacts, 3))
        padded[:, : self.dim] = impulse
        momentum = times(np.ascontiguousarray(self.bilateral[0].T), bilateral)
        transpose_product(self.system, padded, momentum)
        v = np.empty_like(momentum)
        apply_inverse_mass(self.system, momentum, v)
        return v + self.system.velocity

    @cached_property
    def free_velocity(self) -> Floats:
        """Relative velocities without impulses, g = J v_hat + b, (m, dim) [m/s]."""
        return relative_velocities(self.system, self.system.velocity)[:, : self.dim]
