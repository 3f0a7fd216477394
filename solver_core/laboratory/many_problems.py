# SPDX-License-Identifier: GPL-3.0-or-later
"""Many contact problems that have nothing to do with each other, given at once: checked and factored together.

One after the other ten thousand small problems would spend their time on being looked at, not on being solved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from ..problem.contact_problem import ContactProblem
from ..problem.friction import Friction
from ..problem.given_arrays import coefficients, finite_array, per_contact
from ..problem.rounding import Rounding, rounding_named
from ..problem.small_matrices import small_systems
from ..problem.subsystem import subsystem
from ..problem.system import System

__all__ = ["ContactProblems"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ContactProblems:
    """p contact problems of the same dimension, each with contacts of its own: those of problem i are start[i] to start[i + 1].

    system: all of them as one `System`; no body is in two. apart: by their indices, problems that are kept by themselves, for
    they are large, or their matrices had to be mended. Make them with `from_delassus` or `from_bodies`; `problems[i]` is one.
    """

    dim: int
    start: Ints
    system: System
    apart: dict[int, ContactProblem]

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: int) -> ContactProblem:
        i = range(len(self))[index]
        if i in self.apart:
            return self.apart[i]
        contacts, number = np.arange(self.start[i], self.start[i + 1]), np.full(len(self.system.offset) - 1, -1, np.int64)
        system, _ = subsystem(self.system, contacts, number)
        m, none = contacts.size, (np.zeros((0, system.velocity.size)), np.zeros(0))
        slides = np.zeros(m, dtype=bool), np.zeros((m, self.dim - 1))
        return ContactProblem(self.dim, system, system.mu, system.mu, *slides, none)

    @property
    def contacts(self) -> int:
        """Number of contacts of all problems."""
        return int(self.start[-1])

    @classmethod
    def from_delassus(
        cls,
        G: Sequence[ArrayLike] | NDArray[Any],
        g: Sequence[ArrayLike] | NDArray[Any],
        mu: ArrayLike | Sequence[ArrayLike],
        dim: int = 3,
        slack: ArrayLike | Sequence[ArrayLike] | None = None,
        rounding: Rounding | str = Rounding.REPAIR,
    ) -> ContactProblems:
        """Problems given by their Delassus operators, u = G lam + g each.

        G: (p, m dim, m dim), or p matrices of any sizes. g: (p, m dim), or p vectors. mu, slack: one number for all, (p, m), or
        p vectors. The rest, and what G has to be, as of `ContactProblem.from_delassus`. Raises ValueError naming the problem,
        the argument and the index.
        """
        if not isinstance(dim, int | np.integer) or dim not in (2, 3):
            raise ValueError(f"dim must be 2 or 3, not {dim!r}")
        policy = rounding_named(rounding)
        matrices = _rows_of("G", G)
        # of an array all have one size
        different = matrices[:1] if isinstance(matrices, np.ndarray) and matrices.dtype != object else matrices
        found = [_size_of(i, matrix, int(dim)) for i, matrix in enumerate(different)]
        sizes = np.full(len(matrices), found[0] if found else 0) if len(found) < len(matrices) else np.array(found, np.int64)
        start = np.concatenate([[0], np.cumsum(sizes // dim)]).astype(np.int64)
        entries = _all_finite("G", matrices, [(size, size) for size in sizes])
        free = _all_finite("g", _rows_of("g", g, len(sizes)), [(size,) for size in sizes])
        of_contacts = _of_contacts("mu", mu, start), _of_contacts("slack", 0.0 if slack is None else slack, start)
        at = np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64)
        mu_all, slack_all = of_contacts
        system, is_one = small_systems(entries, at, start, int(dim), free, slack_all, mu_all)
        apart = {}
        for i in np.flatnonzero(~is_one).tolist():
            own, n = slice(start[i], start[i + 1]), sizes[i]
            given = entries[at[i] : at[i + 1]].reshape(n, n), free[start[i] * dim : start[i + 1] * dim]
            try:
                apart[i] = ContactProblem.from_delassus(*given, mu_all[own], dim=dim, slack=slack_all[own], rounding=policy)
            except ValueError as error:
                raise ValueError(f"problem {i}: {error}") from None
        return cls(int(dim), start, system, apart)

    @classmethod
    def from_bodies(
        cls,
        counts: ArrayLike,
        masses: list[ArrayLike],
        velocity: ArrayLike,
        pairs: tuple[ArrayLike, ArrayLike] | Ints,
        jacobians: tuple[ArrayLike, ArrayLike] | Floats,
        mu: ArrayLike,
        bias: ArrayLike | None = None,
        slack: ArrayLike | None = None,
    ) -> ContactProblems:
        """Problems given by their bodies, all in the same arrays.

        counts: (p,) how many contacts each problem has, in the order in which they come. All else as of
        `ContactProblem.from_bodies`, for all problems together; friction has coefficients alone. A body is in one problem only.
        Raises ValueError naming the argument and the index.
        """
        if isinstance(mu, Friction):
            raise ValueError("mu must be coefficients here: give each problem with more by ContactProblem.from_bodies")
        whole = ContactProblem.from_bodies(masses, velocity, pairs, jacobians, mu, bias, slack)
        number = np.atleast_1d(finite_array("counts", counts))
        wrong = np.flatnonzero((number < 0) | (number != np.floor(number)))
        if number.ndim != 1 or wrong.size:
            at = f"counts[{wrong[0]}] = {number.ravel()[wrong[0]]}" if wrong.size else f"counts of shape {number.shape}"
            raise ValueError(f"{at}: counts must be whole numbers of contacts, one a problem")
        start = np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
        if start[-1] != whole.contacts:
            raise ValueError(f"counts come to {start[-1]} contacts, and there are {whole.contacts}")
        of = np.repeat(np.arange(number.size), number.astype(np.int64))
        for side in (whole.system.body_a, whole.system.body_b):
            _require_own(whole.system, of, side)
        return cls(whole.dim, start, whole.system, {})


def _require_own(system: System, of: Ints, side: Ints) -> None:
    """Refuse a body, of those at one side of contacts, that another problem has; of: (m,) which problem a contact is in."""
    owner = np.full(len(system.offset), -1, np.int64)
    for index in (system.body_b, system.body_a):
        owner[index[::-1]] = of[::-1]
    owner[-1] = -1
    wrong = np.flatnonzero((side >= 0) & (owner[side] != of))
    if wrong.size:
        k = wrong[0]
        raise ValueError(f"body {side[k]} is in problems {owner[side[k]]} and {of[k]}: each problem has bodies of its own")


def _rows_of(name: str, values: Any, count: int | None = None) -> Any:
    """The values of each problem: a sequence, or an array whose first axis counts problems."""
    is_row = isinstance(values, np.ndarray) and values.ndim > 0
    if not is_row and (isinstance(values, str) or not isinstance(values, Sequence)):
        raise ValueError(f"{name} must be an array or a sequence of arrays, one a problem, not {type(values).__name__}")
    if count is not None and len(values) != count:
        raise ValueError(f"{name} has {len(values)} problems, and G has {count}")
    return values


def _size_of(i: int, matrix: Any, dim: int) -> int:
    """The rows of a matrix."""
    shape = np.shape(matrix)
    if len(shape) != 2 or shape[0] != shape[1] or issparse(matrix):
        what = "sparse" if issparse(matrix) else f"of shape {shape}"
        raise ValueError(f"problem {i}: G must be a dense square matrix, not {what}")
    if shape[0] % dim:
        raise ValueError(f"problem {i}: G has {shape[0]} rows, which is not a multiple of dim = {dim}")
    return shape[0]


def _all_finite(name: str, values: Any, shapes: list[tuple[int, ...]]) -> Floats:
    """The entries of all problems one after the other; each is to have its shape, or that of its contacts' rows."""
    whole = _stacked(values)
    if whole is not None and len(set(shapes)) == 1 and whole[0].size == math.prod(shapes[0]):
        parts, flat = whole, whole.ravel()
    else:
        parts = [_numbers(i, name, part) for i, part in enumerate(values)]
        flat = np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])
    first = parts if isinstance(parts, list) else parts[:1]
    for i, (part, shape) in enumerate(zip(first, shapes, strict=False)):
        is_by_contact = len(shape) == 1 and part.ndim == 2
        if part.shape != shape and not (is_by_contact and part.size == shape[0]):
            raise ValueError(f"problem {i}: {name} must have shape {shape} to match G, not {part.shape}")
    if not np.isfinite(flat).all():
        for i, part in enumerate(parts):
            _numbers(i, name, part)
    return np.ascontiguousarray(flat)


