# SPDX-License-Identifier: GPL-3.0-or-later
"""Many independent contact problems, given at once. They are validated and factored together.

For ten thousand small problems one by one, validation would take longer than the solves.
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
    """p independent contact problems of the same dimension.

    Make them with `from_delassus` or `from_bodies`. `problems[i]` is the `ContactProblem` with index i.

    dim: 2 or 3.
    start: (p + 1,) the contacts of problem i are start[i] to start[i + 1].
    system: all problems as one `System`. No body is in two of them.
    apart: problems that are stored separately, by index, because they are large or their matrices were repaired.
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
        """Return problems with given Delassus operators, u = G lam + g.

        The arguments are those of `ContactProblem.from_delassus`, for p problems.

        G: (p, m dim, m dim), or p matrices of any sizes.
        g: (p, m dim), or p vectors.
        mu, slack: a number for all contacts, (p, m), or p vectors.

        Raises ValueError with the problem, the name of the argument and the index.
        """
        if not isinstance(dim, int | np.integer) or dim not in (2, 3):
            raise ValueError(f"dim must be 2 or 3, not {dim!r}")
        policy = rounding_named(rounding)
        matrices = _rows_of("G", G)
        # All matrices of an array have the same size.
        different = matrices[:1] if isinstance(matrices, np.ndarray) and matrices.dtype != object else matrices
        found = [_size_of(i, matrix, int(dim)) for i, matrix in enumerate(different)]
        sizes = np.full(len(matrices), found[0] if found else 0) if len(found) < len(matrices) else np.array(found, np.int64)
        start = np.concatenate([[0], np.cumsum(sizes // dim)]).astype(np.int64)
        entries = _all_finite("G", matrices, [(size, size) for size in sizes])
        free = _all_finite("g", _rows_of("g", g, len(sizes)), [(size,) for size in sizes])
        of_contacts = _of_contacts("mu", mu, start), _of_contacts("slack", 0.0 if slack is None else slack, start)
        first_entry = np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64)
        mu_all, slack_all = of_contacts
        system, is_one = small_systems(entries, first_entry, start, int(dim), free, slack_all, mu_all)
        apart = {}
        for i in np.flatnonzero(~is_one).tolist():
            contacts_of_i, n = slice(start[i], start[i + 1]), sizes[i]
            matrix_and_velocity = (
                entries[first_entry[i] : first_entry[i + 1]].reshape(n, n),
                free[start[i] * dim : start[i + 1] * dim],
            )
            try:
                apart[i] = ContactProblem.from_delassus(
                    *matrix_and_velocity, mu_all[contacts_of_i], dim=dim, slack=slack_all[contacts_of_i], rounding=policy
                )
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
        """Return problems of bodies, all in the same arrays.

        The other arguments are those of `ContactProblem.from_bodies`, for all problems together, with coefficients of friction
        only. Each body belongs to one problem.

        counts: (p,) number of contacts of each problem, in order.

        Raises ValueError with the name of the argument and the index.
        """
        if isinstance(mu, Friction):
            raise ValueError("mu must be coefficients here; make problems with other friction with ContactProblem.from_bodies")
        whole = ContactProblem.from_bodies(masses, velocity, pairs, jacobians, mu, bias, slack)
        number = np.atleast_1d(finite_array("counts", counts))
        wrong = np.flatnonzero((number < 0) | (number != np.floor(number)))
        if number.ndim != 1 or wrong.size:
            argument = f"counts[{wrong[0]}] = {number.ravel()[wrong[0]]}" if wrong.size else f"counts of shape {number.shape}"
            raise ValueError(f"{argument}: counts must be whole numbers of contacts, one per problem")
        start = np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
        if start[-1] != whole.contacts:
            raise ValueError(f"counts add up to {start[-1]} contacts, but there are {whole.contacts}")
        problem_of_contact = np.repeat(np.arange(number.size), number.astype(np.int64))
        for side in (whole.system.body_a, whole.system.body_b):
            _require_own(whole.system, problem_of_contact, side)
        return cls(whole.dim, start, whole.system, {})


def _require_own(system: System, problem_of_contact: Ints, side: Ints) -> None:
    """Raise ValueError if a body belongs to two problems.

    problem_of_contact: (m,) problem of each contact. side: (m,) body A or body B of each contact.
    """
    owner = np.full(len(system.offset), -1, np.int64)
    for index in (system.body_b, system.body_a):
        owner[index[::-1]] = problem_of_contact[::-1]
    owner[-1] = -1
    wrong = np.flatnonzero((side >= 0) & (owner[side] != problem_of_contact))
    if wrong.size:
        k = wrong[0]
        raise ValueError(
            f"body {side[k]} is in problems {owner[side[k]]} and {problem_of_contact[k]}; give each problem its own bodies"
        )


def _rows_of(name: str, values: Any, count: int | None = None) -> Any:
    """Return the values of each problem: a sequence, or an array with one entry per problem along its first axis."""
    is_row = isinstance(values, np.ndarray) and values.ndim > 0
    if not is_row and (isinstance(values, str) or not isinstance(values, Sequence)):
        raise ValueError(f"{name} must be an array or a sequence of arrays, one per problem, not {type(values).__name__}")
    if count is not None and len(values) != count:
        raise ValueError(f"{name} has {len(values)} problems, but G has {count}")
    return values


def _size_of(i: int, matrix: Any, dim: int) -> int:
    """Return the number of rows of the matrix of problem i. Raises ValueError unless it is square and dense."""
    shape = np.shape(matrix)
    if len(shape) != 2 or shape[0] != shape[1] or issparse(matrix):
        description = "sparse" if issparse(matrix) else f"of shape {shape}"
        raise ValueError(f"problem {i}: G must be a dense square matrix, not {description}")
    if shape[0] % dim:
        raise ValueError(f"problem {i}: G has {shape[0]} rows, which is not a multiple of dim = {dim}")
    return shape[0]


def _all_finite(name: str, values: Any, shapes: list[tuple[int, ...]]) -> Floats:
    """Return the concatenated entries of all problems.

    shapes: required shape of each problem's values; a vector may also be given as one row per contact.
    """
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
    """Return the values as a C-ordered array with one entry per problem along its first axis, or None if they are none."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu" or not len(values):
        return None
    return np.array(values, dtype=np.float64, order="C")


def _numbers(i: int, name: str, part: Any) -> Floats:
    """Return the values of problem i as an array. Raises ValueError unless they are finite numbers."""
    try:
        return finite_array(name, part)
    except ValueError as error:
        raise ValueError(f"problem {i}: {error}") from None


def _of_contacts(name: str, values: Any, start: Ints) -> Floats:
    """Return an array (contacts,) from a number for all contacts, or from one or m numbers for each problem."""
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
    """Return True if the values are finite and have one row per problem with one entry per contact."""
    fits = values.ndim == 2 and len(values) == count.size and bool((count == values.shape[1]).all())
    return fits and bool(np.isfinite(values).all())
