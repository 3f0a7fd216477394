# SPDX-License-Identifier: GPL-3.0-or-later
"""Shortcuts through numba's search for the types of calls.

Each shortcut gives the same result as numba, so kernels and their keys do not change. In a profile of the first `sc.solve`, two
searches took a ninth of the time:

- numba finds the type of a call by trying all implementations of the function in turn. The calls `a + b` and `a[i]` with the
  same types occur thousands of times in the kernels, and each is searched again during lowering. The result is now cached;
- each of these trials compares the compile options, twenty numbers that were collected again for each comparison.

The shortcuts depend on numba's internals, so `kernel_lock.py` uses them only with the tested versions of numba.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, NamedTuple

from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.types import BaseFunction

__all__ = ["take_shortcuts"]


def take_shortcuts() -> None:
    """Make numba use the shortcuts in this process. A second call has no effect."""
    if hasattr(BaseFunction.get_call_type, "__wrapped__"):
        return
    # numba has no public hooks for these.
    replaced: tuple[tuple[Any, str, Any], ...] = (
        (BaseFunction, "get_call_type", kept_call_types(BaseFunction.get_call_type)),
        (TargetConfig, "__eq__", same_options),
        (TargetConfig, "__hash__", hash_of_options),
    )
    for owner, name, function in replaced:
        setattr(owner, name, function)


class CallType(NamedTuple):
    """The result of a search: the types of the call and numba's key of the implementation. The function and the context are
    stored with it, so that no other object gets the address of one of them."""

    signature: Any
    implementation: Any
    function: Any
    context: Any


def kept_call_types(get_call_type: Any) -> Any:
    """Return numba's search for the type of a call, with a cache of its results.

    The result depends on the types of the arguments and on the compile options of the implementation. An incomplete type, such
    as that of an empty list, is searched each time.
    """
    kept: dict[Any, CallType] = {}

    @wraps(get_call_type)
    def kept_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        options = ConfigStack.top_or_none()
        call = id(function), id(context), tuple(args), tuple(kws.items())
        found = kept.get((call, options))
        if found is not None:
            # Other options may have selected another implementation for the same types.
            function._impl_keys[found.signature.args] = found.implementation
            return found.signature
        signature = get_call_type(function, context, args, kws)
        if all(one.is_precise() for one in (*args, *kws.values(), signature.return_type)):
            key = call, None if options is None else options.copy()
            kept[key] = CallType(signature, function._impl_keys[signature.args], function, context)
        return signature

    return kept_call_type


def same_options(options: Any, other: Any) -> bool:
    """Return True if two sets of compile options have the same values, explicit or by default."""
    if not isinstance(other, TargetConfig):
        return NotImplemented
    if type(options) is type(other) and options._values == other._values:
        return True
    return options.values() == other.values()


def hash_of_options(options: Any) -> int:
    """Return a hash of the names of the flags that are on although their default is off. Equal options have equal hashes."""
    known = options.options
    return hash(frozenset(name for name, value in options._values.items() if value is True and not known[name].default))
