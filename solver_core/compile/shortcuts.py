# SPDX-License-Identifier: GPL-3.0-or-later
"""Shortcuts through numba's compiler.

Each shortcut gives the same result as numba, so kernels and their keys do not change. Profiles of a first `sc.solve` and of a
first bake showed six kinds of superfluous work:

- numba finds the type of a call by trying all implementations of the function in turn. The calls `a + b` and `a[i]` with the
  same types occur thousands of times in the kernels, and each is searched again during lowering. The result is now cached;
- each of these trials compares the compile options, twenty numbers that were collected again for each comparison;
- to inline a kernel part, numba copies it block by block, and with each block all variables of the part, twice. The variables
  are now copied once for all blocks;
- numba sets up a pass manager for every function that a module names. Seven of eight are only declared there, and have nothing
  to optimize;
- to count a reference to a value, numba extracts every member of it, down to each number of an array's shape. These were a
  sixth of all instructions, and LLVM removed them. Only the members that have a count are now extracted;
- to read a field of an array (its address, its shape), numba zeroes memory for the array twice, stores it there and loads the
  field. The field is now extracted from the array, which is stored only if something needs its address.

The shortcuts depend on numba's internals, so `kernel_lock.py` uses them only with the tested versions of numba.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache, wraps
from typing import Any, NamedTuple

from llvmlite.ir import IRBuilder
from numba.core import cgutils
from numba.core.codegen import CPUCodeLibrary
from numba.core.inline_closurecall import InlineWorker
from numba.core.ir import Scope
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.types import BaseFunction
from numba.np import arrayobj

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
        (InlineWorker, "inline_ir", copying_scopes_once(InlineWorker.inline_ir)),
        (CPUCodeLibrary, "_optimize_functions", of_defined_functions(CPUCodeLibrary._optimize_functions)),
        (NRTContext, "get_meminfos", counts_in_value),
        (arrayobj, "make_array", reading_from_values(arrayobj.make_array)),
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


def copying_scopes_once(inline_ir: Any) -> Any:
    """Return numba's inlining of a function, with one copy of a scope (all variables of a function) for all its blocks.

    numba copies each block by itself. All blocks refer to the scope, so the time was proportional to blocks times variables.
    """

    @wraps(inline_ir)
    def inline(*arguments: Any, **named: Any) -> Any:
        # By the address of a scope, which lives as long as the call: its copy, and all that was copied with it.
        copies: dict[int, tuple[Scope, dict[int, Any]]] = {}

        def copied(scope: Any, memo: dict[int, Any]) -> Scope:
            if id(scope) in copies:
                copy, with_it = copies[id(scope)]
                memo.update(with_it)
                return copy
            memo[id(scope)] = copy = Scope.__new__(Scope)
            vars(copy).update({name: deepcopy(value, memo) for name, value in vars(scope).items()})
            copies[id(scope)] = copy, {place: one for place, one in memo.items() if place != id(memo)}
            return copy

        # The compiler's lock is held, so no other thread copies a scope meanwhile.
        replaced: Any = Scope
        replaced.__deepcopy__ = copied
        try:
            return inline_ir(*arguments, **named)
        finally:
            del replaced.__deepcopy__

    return inline


class DefinedFunctions:
    """A module of LLVM that shows only the functions that it defines. It has what numba's passes over functions ask for."""

    def __init__(self, module: Any):
        self._module = module

    @property
    def functions(self) -> list[Any]:
        return [function for function in self._module.functions if not function.is_declaration]

    @property
    def data_layout(self) -> str:
        return self._module.data_layout

    @data_layout.setter
    def data_layout(self, layout: str) -> None:
        self._module.data_layout = layout


def of_defined_functions(optimize_functions: Any) -> Any:
    """Return numba's passes over the functions of a module, without those that the module only declares."""

    @wraps(optimize_functions)
    def optimize(library: Any, module: Any) -> None:
        optimize_functions(library, DefinedFunctions(module))

    return optimize


def counts_in_value(context: Any, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """Return the types and the addresses of all reference counts in a value, in the order of its members."""
    models = context._context.data_model_manager
    if not has_counts(models, kind):
        return []
    model = models[kind]
    found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for member, extracted_from in model.traverse(builder):
        if has_counts(models, member):
            found.extend(context.get_meminfos(builder, member, extracted_from(value)))
    return found


@cache
def has_counts(models: Any, kind: Any) -> bool:
    """Return whether values of a type contain reference counts."""
    model = models[kind]
    # A model lists its members without a builder, which only their extraction needs.
    return model.has_nrt_meminfo() or any(has_counts(models, member) for member, _ in model.traverse(None))


class ArrayValue:
    """The fields of an array, read from its value. Mixed into numba's class, which has the array in memory.

    _given: the value of the array. None once the array is in memory, because something needs its address or wrote a field.
    """

    _given: Any = None
    _fe_type: Any
    _get_be_type: Any

    def __init__(self, context: Any, builder: Any, value: Any = None, ref: Any = None):
        in_memory: Any = super()
        if value is None or ref is not None:
            in_memory.__init__(context, builder, value, ref)
            return
        self._context, self._builder, self._given = context, builder, value
        self._datamodel = context.data_model_manager[self._fe_type]
        self._be_type = self._get_be_type(self._datamodel)
        self._block = builder.block
        self._before = self._block.instructions[-1] if self._block.instructions else None

    def _store(self) -> Any:
        """Store the array in memory where the value was given, and return its address."""
        builder, value, self._given = self._builder, self._given, None
        self._value = self._outer_ref = address = cgutils.alloca_once(builder, self._be_type)
        there = IRBuilder(self._block)
        if self._block is builder.function.entry_basic_block:
            # numba has put the memory at the end of this block, and zeroed it.
            there.position_at_end(self._block)
            if self._block.is_terminated:
                there.position_before(self._block.terminator)
        elif self._before is None:
            there.position_at_start(self._block)
        else:
            there.position_after(self._before)
        at = there._anchor
        there.store(value, address)
        if builder.block is self._block and builder._anchor >= at:
            builder._anchor += 1
        return address

    def __getattr__(self, field: str) -> Any:
        if field in ("_value", "_outer_ref") and self._given is not None:
            return self._store()
        in_memory: Any = super()
        return in_memory.__getattr__(field)

    def __getitem__(self, index: int) -> Any:
        in_memory: Any = super()
        return in_memory.__getitem__(index) if self._given is None else self._builder.extract_value(self._given, index)

    @property
    def shape(self) -> Any:
        in_memory: Any = super()
        return in_memory.shape if self._given is None else self[self._datamodel.get_field_position("shape")]

    def _getvalue(self) -> Any:
        in_memory: Any = super()
        return in_memory._getvalue() if self._given is None else self._given


def reading_from_values(make_array: Any) -> Any:
    """Return numba's search for the class with the fields of an array, for an `ArrayValue`. Each type has one class."""

    @cache
    def make(kind: Any) -> Any:
        in_memory = make_array(kind)
        # A type that contains an array converts its own address.
        return type("ArrayValue", (ArrayValue, in_memory), {}) if kind.as_array is kind else in_memory

    return make
