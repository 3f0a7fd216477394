# SPDX-License-Identifier: GPL-3.0-or-later
"""Shortcuts through numba's own Python code, which is half of the time that a kernel takes to compile.

Each shortcut gives the answer that numba gives, so kernels and their keys stay what they are. A profile of the first `sc.solve`
found these places:

- the type of a call is found by trying all implementations of the function in turn. The calls `a + b` and `a[i]` of the same
  types stand thousands of times in the kernels, and each is asked again when it is lowered. The answer is now kept;
- each of these trials compares the compile options, twenty numbers that were all collected for each comparison;
- a function that is inlined is copied block by block, and each copy of a block copies all variables of the function, by
  Python's general method;
- the variables of a statement are looked for in its names and line numbers too, and twice for each assignment.

The shortcuts lean on numba's insides, so `kernel_lock.py` takes them only with the versions of numba that were tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import wraps
from types import NoneType
from typing import Any, NamedTuple

from numba.core import analysis, ir
from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.types import BaseFunction

__all__ = ["take_shortcuts"]

WITHOUT_VARIABLES = frozenset((str, int, bool, NoneType, ir.Loc))


def take_shortcuts() -> None:
    """Have numba, in this process, find types of calls, options, copies and variables by the shortcuts; a second call does
    nothing."""
    if hasattr(BaseFunction.get_call_type, "__wrapped__"):
        return
    # numba has no hooks for these
    replaced: tuple[tuple[Any, str, Any], ...] = (
        (BaseFunction, "get_call_type", kept_call_types(BaseFunction.get_call_type)),
        (TargetConfig, "__eq__", same_options),
        (TargetConfig, "__hash__", hash_of_options),
        (ir.Scope, "__deepcopy__", copied_scope),
        (ir.Loc, "__deepcopy__", itself),
        (ir.Inst, "_rec_list_vars", variables_in),
        (analysis, "compute_use_defs", used_and_defined(analysis.compute_use_defs)),
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


def copied_scope(scope: Any, memo: dict[int, Any]) -> Any:
    """A copy of the names of a function with its variables, as `copy.deepcopy` makes it."""
    if type(scope) is not ir.Scope:
        raise TypeError(f"{type(scope).__name__} is no scope of the tested versions of numba: set STICTION_PLAIN_KERNELS=1")
    copied = memo[id(scope)] = ir.Scope(deepcopy(scope.parent, memo), scope.loc)
    for name, variable in scope.localvars._con.items():
        if id(variable) not in memo:
            memo[id(variable)] = ir.Var(copied, variable.name, variable.loc)
        copied.localvars._con[name] = memo[id(variable)]
    copied.redefined.update(scope.redefined)
    for name, versions in scope.var_redefinitions.items():
        copied.var_redefinitions[name] = set(versions)
    return copied


def itself(place: Any, memo: dict[int, Any]) -> Any:  # noqa: ARG001, of `copy.deepcopy`
    """A line of source, which nobody changes, instead of a copy."""
    return place


def variables_in(statement: Any, value: Any) -> list[Any]:  # noqa: ARG001, numba's method of a statement
    """The variables in a part of a statement, in the order in which they stand."""
    found: list[Any] = []
    collect_variables(value, found)
    return found


def collect_variables(value: Any, found: list[Any]) -> None:
    """Append the variables in a value to those found."""
    if type(value) in WITHOUT_VARIABLES:
        return
    if isinstance(value, ir.Var):
        found.append(value)
    elif isinstance(value, ir.Inst):
        found.extend(value.list_vars())
    elif isinstance(value, (list, tuple)):
        for one in value:
            collect_variables(one, found)
    elif isinstance(value, dict):
        for one in value.values():
            collect_variables(one, found)


def used_and_defined(compute_use_defs: Any) -> Any:
    """numba's search for the variables that each block uses before it defines them, and for those that it defines."""
    # the pair that numba returns
    result_of = analysis._use_defs_result

    @wraps(compute_use_defs)
    def names_of_blocks(blocks: Mapping[int, Any]) -> Any:
        used: dict[int, set[str]] = {}
        defined: dict[int, set[str]] = {}
        for offset, block in blocks.items():
            uses, definitions = used.setdefault(offset, set()), defined.setdefault(offset, set())
            for statement in block.body:
                of_extension = analysis.ir_extension_usedefs.get(type(statement))
                if of_extension is not None:
                    of_extension(statement, uses, definitions)
                    continue
                names = [one.name for one in statement.list_vars()]
                if isinstance(statement, ir.Assign) and names.count(statement.target.name) == 1:
                    definitions.add(statement.target.name)
                uses.update(name for name in names if name not in definitions)
        return result_of(usemap=used, defmap=defined)

    return names_of_blocks
