# SPDX-License-Identifier: GPL-3.0-or-later
"""The shortcuts through numba's code give the answers that numba gives, and the same machine code."""

from __future__ import annotations

import copy
import operator
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from solver_core.compile.shortcuts import copying_scopes_once, of_defined_functions, take_shortcuts

ROOT = Path(__file__).resolve().parents[3]

USE = """
import sys
from solver_core.compile import kernel_lock
if sys.argv[1] == "without":
    kernel_lock.use_shortcuts = lambda dispatcher: None
from numba.core.types import BaseFunction
from solver_core.compile_all.rehearsal import particle
from solver_core.solvers.block_operator import operator_of
operator_of(particle())
print(hasattr(BaseFunction.get_call_type, "__wrapped__"))
print(operator_of.inspect_asm(operator_of.signatures[0]))
"""


@pytest.fixture(autouse=True)
def shortcuts():
    take_shortcuts()


def test_compile_options_are_equal_where_all_their_values_are():
    from numba.core.compiler import Flags

    plain, by_hand = Flags(), Flags()
    other: Any = Flags()
    by_hand.nrt, by_hand.error_model = Flags().nrt, Flags().error_model
    other.nrt = True
    assert plain == by_hand and hash(plain) == hash(by_hand)
    assert plain != other and other == other.copy() and hash(other) == hash(other.copy())
    assert plain != 1
    assert {plain: 1}[by_hand] == 1 and other not in {plain: 1}


def test_the_type_of_a_call_is_the_one_that_a_search_finds():
    from numba.core import types
    from numba.core.registry import cpu_target

    context: Any = cpu_target.typing_context
    context.refresh()
    vector, matrix = types.float64[::1], types.float64[:, ::1]
    calls = [
        (operator.add, (types.float64, types.int64)),
        (operator.add, (types.int64, types.int64)),
        (operator.getitem, (vector, types.int64)),
        (operator.getitem, (matrix, types.UniTuple(types.int64, 2))),
        (operator.lt, (types.float64, types.float64)),
    ]
    for function, arguments in (*calls, *calls):
        kind = context.resolve_value_type(function)
        found = type(kind).get_call_type.__wrapped__(kind, context, arguments, {})
        implementation = kind.get_impl_key(found)
        kept = kind.get_call_type(context, arguments, {})
        assert (kept.return_type, kept.args) == (found.return_type, found.args)
        assert kind.get_impl_key(kept) == implementation


def test_a_call_that_has_no_type_is_refused_each_time():
    from numba.core import errors, types
    from numba.core.registry import cpu_target

    context: Any = cpu_target.typing_context
    kind = context.resolve_value_type(operator.lshift)
    for _ in range(2):
        with pytest.raises(errors.TypingError):
            kind.get_call_type(context, (types.float64, types.float64), {})


def test_the_blocks_of_an_inlined_function_share_one_copy_of_its_scope():
    from numba.core.ir import Loc, Scope

    scope = Scope(None, Loc("file", 1))
    variable = scope.define("x", scope.loc)

    def inline_ir():
        return copy.deepcopy((scope, variable)), copy.deepcopy((scope, variable))

    (one, its), (other, same) = copying_scopes_once(inline_ir)()
    assert one is other and one is not scope
    assert one.get_exact("x") is its is same and its is not variable
    assert its.scope is one and variable.scope is scope
    assert copy.deepcopy(scope) is not copy.deepcopy(scope) and not hasattr(Scope, "__deepcopy__")


def test_functions_that_are_only_declared_are_not_optimized():
    from llvmlite import binding as llvm

    module = llvm.parse_assembly("declare void @there()\ndefine void @here() {\n  ret void\n}")
    seen = []

    def optimize_functions(library, module):
        module.data_layout = "e"
        seen.extend(function.name for function in module.functions)

    of_defined_functions(optimize_functions)(None, module)
    assert seen == ["here"] and module.data_layout == "e"


def test_the_reference_counts_of_a_value_are_found_without_its_other_members():
    from llvmlite import ir
    from numba.core import types

    array = types.float64[:, ::1]
    kind = types.Tuple([array, types.int64, types.UniTuple(array, 2)])
    context, builder, (value,) = function_of(kind)
    counts = context.nrt.get_meminfos(builder, kind, value)
    assert [counted for counted, _ in counts] == [types.MemInfoPointer(types.float64)] * 3
    assert len({id(address) for _, address in counts}) == 3
    assert len(builder.block.instructions) == 3 + 1 + 3  # the arrays, their tuple, and the counts
    assert all(isinstance(one, ir.instructions.ExtractValue) for one in builder.block.instructions)
    assert not context.nrt.get_meminfos(builder, types.UniTuple(types.float64, 3), value)


def test_the_fields_of_an_array_are_read_from_its_value_until_one_is_written():
    from llvmlite import binding as llvm
    from numba.core import types
    from numba.np import arrayobj

    array = types.float64[:, ::1]
    context, builder, (value, size) = function_of(array, types.int64)
    given = arrayobj.make_array(array)(context, builder, value=value)
    builder.mul(given.itemsize, builder.extract_value(given.shape, 1))
    assert given._getvalue() is value
    assert not any(one.opname in ("alloca", "load", "store") for one in builder.block.instructions)
    with builder.if_then(builder.icmp_signed(">", size, size)):
        given.itemsize = size
    assert given.itemsize.opname == given._getvalue().opname == "load"
    builder.ret_void()
    llvm.parse_assembly(str(builder.module)).verify()


def function_of(*kinds: Any) -> Any:
    """Return numba's context, a builder at the start of a function with arguments of these types, and the arguments."""
    from llvmlite import ir
    from numba.core.registry import cpu_target

    # a context of its own, because numba keeps whether reference counts are enabled when a context is first asked for them
    context: Any = cpu_target.target_context.subtarget(enable_nrt=True)
    context.refresh()
    types = [context.get_value_type(kind) for kind in kinds]
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), types), "function")
    return context, ir.IRBuilder(function.append_basic_block()), function.args


@pytest.mark.slow
def test_the_machine_code_is_that_without_the_shortcuts(tmp_path):
    said = {}
    for how in ("with", "without"):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / how), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", USE, how]
        said[how] = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    (with_shortcuts, code), (without, plain) = (said[how].split("\n", 1) for how in ("with", "without"))
    assert (with_shortcuts, without) == ("True", "False")
    # numba numbers the functions that it meets in the names of symbols, and meets fewer
    code, plain = (re.sub(r"B\d+v\d+", "", text) for text in (code, plain))
    assert code == plain and "operator_of" in code
