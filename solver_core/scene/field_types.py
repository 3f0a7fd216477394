# SPDX-License-Identifier: GPL-3.0-or-later
"""What dataclasses declare of their fields, and what of a value is not as declared.

A scene may come from anywhere, and Python holds nobody to a declaration: a string in place of an enum would be found by whoever
happens to read it first. Here a whole tree of dataclasses is compared with its declarations at once.
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
    """The declared type of each field of a dataclass."""
    return typing.get_type_hints(cls)


def is_array(hint: Any) -> bool:
    """Whether a declared type is that of a numpy array."""
    origin = typing.get_origin(hint)
    # NDArray is an alias that Python resolves in older versions of numpy, and one that keeps its name in newer ones.
    return origin is np.ndarray or typing.get_origin(getattr(origin, "__value__", None)) is np.ndarray


def optional(hint: Any) -> tuple[Any, bool]:
    """The declared type without None, and whether None is allowed."""
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint, False
    return next(choice for choice in typing.get_args(hint) if choice is not types.NoneType), True


def mismatches(value: Any, hint: Any, path: tuple[str, ...] = ()) -> Iterator[Mismatch]:
    """Where a value differs from its declared type: the path of fields and indices that leads there, and what is wanted.

    Numbers of any numeric type count as floats, sequences of them as arrays, and lists as tuples; truth values are no numbers.
    Finite numbers beyond TOO_LARGE are as wrong as those that are none. Whether one has to be finite, and all else that a value
    means, is not asked here.
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
        # of several declared types, as in a pair, the first stands for all
        inner = typing.get_args(hint)[0]
        for index, item in enumerate(value):
            yield from mismatches(item, inner, (*path, str(index)))
        return
    else:
        wanted = value_wanted(value, hint)
    if wanted:
        yield path, f"is {reprlib.repr(value)}; {wanted}"


def array_wanted(value: Any) -> str:
    """What is wanted instead of a value that should be an array of numbers; empty when it is one."""
    try:
        array = np.asarray(value)
    except ValueError:
        return "it must be an array of numbers, with rows of one length"
    if array.dtype.kind not in "fiu":
        return "it must be an array of real numbers"
    # one nan hides all others from max, and is reported by those who ask for finite numbers
    largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
    return (
        f"it holds {largest:g}, and nothing beyond {TOO_LARGE:g} can be computed with" if TOO_LARGE < largest < np.inf else ""
    )


def value_wanted(value: Any, hint: Any) -> str:
    """What is wanted instead of a value that is neither an array nor made of others; empty when it is as declared."""
    if hint is float:
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            return "it must be a real number"
        # numpy 2 would compare in the precision of the value, in which the limit may be infinite
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
