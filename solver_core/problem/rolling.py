# SPDX-License-Identifier: GPL-3.0-or-later
"""Rolling and torsional friction as additional contacts, which all solvers can treat like the others.

A contact may transmit moments: torsion about its normal, and one in its plane against rolling. Each of them dissipates as much
    as possible within a bound that grows with the normal impulse (Acary and Bourrier 2021, "Coulomb friction with rolling
    resistance as a cone complementarity problem"):

    moment in argmin { y . omega : |y| <= length lam_n },     omega the angular velocity of B relative to A, length in m

With rows length omega [m/s] and moment / length [N s], this is friction with mu = 1 and the normal impulse lam_n. Let a
particle of mass p be between two contacts. The original contact acts on it, and it acts on an additional contact whose tangents
are these rows:

    u_n' = v,    p v = lam_n' - lam_n,    u_n smaller by v

Because 0 <= v perp lam_n' >= 0, the particle never moves: v > 0 would require lam_n' = 0, hence v <= 0. So lam_n' = lam_n, u_n
is unchanged, and the problem is exactly the one above, for every method and every program that solves contacts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

from .given_arrays import per_contact
from .system import System, effective_inverse_mass

__all__ = ["Moments", "moments_of", "rows_of_moments"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Moments(NamedTuple):
    """The k moments of m contacts: first the torsion of all contacts, then the rolling of all, if they are given.

    dim: 2 or 3.
    contact: (k,) contact of each moment. length: (k,) its length [m].
    row: (k,) its first row among the rows of its contact. rows: (k,) number of its rows.
    each: number of rows of a contact with its moments.
    """

    dim: int
    contact: Ints
    length: Floats
    row: Ints
    rows: Ints
    each: int

    @property
    def number(self) -> int:
        """Number of moments k."""
        return len(self.contact)

    def with_own(self, of_contacts: Any, own: float | bool) -> Any:
        """Return values of contacts (m, ...), followed by `own` for each moment."""
        more = np.full((self.number, *of_contacts.shape[1:]), own, dtype=of_contacts.dtype)
        return np.concatenate([of_contacts, more])

    def in_matrix(self, matrix: Any, free: Floats, bilateral: int) -> tuple[Any, Floats]:
        """Return a Delassus operator and its free velocities with the additional contacts of the moments.

        matrix: operator of contacts of `each` rows, followed by the bilateral constraints.
        free: free velocities of the same rows [m/s].
        bilateral: number of bilateral constraints.

        In the result each contact has `dim` rows, and the contacts of the moments come before the bilateral constraints.
        """
        contacts = (len(free) - bilateral) // self.each
        total = contacts + self.number
        rows, columns, values = [], [], []
        for axis in range(self.dim):
            rows.append(self.dim * np.arange(contacts) + axis)
            columns.append(self.each * np.arange(contacts) + axis)
            values.append(np.ones(contacts))
        for axis in range(2):
            mine = np.flatnonzero(self.rows > axis)
            rows.append(self.dim * (contacts + mine) + 1 + axis)
            columns.append(self.each * self.contact[mine] + self.row[mine] + axis)
            values.append(self.length[mine])
        rows.append(self.dim * total + np.arange(bilateral))
        columns.append(self.each * contacts + np.arange(bilateral))
        values.append(np.ones(bilateral))
        shape = (self.dim * total + bilateral, len(free))
        place = (np.concatenate(rows), np.concatenate(columns))
        chosen = csr_matrix((np.concatenate(values), place), shape=shape)
        # The particle has the inverse mass of its contact along the normal.
        normal = np.asarray(matrix.diagonal())[self.each * self.contact]
        size = np.sqrt(np.where(normal > 0.0, normal, 1.0))
        own = np.arange(self.number)
        ends = np.concatenate([self.dim * self.contact, self.dim * (contacts + own)]), np.tile(own, 2)
        between = csr_matrix((np.concatenate([-size, size]), ends), shape=(shape[0], self.number))
        extended = csr_matrix(chosen @ csr_matrix(matrix) @ chosen.T + between @ between.T)
        return extended if issparse(matrix) else extended.toarray(), chosen @ free

    def in_bodies(self, system: System, bilateral: Floats) -> tuple[System, Floats]:
        """Return a system, and Jacobians of bilateral constraints, with the additional contacts of the moments.

        A particle is an additional degree of freedom of body B, or of body A if B is the world.

        system: its Jacobians and biases have all rows of its contacts, `each` per contact.
        bilateral: (b, n) Jacobians of bilateral constraints.
        """
        holder = np.where(system.body_b >= 0, system.body_b, system.body_a)[self.contact]
        free = holder < 0  # a contact of the world with itself has no particle
        sizes = np.diff(system.offset)
        more = np.bincount(holder[~free], minlength=len(sizes)).astype(np.int64)
        widest = int((sizes + more).max(initial=0))
        place = np.zeros(self.number, dtype=np.int64)
        for body in np.flatnonzero(more):
            mine = np.flatnonzero(holder == body)
            place[mine] = sizes[body] + np.arange(mine.size)
        m, total = len(system.body_a), len(system.body_a) + self.number
        jacobians, bias = [], np.zeros((total, 3))
        bias[:m, : self.dim] = system.bias[:, : self.dim]
        for given in (system.jacobian_a, system.jacobian_b):
            rows = np.zeros((total, 3, widest))
            rows[:m, : self.dim, : given.shape[2]] = given[:, : self.dim]
            jacobians.append(rows)
        for k in range(self.number):
            contact, first = self.contact[k], self.row[k]
            for axis in range(self.rows[k]):
                for target, given in zip(jacobians, (system.jacobian_a, system.jacobian_b), strict=True):
                    target[m + k, 1 + axis, : given.shape[2]] = self.length[k] * given[contact, first + axis]
                bias[m + k, 1 + axis] = self.length[k] * system.bias[contact, first + axis]
        forces = [np.ascontiguousarray(given[:, :3]) for given in (system.jacobian_a, system.jacobian_b)]
        plain = system._replace(jacobian_a=forces[0], jacobian_b=forces[1], bias=np.ascontiguousarray(system.bias[:, :3]))
        normal = effective_inverse_mass(plain)[self.contact, 0]
        inverse = np.where(normal > 0.0, normal, 1.0)
        for k in np.flatnonzero(~free):
            side = jacobians[1 if system.body_b[self.contact[k]] >= 0 else 0]
            side[self.contact[k], 0, place[k]] -= 1.0
            side[m + k, 0, place[k]] += 1.0
        offset = np.concatenate([[0], np.cumsum(sizes + more)]).astype(np.int64)
        columns = np.concatenate([np.zeros(0, np.int64), *(offset[i] + np.arange(n) for i, n in enumerate(sizes))])
        velocity = np.zeros(int(offset[-1]))
        velocity[columns] = system.velocity
        held = np.zeros((len(bilateral), velocity.size))
        held[:, columns] = bilateral
        extended = system._replace(
            offset=offset,
            block_start=np.concatenate([[0], np.cumsum((sizes + more) ** 2)]).astype(np.int64),
            mass=_wider(system.mass, sizes, holder, 1.0 / inverse),
            inverse_mass=_wider(system.inverse_mass, sizes, holder, inverse),
            velocity=velocity,
            body_a=np.concatenate([system.body_a, system.body_a[self.contact]]),
            body_b=np.concatenate([system.body_b, system.body_b[self.contact]]),
            jacobian_a=jacobians[0],
            jacobian_b=jacobians[1],
            bias=bias,
            slack=self.with_own(system.slack, 0.0),
            mu=self.with_own(system.mu, 0.0),
        )
        return extended, held


def _wider(blocks: Floats, sizes: Ints, holder: Ints, of_particle: Floats) -> Floats:
    """Return concatenated diagonal blocks, each extended by the entries of the particles of its body.

    blocks: concatenated entries. sizes: (bodies,) sizes of the blocks. holder: (k,) body of each particle.
    of_particle: (k,) diagonal entry of each particle.
    """
    out, start = [np.zeros(0)], 0
    for body, size in enumerate(sizes):
        own = of_particle[holder == body]
        block = np.zeros((size + own.size,) * 2)
        block[:size, :size] = blocks[start : start + size**2].reshape(size, size)
        at = np.arange(size, size + own.size)
        block[at, at] = own
        out.append(block.ravel())
        start += size**2
    return np.concatenate(out)


def rows_of_moments(dim: int, rolling: Any, torsion: Any) -> int:
    """Return the number of rows of the moments of a contact. Raises ValueError for torsion in two dimensions."""
    if torsion is not None and dim == 2:
        raise ValueError("torsion is given in two dimensions, where nothing turns about a normal; omit it")
    return (0 if torsion is None else 1) + (0 if rolling is None else dim - 1)


def moments_of(dim: int, contacts: int, rolling: ArrayLike | None, torsion: ArrayLike | None) -> Moments:
    """Return the moments of m contacts. rolling, torsion: lengths [m], a scalar or (m,), or None.

    Raises ValueError with the name of the argument and the index.
    """
    parts, row = [], dim
    for name, lengths, rows in (("torsion", torsion, 1), ("rolling", rolling, dim - 1)):
        if lengths is None:
            continue
        given = per_contact(name, lengths, contacts)
        wrong = np.flatnonzero(given < 0.0)
        if wrong.size:
            raise ValueError(f"{name}[{wrong[0]}] = {given[wrong[0]]} is negative; give a length in m, at least 0")
        parts.append((given, row, rows))
        row += rows
    kinds = len(parts)
    return Moments(
        dim,
        np.tile(np.arange(contacts), kinds),
        np.concatenate([lengths for lengths, _, _ in parts]),
        np.repeat([first for _, first, _ in parts], contacts).astype(np.int64),
        np.repeat([rows for _, _, rows in parts], contacts).astype(np.int64),
        row,
    )
