# SPDX-License-Identifier: GPL-3.0-or-later
"""Shortcuts through numba's search for the types of calls.

Each shortcut gives the answer that numba gives, so kernels and their keys stay what they are. A profile of the first `sc.solve`
found two places that a ninth of its time goes to:

- the type of a call is found by trying all implementations of the function in turn. The calls `a + b` and `a[i]` of the same
  types stand thousands of times in the kernels, and each is asked again when it is lowered. The answer is now kept;
- each of these trials compares the compile options, twenty numbers that were all collected for each comparison.

The shortcuts lean on numba's insides, so `kernel_lock.py` takes them only with the versions of numba that were tested.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, NamedTuple

from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.types import BaseFunction

__all__ = ["take_shortcuts"]


def take_shortcuts() -> None:
    """Have numba, in this process, find types of calls and compare options by the shortcuts; a second call does nothing."""
    if hasattr(BaseFunction.get_call_type, "__wrapped__"):
        return
    # numba has no hooks for these
    replaced: tuple[tuple[Any, str, Any], ...] = (
        (BaseFunction, "get_call_type", kept_call_types(BaseFunction.get_call_type)),
        (TargetConfig, "__eq__", same_options),
        (TargetConfig, "__hash__", hash_of_options),
    )
    for owner, name, function in replaced:
        setattr(owner, name, function)


class CallType(NamedTuple):
    """The answer to a search: the types of the call and numba's key of the implementation. The function and the context are
    kept with it, so that no other object has the address of one of them."""

    signature: Any
    implementation: Any
    function: Any
    context: Any


def kept_call_types(get_call_type: Any) -> Any:
    """numba's search for the type of a call, which keeps what it finds.

    The answer depends on the types of the arguments and on the compile options of the implementation. A type that is not known
    whole, such as that of an empty list, is searched for anew each time.
    """
    kept: dict[Any, CallType] = {}

    @wraps(get_call_type)
    def kept_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        options = ConfigStack.top_or_none()
        call = id(function), id(context), tuple(args), tuple(kws.items())
        found = kept.get((call, options))
        if found is not None:
            # other options may have left another implementation for the same types
            function._impl_keys[found.signature.args] = found.implementation
            return found.signature
        signature = get_call_type(function, context, args, kws)
        if all(one.is_precise() for one in (*args, *kws.values(), signature.return_type)):
            key = call, None if options is None else options.copy()
            kept[key] = CallType(signature, function._impl_keys[signature.args], function, context)
        return signature

    return kept_call_type


def same_options(options: Any, other: Any) -> bool:
    """Whether two sets of compile options have the same values, given or by default."""
    if not isinstance(other, TargetConfig):
        return NotImplemented
    if type(options) is type(other) and options._values == other._values:
        return True
    return options.values() == other.values()


def hash_of_options(options: Any) -> int:
    """A hash of the names of the switches that are on and by default off: equal options have the same."""
    known = options.options
    return hash(frozenset(name for name, value in options._values.items() if value is True and not known[name].default))
