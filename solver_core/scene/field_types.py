# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparison of dataclass values with their declared types.

A scene may come from any source, and Python does not check declared types. A string in place of an enum would cause an error
only when some code reads it. Here a whole tree of dataclasses is compared with its declarations at once.
"""

from __future__ import annotations

import functools
import reprlib
import types
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

import numpy as np

__all__ = ["TOO_LARGE", "field_types", "is_array", "mismatches", "optional"]

# Of a finite number: the squares, and the products of a few, of what is larger would overflow.
TOO_LARGE = 1e40

Mismatch = tuple[tuple[str, ...], str]


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Return the declared type of each field of a dataclass."""
    return typing.get_type_hints(cls)


def is_array(hint: Any) -> bool:
    """Return whether a declared type is that of a numpy array."""
    origin = typing.get_origin(hint)
    # NDArray is an alias that Python resolves with older versions of numpy; it keeps its name with newer ones.
    return origin is np.ndarray or typing.get_origin(getattr(origin, "__value__", None)) is np.ndarray


def optional(hint: Any) -> tuple[Any, bool]:
    """Return the declared type without None, and whether None is allowed."""
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint, False
    return next(choice for choice in typing.get_args(hint) if choice is not types.NoneType), True


def mismatches(value: Any, hint: Any, path: tuple[str, ...] = ()) -> Iterator[Mismatch]:
    """Yield the places where a value differs from its declared type: the path of fields and indices, and the expected type.

    Numbers of any numeric type count as floats, sequences of numbers as arrays, and lists as tuples. Booleans are not numbers.
    Finite numbers beyond TOO_LARGE count as wrong. Whether a number has to be finite is not checked here, nor is any other
    meaning of a value.
    """
    hint, may_be_none = optional(hint)
    if may_be_none and value is None:
        return
    if is_array(hint):
        wanted = array_wanted(value)
    elif is_dataclass(hint) and isinstance(hint, type) and isinstance(value, hint):
        for name, declared in field_types(hint).items():
            yield from mismatches(getattr(value, name), declared, (*path, name))
        return
    elif typing.get_origin(hint) is tuple and isinstance(value, tuple | list):
        # A tuple type such as that of a pair uses its first element type for all elements.
        inner = typing.get_args(hint)[0]
        for index, item in enumerate(value):
            yield from mismatches(item, inner, (*path, str(index)))
        return
    else:
        wanted = value_wanted(value, hint)
    if wanted:
        yield path, f"is {reprlib.repr(value)}; {wanted}"


def array_wanted(value: Any) -> str:
    """Return what is expected in place of a value that should be an array of numbers; empty if it is one."""
    try:
        array = np.asarray(value)
    except ValueError:
        return "it must be an array of numbers, with rows of one length"
    if array.dtype.kind not in "fiu":
        return "it must be an array of real numbers"
    # A NaN hides all other values from max; the check for finite numbers reports it.
    largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
    return (
        f"it holds {largest:g}, and nothing beyond {TOO_LARGE:g} can be computed with" if TOO_LARGE < largest < np.inf else ""
    )


def value_wanted(value: Any, hint: Any) -> str:
    """Return what is expected in place of a scalar value; empty if it is as declared."""
    if hint is float:
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            return "it must be a real number"
        # numpy 2 would compare in the precision of the value, in which the limit may be infinite.
        size = abs(value.item()) if isinstance(value, np.number) else abs(value)
        return f"nothing beyond {TOO_LARGE:g} can be computed with" if TOO_LARGE < size < np.inf else ""
    if hint is int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            return "it must be a whole number"
        return "" if -(2**63) <= value < 2**63 else "it must be a whole number that fits in 64 bits"
    if hint is bool:
        return "" if isinstance(value, bool | np.bool_) else "it must be True or False"
    if typing.get_origin(hint) is tuple:
        return "it must be a tuple"
    if isinstance(value, hint):
        return ""
    if issubclass(hint, Enum):
        return f"it must be one of {', '.join(f'{hint.__name__}.{member.name}' for member in hint)}"
    return f"it must be a {hint.__name__}"
