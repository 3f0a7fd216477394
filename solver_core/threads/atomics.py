# SPDX-License-Identifier: GPL-3.0-or-later
"""Atomic operations on the entries of an array of integers, for kernels that several threads are in at once.

All are sequentially consistent: what a thread wrote before one of them, another thread sees after it has read what that one
left. numba has none for processors; these are one instruction of LLVM's each.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.cgutils import get_item_pointer
from numba.extending import intrinsic

__all__ = ["atomic_add", "atomic_load", "atomic_replace", "atomic_store"]

ORDER, BYTES = "seq_cst", 8


def _place(context, builder, array_type, array, index):
    """The address of an entry."""
    whole = context.make_array(array_type)(context, builder, array)
    return get_item_pointer(context, builder, array_type, whole, [index])


def _load(typing_context, array, index):  # noqa: ARG001, numba's protocol
    """array[index]."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(place, ORDER, BYTES)

    return types.int64(array, types.intp), generate


def _store(typing_context, array, index, value):  # noqa: ARG001, numba's protocol
    """array[index] := value."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], place, ORDER, BYTES)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


def _add(typing_context, array, index, value):  # noqa: ARG001, numba's protocol
    """array[index] += value; returns what it was before."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", place, arguments[2], ORDER)

    return types.int64(array, types.intp, types.int64), generate


def _replace(typing_context, array, index, expected, value):  # noqa: ARG001, numba's protocol
    """array[index] := value where it is what was expected; returns whether it was."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature.args[0], *arguments[:2])
        was = builder.cmpxchg(place, arguments[2], arguments[3], ORDER, ORDER)
        return builder.extract_value(was, 1)

    return types.boolean(array, types.intp, types.int64, types.int64), generate


# as kernels call them, without numba's own first argument
atomic_load: Any = intrinsic(_load)
atomic_store: Any = intrinsic(_store)
atomic_add: Any = intrinsic(_add)
atomic_replace: Any = intrinsic(_replace)