def _stacked(values: Any) -> Floats | None:
    """An array of numbers whose first axis counts problems, in memory one after the other; None where it is no such array."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu" or not len(values):
        return None
    return np.array(values, dtype=np.float64, order="C")


def _numbers(i: int, name: str, part: Any) -> Floats:
    try:
        return finite_array(name, part)
    except ValueError as error:
        raise ValueError(f"problem {i}: {error}") from None


def _of_contacts(name: str, values: Any, start: Ints) -> Floats:
    """(contacts,) of one number for all contacts, or of as many for each problem as it has contacts, or one."""
    check, count = coefficients if name == "mu" else per_contact, np.diff(start)
    if not isinstance(values, list | tuple) and not np.ndim(values):
        return check(name, values, int(start[-1]))
    whole = _stacked(values)
    if whole is not None and _is_by_contact(whole, count) and (name != "mu" or (whole >= 0.0).all()):
        return whole.ravel()
    rows, parts = _rows_of(name, values, len(start) - 1), []
    for i, part in enumerate(rows):
        try:
            parts.append(check(name, part, int(start[i + 1] - start[i])))
        except ValueError as error:
            raise ValueError(f"problem {i}: {error}") from None
    return np.concatenate([np.zeros(0), *parts])


def _is_by_contact(values: Floats, count: Ints) -> bool:
    """Whether finite values have a row a problem, and an entry in it for each of its contacts."""
    fits = values.ndim == 2 and len(values) == count.size and bool((count == values.shape[1]).all())
    return fits and bool(np.isfinite(values).all())
