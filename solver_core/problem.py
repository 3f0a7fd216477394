"""The contact problem: all that a solver sees.

    u = J v + b,   v = v_hat + M^-1 J^T lam        or, with the Delassus operator,   u = G lam + g,  G = J M^-1 J^T
    contact:   0 <= u_n + c  perp  lam_n >= 0
    friction:  lam_t in argmin { y . u_t : |y| <= mu lam_n }

Contact axes are (n, t1, t2), n from body A to body B; u is the velocity of B against A, lam an impulse in N s (or a force in N
when u are accelerations).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .system import System

__all__ = ["ContactProblem"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ContactProblem:
    """A contact problem with friction, in two or three dimensions.

    system: the arrays. mu, mu_dynamic: (m,) coefficients of static and dynamic friction; sliding: (m,) bool, where the dynamic
    one is in force. Make one with `from_delassus` or `from_bodies`, which validate what they are given.
    """

    dim: int
    system: System
    mu: Floats
    mu_dynamic: Floats
    sliding: NDArray[np.bool_]

    @property
    def contacts(self) -> int:
        """Number of contacts m."""
        return self.system.body_a.size

    @classmethod
    def from_delassus(
        cls,
        G: ArrayLike,
        g: ArrayLike,
        mu: ArrayLike,
        mu_dynamic: ArrayLike | None = None,
        sliding: ArrayLike | None = None,
        dim: int = 3,
        slack: ArrayLike | None = None,
    ) -> ContactProblem:
        """Problem given by its Delassus operator, u = G lam + g.

        G: (m dim, m dim) symmetric positive semidefinite, of any rank. g: (m dim,) or (m, dim). mu, mu_dynamic: scalar or (m,),
        >= 0. sliding: (m,) bool, contacts at which mu_dynamic is in force. slack: (m,) c of the normal condition, else 0.
        Order in each contact is (n, t1, t2) for dim 3 and (n, t) for dim 2. Raises ValueError naming the argument and the
        index.
        """
        if dim not in (2, 3):
            raise ValueError(f"dim must be 2 or 3, not {dim!r}")
        delassus = _finite("G", G)
        if delassus.ndim != 2 or delassus.shape[0] != delassus.shape[1]:
            raise ValueError(f"G must be a square matrix, not of shape {delassus.shape}")
        rows = delassus.shape[0]
        if rows % dim:
            raise ValueError(f"G has {rows} rows, which is not a multiple of dim = {dim}")
        m = rows // dim
        free = _finite("g", g).reshape(-1)
        if free.size != rows:
            raise ValueError(f"g must have {rows} entries to match G, not {free.size}")
        scale = np.abs(delassus).max(initial=0.0)
        skew = np.abs(delassus - delassus.T)
        if skew.max(initial=0.0) > 1e-9 * scale:
            i, j = np.unravel_index(int(skew.argmax()), skew.shape)
            raise ValueError(f"G must be symmetric: G[{i}, {j}] = {delassus[i, j]!r} but G[{j}, {i}] = {delassus[j, i]!r}")
        eigenvalues, vectors = np.linalg.eigh(0.5 * (delassus + delassus.T))
        if rows and eigenvalues[0] < -1e-8 * max(scale, eigenvalues[-1]):
            raise ValueError(f"G must be positive semidefinite: its smallest eigenvalue is {eigenvalues[0]:.6g}")
        # M = 1 and J = V sqrt(Lambda) without the null space: J M^-1 J^T = G, and as many degrees of freedom as G has rank
        kept = eigenvalues > rows * np.finfo(float).eps * max(scale, 0.0)
        factor = vectors[:, kept] * np.sqrt(eigenvalues[kept])
        n = factor.shape[1]
        jacobian = np.zeros((m, 3, n))
        jacobian[:, :dim] = factor.reshape(m, dim, n)
        bias = np.zeros((m, 3))
        bias[:, :dim] = free.reshape(m, dim)
        system = System(
            offset=np.array([0, n], dtype=np.int64),
            block_start=np.array([0, n * n], dtype=np.int64),
            mass=np.eye(n).ravel(),
            inverse_mass=np.eye(n).ravel(),
            velocity=np.zeros(n),
            body_a=np.full(m, -1, dtype=np.int64),
            body_b=np.zeros(m, dtype=np.int64),
            jacobian_a=np.zeros((m, 3, n)),
            jacobian_b=jacobian,
            bias=bias,
            slack=_per_contact("slack", 0.0 if slack is None else slack, m),
            mu=np.zeros(m),
        )
        return cls._with_friction(dim, system, mu, mu_dynamic, sliding)

    @classmethod
    def from_bodies(
        cls,
        masses: list[ArrayLike],
        velocity: ArrayLike,
        body_a: ArrayLike,
        body_b: ArrayLike,
        jacobian_a: ArrayLike,
        jacobian_b: ArrayLike,
        mu: ArrayLike,
        mu_dynamic: ArrayLike | None = None,
        sliding: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        slack: ArrayLike | None = None,
    ) -> ContactProblem:
        """Problem given by bodies with any numbers of degrees of freedom.

        masses: one symmetric positive definite (d, d) block a body. velocity: (n,) predicted velocity v_hat, n = sum of d.
        body_a, body_b: (m,) body indices, -1 for the world. jacobian_a, jacobian_b: (m, dim, largest d), what each body adds to
        u. bias: (m, dim) b. The rest as in `from_delassus`. Raises ValueError naming the argument and the index.
        """
        blocks = [_finite(f"masses[{i}]", block) for i, block in enumerate(masses)]
        for i, block in enumerate(blocks):
            if block.ndim != 2 or block.shape[0] != block.shape[1]:
                raise ValueError(f"masses[{i}] must be a square matrix, not of shape {block.shape}")
            if np.linalg.eigvalsh(0.5 * (block + block.T)).min(initial=np.inf) <= 0.0:
                raise ValueError(f"masses[{i}] must be positive definite")
        sizes = np.array([block.shape[0] for block in blocks], dtype=np.int64)
        offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        v_hat = _finite("velocity", velocity).reshape(-1)
        if v_hat.size != offset[-1]:
            raise ValueError(f"velocity must have {offset[-1]} entries to match masses, not {v_hat.size}")
        first, second = np.atleast_1d(np.asarray(body_a, dtype=np.int64)), np.atleast_1d(np.asarray(body_b, dtype=np.int64))
        m = first.size
        for name, index in (("body_a", first), ("body_b", second)):
            if index.shape != (m,):
                raise ValueError(f"{name} must have {m} entries, not shape {index.shape}")
            wrong = np.flatnonzero((index < -1) | (index >= len(blocks)))
            if wrong.size:
                raise ValueError(
                    f"{name}[{wrong[0]}] = {index[wrong[0]]} is no body: there are {len(blocks)}, and -1 is the world"
                )
        same = np.flatnonzero(first == second)
        if same.size:
            raise ValueError(f"body_a[{same[0]}] and body_b[{same[0]}] are the same body, {first[same[0]]}")
        widest = int(sizes.max(initial=0))
        left, right = _finite("jacobian_a", jacobian_a), _finite("jacobian_b", jacobian_b)
        dim = left.shape[1] if left.ndim == 3 else 0
        for name, block in (("jacobian_a", left), ("jacobian_b", right)):
            if dim not in (2, 3) or block.shape != (m, dim, widest):
                raise ValueError(f"{name} must have shape ({m}, 2 or 3, {widest}), not {block.shape}")
        padded = [np.zeros((m, 3, widest)) for _ in range(2)]
        for target, block, index in zip(padded, (left, right), (first, second), strict=True):
            width = np.where(index >= 0, sizes[index] if sizes.size else 0, 0)
            target[:, :dim] = np.where(np.arange(widest) < width[:, None, None], block, 0.0)
        offset_velocity = np.zeros((m, 3))
        if bias is not None:
            given = _finite("bias", bias)
            if given.shape != (m, dim):
                raise ValueError(f"bias must have shape ({m}, {dim}), not {given.shape}")
            offset_velocity[:, :dim] = given
        flat = [block.ravel() for block in blocks]
        inverse = [np.linalg.inv(block).ravel() for block in blocks]
        system = System(
            offset=offset,
            block_start=np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64),
            mass=np.concatenate(flat) if flat else np.zeros(0),
            inverse_mass=np.concatenate(inverse) if inverse else np.zeros(0),
            velocity=v_hat,
            body_a=first,
            body_b=second,
            jacobian_a=padded[0],
            jacobian_b=padded[1],
            bias=offset_velocity,
            slack=_per_contact("slack", 0.0 if slack is None else slack, m),
            mu=np.zeros(m),
        )
        return cls._with_friction(dim, system, mu, mu_dynamic, sliding)

    @classmethod
    def _with_friction(cls, dim, system, mu, mu_dynamic, sliding) -> ContactProblem:
        m = system.body_a.size
        static = _coefficient("mu", mu, m)
        dynamic = static if mu_dynamic is None else _coefficient("mu_dynamic", mu_dynamic, m)
        slides = np.zeros(m, dtype=bool) if sliding is None else np.asarray(sliding, dtype=bool)
        if slides.shape != (m,):
            raise ValueError(f"sliding must have {m} entries, not shape {slides.shape}")
        system = system._replace(mu=np.where(slides, dynamic, static))
        return cls(dim, system, static, dynamic, slides)

    @cached_property
    def jacobian(self) -> Floats:
        """Dense J, (m dim, n)."""
        system = self.system
        dense = np.zeros((self.contacts, self.dim, system.offset[-1]))
        for index, block in ((system.body_a, system.jacobian_a), (system.body_b, system.jacobian_b)):
            for k, body in enumerate(index):
                if body >= 0:
                    begin, end = system.offset[body], system.offset[body + 1]
                    dense[k, :, begin:end] += block[k, : self.dim, : end - begin]
        return dense.reshape(self.contacts * self.dim, -1)

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
        """Dense G = J M^-1 J^T, (m dim, m dim)."""
        return self.jacobian @ self.inverse_mass @ self.jacobian.T

    @cached_property
    def free_velocity(self) -> Floats:
        """g = J v_hat + b, (m, dim) m/s: the relative velocities without any impulse."""
        return (self.jacobian @ self.system.velocity).reshape(self.contacts, self.dim) + self.system.bias[:, : self.dim]


def _finite(name: str, values: ArrayLike) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from None
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        place = f"[{', '.join(str(i) for i in index)}]" if index else ""
        raise ValueError(f"{name}{place} is {array[index]}: every entry must be finite")
    return array


def _per_contact(name: str, values: ArrayLike, m: int) -> Floats:
    array = _finite(name, values)
    if array.ndim > 1 or (array.ndim == 1 and array.size != m):
        raise ValueError(f"{name} must be a number or have {m} entries, not shape {array.shape}")
    return np.full(m, array) if array.ndim == 0 else array


def _coefficient(name: str, values: ArrayLike, m: int) -> Floats:
    array = _per_contact(name, values, m)
    wrong = np.flatnonzero(array < 0.0)
    if wrong.size:
        raise ValueError(f"{name}[{wrong[0]}] = {array[wrong[0]]} is negative: a coefficient of friction is at least 0")
    return array
