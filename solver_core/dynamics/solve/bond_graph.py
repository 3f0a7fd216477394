# SPDX-License-Identifier: GPL-3.0-or-later
"""The bonds between the bodies of a step as an elastic frame: the clusters that move as one body, and the loads of bonds.

Bodies that intact bonds connect are a cluster, which moves as one rigid body. Its bonds are equality constraints J v + b = 0,
and the velocities that satisfy them are those of a rigid body and one solution w of them:

    v_i = T_i v_c + w_i,    T_i = [[1, -[r_i]], [0, 1]],    r_i from the center of mass of the cluster to that of body i.

The impulses f that the bonds have to transmit to the bodies follow from the motion. If there are several load paths through the
bonds, they share the load as an elastic frame does: with the stiffness S of each row, the impulses with J^T lam = f and the
least energy sum lam^2 / (2 S) are

    lam = S J y,    J^T S J y = f,

and the same matrix gives w, the solution of J^T S J w = -J^T S b. One body of each free cluster is fixed in both, since f is
in equilibrium. A cluster with a bond to a body that the solver does not move, or to the world, has prescribed motion ("led").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import TRUE, kernel
from ...linalg.block_cholesky import factorise
from ...linalg.block_triangular import solve_in_place
from ...linalg.disjoint_sets import connected
from ...linalg.in_order import product
from ...problem.system import System
from ...solvers.block_operator import Operator, assemble, operator_of
from ..joints.rows import JointRows
from ..model.bodies import RIGID

__all__ = ["BondGraph"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class BondGraph:
    """The intact bonds between n bodies that the solver moves. They do not change while a step is solved.

    body_a, body_b: (k,) the bodies of each triple of rows, -1 for the world and for bodies that the solver does not move.
    jacobian_a, jacobian_b: (k, 3, 6). stiffness: (k, 3) of each row. position: (n, 3) m.
    """

    body_a: Ints
    body_b: Ints
    jacobian_a: Floats
    jacobian_b: Floats
    stiffness: Floats
    position: Floats

    @staticmethod
    def of(rows: JointRows, intact: Flags, stiffness: Floats, position: Floats) -> BondGraph:
        """Build the graph from the rows of joints (t,) that are intact bonds. stiffness: (t, 3). position: (n, 3) m."""
        of_a = np.ascontiguousarray(rows.jacobian_a[intact][:, :, :RIGID])
        of_b = np.ascontiguousarray(rows.jacobian_b[intact][:, :, :RIGID])
        return BondGraph(rows.body_a[intact], rows.body_b[intact], of_a, of_b, stiffness[intact], position)

    @cached_property
    def cluster(self) -> Ints:
        """(n,) the first body of the cluster of each body."""
        n = len(self.position)
        both = (self.body_a >= 0) & (self.body_b >= 0)
        return connected(n, np.ones(n, np.bool_), self.body_a[both], self.body_b[both])

    @cached_property
    def is_led(self) -> Flags:
        """(n,) which bodies are in a cluster with a bond to the world or to a body that the solver does not move."""
        n = len(self.position)
        world = (self.body_a < 0) | (self.body_b < 0)
        led = np.zeros(n, np.bool_)
        led[self.cluster[np.maximum(self.body_a, self.body_b)[world]]] = True
        return led[self.cluster]

    @cached_property
    def is_bonded(self) -> Flags:
        """(n,) which bodies have intact bonds."""
        out = np.zeros(len(self.position), np.bool_)
        for ends in (self.body_a, self.body_b):
            out[ends[ends >= 0]] = True
        return out

    @cached_property
    def _is_fixed(self) -> Flags:
        """(n,) the bodies that are fixed in J^T S J: those without bonds, and one of each free cluster."""
        first = self.cluster == np.arange(len(self.position))
        return ~self.is_bonded | (first & ~self.is_led)

    @cached_property
    def _operator(self) -> Operator:
        """J^T S J with its factor."""
        n, fixed = len(self.position), np.append(self._is_fixed, True)
        identity = np.where(self._is_fixed[:, None, None], np.eye(RIGID), 0.0).ravel()
        ends = [np.where(fixed[ends], -1, ends) for ends in (self.body_a, self.body_b)]
        system = System(
            offset=RIGID * np.arange(n + 1, dtype=np.int64),
            block_start=RIGID**2 * np.arange(n + 1, dtype=np.int64),
            mass=identity,
            inverse_mass=identity,
            velocity=np.zeros(RIGID * n),
            body_a=ends[0],
            body_b=ends[1],
            jacobian_a=self.jacobian_a,
            jacobian_b=self.jacobian_b,
            bias=np.zeros((len(self.body_a), 3)),
            slack=np.zeros(0),
            mu=np.zeros(0),
            box=np.zeros((len(self.body_a), 3, 3)),
            least_scale=0.0,
        )
        weights = np.zeros((len(self.stiffness), 3, 3))
        weights[:, range(3), range(3)] = self.stiffness
        return factorised(system, weights)

    def solve(self, right: Floats) -> Floats:
        """Solve J^T S J x = right (n, 6) with one step of iterative refinement. Returns x (n, 6), 0 for fixed bodies."""
        out = self._solved(right)
        back = self.transposed(self.stiffness * self.product(out))
        return out + self._solved(right - back)

    def _solved(self, right: Floats) -> Floats:
        x = np.where(self._is_fixed[:, None], 0.0, right)
        flat = np.ascontiguousarray(x).ravel()
        back_substituted(self._operator, flat)
        return flat.reshape(-1, RIGID)

    def product(self, x: Floats) -> Floats:
        """Return (k, 3) the product J x with motions x (n, 6)."""
        x = np.concatenate([x, np.zeros((1, RIGID))])
        of_a, of_b = x[self.body_a][..., None], x[self.body_b][..., None]
        return (product(self.jacobian_a, of_a) + product(self.jacobian_b, of_b))[..., 0]

    def transposed(self, impulse: Floats) -> Floats:
        """Return (n, 6) the product of J^T with impulses (k, 3)."""
        out = np.zeros((len(self.position) + 1, RIGID))
        for ends, jacobian in ((self.body_a, self.jacobian_a), (self.body_b, self.jacobian_b)):
            np.add.at(out, ends, product(impulse[:, None, :], jacobian)[:, 0])
        return out[:-1]

    def moved(self, bias: Floats) -> Floats:
        """Return (n, 6) m/s and rad/s, motions w with J w + b = 0.

        If prescribed motions conflict, w has the least sum of S (J w + b)^2. bias: (k, 3) m/s, b.
        """
        return self.solve(-self.transposed(self.stiffness * bias))

    def loads(self, impulse: Floats) -> Floats:
        """Return (k, 3) N s, the impulses of the bonds that transmit impulses (n, 6) N s and N m s to the bodies."""
        return self.stiffness * self.product(self.solve(impulse))


@kernel
def factorised(system, weights):
    """Return the `Operator` of a system with the factor of M + J^T D J. weights: (m, 3, 3) D, symmetric."""
    operator = operator_of(system)
    assemble(operator, weights, TRUE)
    factorise(operator.blocks.structure, operator.factor)
    return operator


@kernel
def back_substituted(operator, x):
    """x := H^-1 x, with the factorized matrix H of an operator."""
    solve_in_place(operator.blocks.structure, operator.factor, x)
