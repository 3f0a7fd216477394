# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems in which each cluster of bonded bodies is one rigid body.

The problem of all bodies is reduced to the velocities that intact bonds leave free (`bond_graph.py`). After the solve, the
solution is extended to all bodies and bonds. A wall of many pieces therefore costs as much as one block, and no compliance of
bonds delays their loads. Rows that act within one cluster move nothing and are left out. Bonds that break have given impulses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ...linalg.in_order import product
from ...linalg.mat3 import inverses
from ...problem.result import WORST_FIRST, Found, Status
from ...problem.system import System, apply_mass, relative_velocity
from ...solvers.block_operator import State, update_velocities
from ..model.bodies import RIGID
from .bond_graph import BondGraph
from .islands import Again, Error, Outcomes, island_of_each, not_begun
from .moments import Moments
from .shared_contacts import shared_impulses

__all__ = ["Bonds", "Clustered"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

CLOSED = 1e-2  # fraction of the speed that gravity gives in a step; contacts that open no faster may carry load


@dataclass(frozen=True)
class Bonds:
    """The bonds of a step with t triples of rows of joints.

    graph: of the intact bonds. intact: (t,) which triples belong to them. lost: (t,) triples of bonds that break. transmitted:
    (t, 3) N s, the impulses of the bonds that break. play: (t,) m/s, at which prescribed motion may separate the ends of an
    intact bond without a load. h: s, the step.
    """

    graph: BondGraph
    intact: Flags
    lost: Flags
    transmitted: Floats
    play: Floats
    h: float


@dataclass(frozen=True)
class Clustered:
    """A system with one body for each cluster, beside the system of all bodies.

    bonds: of the step. whole: the system of all bodies; its last triples are those of the joints. system: the reduced one.
    kept: (m',) triples of rows of the whole system that the reduced one keeps. body: (bodies,) the index of each body in the
    reduced system, -1 in clusters with prescribed motion. lever: (bodies, 3) m, from the center of mass of the cluster to that
    of the body. motion: (bodies, 6) m/s and rad/s, w of `bond_graph.py`. source: (dof',) degrees of freedom of the first body
    of each cluster in the whole system.
    """

    bonds: Bonds
    whole: System
    system: System
    kept: Ints
    body: Ints
    lever: Floats
    motion: Floats
    source: Ints

    @staticmethod
    def of(whole: System, bonds: Bonds) -> Clustered:
        """Reduce a system."""
        graph, bodies = bonds.graph, len(whole.offset) - 1
        first = len(whole.body_a) - len(bonds.intact)
        intact, lost = (first + np.flatnonzero(which) for which in (bonds.intact, bonds.lost))
        leads = (graph.cluster == np.arange(bodies)) & ~graph.is_led
        number = np.where(leads, np.cumsum(leads) - 1, -1)
        body = np.where(graph.is_led, -1, number[graph.cluster])
        lever = levers(graph, whole.mass[whole.block_start[:-1]])
        motion = graph.moved(whole.bias[intact])
        # All bodies with prescribed motion count as one.
        label = np.append(np.where(graph.is_led, -1, graph.cluster), -1)
        keeps = label[whole.body_a] != label[whole.body_b]
        keeps[intact], keeps[lost] = False, False
        kept = np.flatnonzero(keeps)
        size = (whole.offset[1:] - whole.offset[:-1])[leads]
        source = expanded(whole.offset[:-1][leads], size)
        out = Clustered(bonds, whole, whole, kept, body, lever, motion, source)
        return out._with_system(size, expanded(whole.block_start[:-1][leads], size * size), lost, first)

    def _with_system(self, size: Ints, entries: Ints, lost: Ints, first: int) -> Clustered:
        """Return a copy with the reduced system.

        size: (bodies',) the sizes of its mass blocks. entries: (k,) where the mass matrix of the whole system has these blocks;
        those of clusters are replaced. lost: rows of bonds that break. first: the first row of joints.
        """
        whole, kept = self.whole, self.kept
        given = np.zeros((len(whole.body_a), 3))
        given[lost] = self.bonds.transmitted[lost - first]
        pushed = velocities_of(whole, given)
        start = np.concatenate([[0], np.cumsum(size * size)]).astype(np.int64)
        mass, inverse_mass, velocity = whole.mass[entries], whole.inverse_mass[entries], pushed[self.source]
        clusters, tensors = self._mass_of_clusters()
        blocks = start[clusters][:, None] + np.arange(RIGID * RIGID)
        mass[blocks], inverse_mass[blocks] = (tensor.reshape(-1, RIGID * RIGID) for tensor in tensors)
        offset = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        momentum = self._gathered(self._momentum(pushed))
        velocity[offset[clusters][:, None] + np.arange(RIGID)] = product(tensors[1], momentum[clusters][..., None])[..., 0]
        contacts = kept < len(whole.mu)
        ends = np.append(self.body, -1)
        system = whole._replace(
            offset=offset,
            block_start=start,
            mass=mass,
            inverse_mass=inverse_mass,
            velocity=velocity,
            body_a=ends[whole.body_a[kept]],
            body_b=ends[whole.body_b[kept]],
            jacobian_a=self._carried(whole.body_a[kept], whole.jacobian_a[kept]),
            jacobian_b=self._carried(whole.body_b[kept], whole.jacobian_b[kept]),
            bias=whole.bias[kept] + self._known(whole.body_a, whole.jacobian_a) + self._known(whole.body_b, whole.jacobian_b),
            slack=whole.slack[kept[contacts]],
            mu=whole.mu[kept[contacts]],
            box=whole.box[kept[~contacts] - len(whole.mu)],
        )
        return Clustered(self.bonds, whole, system, kept, self.body, self.lever, self.motion, self.source)

    @property
    def _bonded(self) -> Ints:
        """The bodies in free clusters."""
        graph = self.bonds.graph
        return np.flatnonzero(graph.is_bonded & ~graph.is_led)

    def _mass_of_clusters(self) -> tuple[Ints, tuple[Floats, Floats]]:
        """Return the indices of clusters in the reduced system (c,), their mass matrices (c, 6, 6), and the inverses."""
        bonded, whole = self._bonded, self.whole
        clusters, place = np.unique(self.body[bonded], return_inverse=True)
        own = whole.mass[whole.block_start[bonded][:, None] + np.arange(RIGID * RIGID)].reshape(-1, RIGID, RIGID)
        mass, r = own[:, 0, 0], self.lever[bonded]
        inertia = own[:, 3:, 3:] - mass[:, None, None] * product(cross_matrices(r), cross_matrices(r))
        total, tensor = np.zeros(len(clusters)), np.zeros((len(clusters), 3, 3))
        np.add.at(total, place, mass)
        np.add.at(tensor, place, inertia)
        tensors = np.zeros((2, len(clusters), RIGID, RIGID))
        tensors[0, :, range(3), range(3)], tensors[1, :, range(3), range(3)] = total, 1.0 / total
        tensors[0, :, 3:, 3:], tensors[1, :, 3:, 3:] = tensor, inverses(tensor)
        return clusters, (tensors[0], tensors[1])

    def _momentum(self, v: Floats) -> Floats:
        """Return (bodies, 6) the momentum of the bodies in clusters at velocities v (dof,) relative to w; 0 for others."""
        bonded, out = self._bonded, np.zeros((len(self.body), RIGID))
        relative = v[self.whole.offset[bonded][:, None] + np.arange(RIGID)] - self.motion[bonded]
        own = self.whole.mass[self.whole.block_start[bonded][:, None] + np.arange(RIGID * RIGID)]
        out[bonded] = product(own.reshape(-1, RIGID, RIGID), relative[..., None])[..., 0]
        return out

    def _gathered(self, momentum: Floats) -> Floats:
        """Return (bodies', 6) the momentum of clusters about their centers of mass, from those of bodies (bodies, 6)."""
        out, bonded = np.zeros((int(self.body.max(initial=-1)) + 1, RIGID)), self._bonded
        carried = momentum[bonded].copy()
        carried[:, 3:] += np.cross(self.lever[bonded], carried[:, :3])
        np.add.at(out, self.body[bonded], carried)
        return out

    def _carried(self, ends: Ints, jacobian: Floats) -> Floats:
        """Return the Jacobians (m', 3, .) of clusters, from those of the bodies at one end of the rows, `ends` (m',)."""
        out = jacobian.copy()
        out[..., 3:RIGID] += np.cross(np.append(self.lever, [[0.0] * 3], axis=0)[ends][:, None], jacobian[..., :3])
        out[np.append(self.body, -1)[ends] < 0] = 0.0
        return out

    def _known(self, ends: Ints, jacobian: Floats) -> Floats:
        """Return (m', 3) m/s, the velocities of the kept rows at one end due to w."""
        motion = np.append(self.motion, [[0.0] * RIGID], axis=0)[ends[self.kept]]
        return product(jacobian[self.kept][..., :RIGID], motion[..., None])[..., 0]

    def bears(self, moments: Moments) -> NDArray[np.bool_]:
        """Return (k,) which moments belong to kept contacts."""
        return np.isin(moments.contact, self.kept)

    def moments(self, moments: Moments, which: NDArray[np.bool_]) -> Moments:
        """Return the moments `which` (k,), of kept contacts, with respect to the bodies of the reduced system."""
        at = np.full(len(self.whole.body_a), -1, np.int64)
        at[self.kept] = np.arange(len(self.kept))
        some, ends = Moments._make(array[which] for array in moments), []
        bias = some.bias
        for of, given in ((self.whole.body_a, some.of_a), (self.whole.body_b, some.of_b)):
            body = of[some.contact]
            motion = np.append(self.motion, [[0.0] * RIGID], axis=0)[body]
            bias = bias + product(given, motion[..., None])[..., 0]
            # Rows of moments depend on angular velocities only, and a cluster has the angular velocity of its bodies.
            ends.append(np.where((np.append(self.body, -1)[body] < 0)[:, None, None], 0.0, given))
        return some._replace(contact=at[some.contact], of_a=ends[0], of_b=ends[1], bias=bias)

    def gathered_velocities(self, v: Floats) -> Floats:
        """Return (dof',) the velocities of the reduced system with the same momentum as velocities v (dof,)."""
        out, momentum = v[self.source], self._gathered(self._momentum(v))
        clusters, (_, inverse) = self._mass_of_clusters()
        out[self.system.offset[clusters][:, None] + np.arange(RIGID)] = product(inverse, momentum[clusters][..., None])[..., 0]
        return out

    def velocities(self, v: Floats) -> Floats:
        """Return (dof,) the velocities of all bodies, from those of the reduced system (dof',)."""
        graph, whole = self.bonds.graph, self.whole
        out = np.empty(len(whole.velocity))
        out[self.source] = v
        bonded, led = self._bonded, np.flatnonzero(graph.is_led)
        twist = v[self.system.offset[self.body[bonded]][:, None] + np.arange(RIGID)]
        twist[:, :3] += np.cross(twist[:, 3:], self.lever[bonded])
        out[whole.offset[bonded][:, None] + np.arange(RIGID)] = twist + self.motion[bonded]
        out[whole.offset[led][:, None] + np.arange(RIGID)] = self.motion[led]
        return out

    def impulses(self, v: Floats, impulse: Floats) -> Floats:
        """Return (m, 3) N s, the impulses of all rows.

        They are the impulses of the reduced system (m', 3), those of the bonds that break, and the loads of the intact bonds at
        velocities v (dof,) of all bodies.
        """
        whole, bonds = self.whole, self.bonds
        first = len(whole.body_a) - len(bonds.intact)
        out = np.zeros((len(whole.body_a), 3))
        out[self.kept] = impulse
        out[first:][bonds.lost] = bonds.transmitted[bonds.lost]
        graph, shared = bonds.graph, out.copy()
        shared[self.kept] = self._shared(v, impulse)
        bodies = np.flatnonzero(graph.is_bonded)
        missing = mass_times(whole, v - velocities_of(whole, shared))
        loads = np.zeros((len(self.body), RIGID))
        loads[bodies] = missing[whole.offset[bodies][:, None] + np.arange(RIGID)]
        loads -= self._unbalanced(loads)
        apart = graph.product(self.motion) + whole.bias[first:][bonds.intact]
        led = graph.is_led[np.maximum(graph.body_a, graph.body_b)]
        apart[~(led & (np.abs(apart).max(axis=1) > bonds.play[bonds.intact]))] = 0.0
        out[first:][bonds.intact] = graph.loads(loads) - bonds.h * bonds.h * graph.stiffness * apart
        return out

    def _shared(self, v: Floats, impulse: Floats) -> Floats:
        """Return the impulses (m', 3) N s of the kept rows, with the contacts of clusters sharing load like equal springs.

        v: (dof,) the velocities of all bodies. impulse: (m', 3) N s, before sharing.
        """
        system, whole, contacts = self.system, self.whole, len(self.system.mu)
        is_rigid = np.append(np.diff(system.offset) == RIGID, True)
        is_cluster = np.zeros(len(is_rigid), np.bool_)
        is_cluster[self.body[self._bonded]] = True
        a, b = system.body_a[:contacts], system.body_b[:contacts]
        chosen = (is_cluster[a] | is_cluster[b]) & is_rigid[a] & is_rigid[b]
        pairs, number = np.unique(a * len(is_rigid) + b, return_inverse=True)
        kept = self.kept[:contacts]
        opens = whole.slack[kept] + relative_normal_velocities(whole, v)[kept]
        closed = (opens <= CLOSED * system.least_scale) | (impulse[:contacts, 0] > 0.0)
        of_a, of_b = (given[:contacts, :, :RIGID] for given in (system.jacobian_a, system.jacobian_b))
        rows = np.where((b >= 0)[:, None, None], of_b, of_a)
        out = impulse.copy()
        pair = np.where(chosen, number.reshape(-1), -1)
        out[:contacts] = shared_impulses(rows, pair, len(pairs), closed, np.ascontiguousarray(impulse[:contacts]))
        return out

    def _unbalanced(self, loads: Floats) -> Floats:
        """Return (bodies, 6) the part of impulses (bodies, 6) that changes the momentum of free clusters.

        It is not due to rows: it comes from moments, such as rolling friction, and from rounding.
        """
        bonded, out = self._bonded, np.zeros_like(loads)
        clusters, (_, inverse) = self._mass_of_clusters()
        of_clusters = np.zeros((len(self.system.offset) - 1, RIGID))
        gathered = self._gathered(loads)
        of_clusters[clusters] = product(inverse, gathered[clusters][..., None])[..., 0]
        twist = of_clusters[self.body[bonded]]
        twist[:, :3] += np.cross(twist[:, 3:], self.lever[bonded])
        own = self.whole.mass[self.whole.block_start[bonded][:, None] + np.arange(RIGID * RIGID)]
        out[bonded] = product(own.reshape(-1, RIGID, RIGID), twist[..., None])[..., 0]
        return out

    def asked(self, of_bodies: NDArray, bonded: NDArray) -> NDArray:
        """Return (bodies',) a requested value of each body of the reduced system.

        of_bodies: (bodies,) for bodies without bonds. bonded: (bodies,) for clusters, of which the first body counts.
        """
        graph = self.bonds.graph
        of_bodies = np.where(graph.is_bonded, bonded, of_bodies)
        leads = (graph.cluster == np.arange(len(self.body))) & ~graph.is_led
        return of_bodies[leads]

    def again(self, again: Again) -> tuple[Again, Ints]:
        """Return `Again` of the reduced system, and (islands',) the island of the whole system that contains each of its
        islands. again: of the whole system."""
        island, _ = island_of_each(self.whole)
        part, count = island_of_each(self.system)
        whose = np.zeros(count, np.int64)
        whose[part] = island[self.kept]
        velocity = self.gathered_velocities(again.v) if len(again.v) else self.system.velocity.copy()
        return Again(np.flatnonzero(np.isin(whose, again.which)), velocity, not_begun(count)), whose

    def take_outcomes(self, of_reduced: Outcomes, solved: Ints, whose: Ints, again: Again) -> None:
        """Update the outcomes of the islands of the whole system from those of the solved islands (k,) of the reduced one."""
        which, out = again.which, again.outcomes
        out.status[which], out.iterations[which], out.found[which] = Status.SOLVED, 1, Found.START
        out.worst_contact[which], out.errors[which] = -1, 0.0
        out.factorisations[:] = 0
        for i in solved.tolist():
            at = whose[i]
            out.status[at] = min((int(out.status[at]), int(of_reduced.status[i])), key=WORST_FIRST.index)
            out.iterations[at] = max(out.iterations[at], of_reduced.iterations[i])
            out.factorisations[at] += of_reduced.factorisations[i]
            out.found[at] = max(out.found[at], of_reduced.found[i])
            if of_reduced.errors[i, Error.WORST] >= out.errors[at, Error.WORST] and of_reduced.worst_contact[i] >= 0:
                out.worst_contact[at] = self.kept[of_reduced.worst_contact[i]]
            residual = out.errors[at, Error.RESIDUAL] + of_reduced.errors[i, Error.RESIDUAL]
            out.errors[at] = np.maximum(out.errors[at], of_reduced.errors[i])
            out.errors[at, Error.RESIDUAL] = residual


def levers(graph: BondGraph, mass: Floats) -> Floats:
    """Return (n, 3) m, from the center of mass of each body's cluster to that of the body. mass: (n,) kg."""
    total = np.bincount(graph.cluster, weights=mass, minlength=len(mass))
    moment = np.stack([np.bincount(graph.cluster, weights=mass * x, minlength=len(mass)) for x in graph.position.T], axis=1)
    center = np.divide(moment, total[:, None], out=np.zeros_like(moment), where=total[:, None] > 0.0)
    return np.where(graph.is_bonded[:, None], graph.position - center[graph.cluster], 0.0)


def expanded(first: Ints, size: Ints) -> Ints:
    """Return the concatenated ranges that start at `first` (k,) and have the lengths `size` (k,)."""
    begin = np.cumsum(size) - size
    return np.arange(int(size.sum())) + np.repeat(first - begin, size)


def cross_matrices(r: Floats) -> Floats:
    """Return (n, 3, 3) the cross product matrices [r] of vectors (n, 3)."""
    out = np.zeros((len(r), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -r[:, 2], r[:, 1], -r[:, 0]
    return out - out.swapaxes(1, 2)


@kernel
def velocities_of(system, impulse):
    """Return (n,) the velocities of a system with impulses (m, 3) of its rows."""
    v = np.empty(system.velocity.size)
    update_velocities(system, State(impulse, v))
    return v


@kernel
def relative_normal_velocities(system, v):
    """Return (m,) m/s, the first component of each triple of relative velocities, at velocities v (n,)."""
    out = np.empty(system.body_a.size)
    for k in range(out.size):
        out[k], _, _ = relative_velocity(system, k, v)
    return out


@kernel
def mass_times(system, v):
    """Return (n,) the product M v."""
    out = np.empty(v.size)
    apply_mass(system, v, out)
    return out
