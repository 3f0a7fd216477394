# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel's key changes with everything that changes its machine code, and with nothing else."""

from __future__ import annotations

import ast
import cProfile
import itertools
import sys
from collections import namedtuple
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from numba import njit, types

from solver_core.compile import kernel_key as keys
from solver_core.compile.kernel_cache import KernelResults
from solver_core.compile.kernel_key import UnknownConstant, fields_of, kernel_key
from solver_core.compile_all.keys import kernels_of_package

ROOT = Path(__file__).resolve().parents[3]
NUMBERS = itertools.count()

SOURCE = '''
"""What this module is for."""
from enum import IntEnum
from typing import NamedTuple
import math
import numpy as np
from numba import njit

LIMIT = 3
TABLE = np.array([1.0, 2.0])
UNUSED = 5
BOUNDS = (0.5, -0.0)

class Kind(IntEnum):
    OPEN = 0
    CLOSED = 1

class Pair(NamedTuple):
    first: float
    second: float = 2.0

def in_python(x):
    """Not called by a kernel."""
    raise ValueError(f"{x} is wrong")

@njit
def inner(x, scale=1.0):
    """Half of it."""
    return 0.5 * x * scale  # a half

@njit(error_model="numpy")
def part(x: float) -> float:
    return inner(x) + BOUNDS[1]

@njit(error_model="numpy")
def kernel(x, kind):
    """Adds up.

    x: a number.
    """
    total = 0.0
    for i in range(LIMIT):
        total += part(x) + TABLE[i % 2] + math.sqrt(x)
    if kind == Kind.CLOSED:
        return Pair(total, 1.0).first
    return total + np.sum(np.array([y * LIMIT for y in (1.0, 2.0)]))
'''

CHANGES = {
    "a constant": ("LIMIT = 3", "LIMIT = 4"),
    "the type of a constant": ("LIMIT = 3", "LIMIT = np.int64(3)"),
    "a float constant by its last bit": ("(0.5, -0.0)", "(0.5000000000000001, -0.0)"),
    "the sign of a zero that a called kernel reads": ("-0.0", "0.0"),
    "an entry of an array": ("[1.0, 2.0]", "[1.0, 3.0]"),
    "the type of an array": ("np.array([1.0, 2.0])", "np.array([1.0, 2.0], np.float32)"),
    "whether an array may be written to": ("UNUSED = 5", "TABLE.flags.writeable = False"),
    "a called kernel": ("0.5 * x", "0.25 * x"),
    "the operation of a called kernel": ("x * scale", "x / scale"),
    "the default of a called kernel": ("scale=1.0", "scale=2.0"),
    "an option of the kernel": ('"numpy")\ndef kernel', '"numpy", fastmath=True)\ndef kernel'),
    "an option of a called kernel": ("@njit\n", "@njit(boundscheck=True)\n"),
    "how a called kernel is inlined": ("@njit\n", '@njit(inline="always")\n'),
    "a member of an enumeration": ("CLOSED = 1", "CLOSED = 2"),
    "the order of a named tuple's fields": ("first: float\n    second: float = 2.0", "second: float\n    first: float = 2.0"),
    "a field of a named tuple": ("second: float = 2.0", "other: float = 2.0"),
    "the default of a named tuple's field": ("second: float = 2.0", "second: float = 3.0"),
    "a constant in a comprehension": ("in (1.0, 2.0)", "in (1.0, 3.0)"),
    "which function of a module is called": ("math.sqrt", "math.exp"),
    "the module that a function is from": ("import math", "import cmath as math"),
    "the bound of a loop": ("range(LIMIT)", "range(LIMIT + 1)"),
}
NO_CHANGES = {
    "the module's docstring": ("What this module is for", "What another is for"),
    "a docstring": ("Adds up.", "Sums up, in order."),
    "a called kernel's docstring": ("Half of it.", "One half."),
    "a comment": ("# a half", "# one half"),
    "lines before it": ("LIMIT = 3", "# three\n\n\nLIMIT = 3"),
    "space within a line": ("0.5 * x * scale", "0.5*x * scale"),
    "an annotation": ("def part(x: float) -> float", "def part(x: int) -> complex"),
    "a constant that no kernel names": ("UNUSED = 5", "UNUSED = 6"),
    "the error message of a Python function": ("is wrong", "is not right"),
    "another function": ("def in_python(x)", "def in_python(x, y=0)"),
    "the type in the annotation of a field": ("first: float", "first: int"),
}


def module_of(text: str) -> ModuleType:
    """A module with this text, under the same name each time."""
    module = ModuleType("edited_kernels")
    sys.modules["edited_kernels"] = module
    # another file each time, as if it had been moved
    exec(compile(text, f"edited_{next(NUMBERS)}.py", "exec"), vars(module))
    return module


def key_of(text: str) -> str:
    return kernel_key(module_of(text).kernel)


def edited(change: tuple[str, str]) -> str:
    assert change[0] in SOURCE
    return SOURCE.replace(*change, 1)


def test_the_same_text_has_the_same_key():
    assert key_of(SOURCE) == key_of(SOURCE)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_the_machine_code_changes_the_key(change):
    assert key_of(edited(change)) != key_of(SOURCE)


@pytest.mark.parametrize("change", NO_CHANGES.values(), ids=NO_CHANGES)
def test_what_leaves_the_machine_code_alone_leaves_the_key_alone(change):
    assert key_of(edited(change)) == key_of(SOURCE)


def test_all_changes_have_different_keys():
    assert len({key_of(edited(change)) for change in CHANGES.values()}) == len(CHANGES)


def test_a_call_under_a_profiler_leaves_the_key_alone():
    """numba clears flags of the code of a kernel that is called under a profiler. A kernel that calls it was compiled again."""

    @njit
    def doubled(x):
        return 2.0 * x

    before = keys._code_lines(doubled.py_func.__code__, None)
    with cProfile.Profile():
        assert doubled(1.0) == 2.0
    assert keys._code_lines(doubled.py_func.__code__, None) == before


def test_a_setting_of_numba_that_changes_machine_code_changes_the_key(monkeypatch):
    before = key_of(SOURCE)
    for name, value in (("NUMBA_SLP_VECTORIZE", "1"),):
        monkeypatch.setenv(name, value)
        keys.how_kernels_are_compiled.cache_clear()
        assert key_of(SOURCE) != before
    monkeypatch.undo()
    keys.how_kernels_are_compiled.cache_clear()
    assert key_of(SOURCE) == before


@pytest.mark.parametrize("name", keys.COMPILER_FILES)
def test_the_code_of_the_compiler_counts_and_its_docstrings_and_comments_do_not(monkeypatch, tmp_path, name):
    for file in keys.COMPILER_FILES:
        (tmp_path / file).write_bytes((ROOT / "solver_core" / "compile" / file).read_bytes())
    monkeypatch.setattr(keys, "__file__", str(tmp_path / "kernel_key.py"))

    def digest() -> bytes:
        keys.how_kernels_are_compiled.cache_clear()
        return keys.how_kernels_are_compiled()

    try:
        before, text = digest(), (tmp_path / name).read_text()
        docstring = ast.get_docstring(ast.parse(text), clean=False)
        (tmp_path / name).write_text(text.replace(docstring, "Another docstring.") + "\n# a comment\n")
        assert digest() == before
        (tmp_path / name).write_text(text + "\nANOTHER = 1\n")
        assert digest() != before
    finally:
        monkeypatch.undo()
        keys.how_kernels_are_compiled.cache_clear()


class Motion(NamedTuple):
    position: object
    velocity: object


class Kind(IntEnum):
    OPEN = 0


def test_the_fields_of_named_tuples_among_the_arguments_are_in_the_key_of_a_specialization():
    """A kernel that is given a named tuple reads fields by their position, and need not name the class."""
    array = types.Array(types.float64, 1, "C")
    motion = types.NamedTuple((array, array), Motion)
    before = fields_of((types.int64, motion))
    assert fields_of((types.UniTuple(motion, 2),)) == 2 * before and fields_of((types.Optional(motion),)) == before
    assert fields_of((array, types.int64, types.IntEnumMember(Kind, types.int64))) == ()
    same_name = namedtuple("Motion", ("velocity", "position"), module=Motion.__module__)
    assert fields_of((types.int64, types.NamedTuple((array, array), same_name))) != before


def test_a_kernel_with_an_object_of_an_unknown_kind_has_no_key():
    unknown = SOURCE.replace("UNUSED = 5", "class Other: pass\nLIMIT = Other()").replace("LIMIT = 3", "")
    with pytest.raises(UnknownConstant, match="Other"):
        key_of(unknown)


def test_a_kernel_as_an_argument_has_no_key():
    with pytest.raises(UnknownConstant, match="kernel"):
        fields_of((types.Dispatcher(module_of(SOURCE).kernel),))


def test_all_kernels_of_the_package_have_keys_of_their_own():
    found = kernels_of_package()
    assert len(found) > 500
    everything = [*found, *(one.for_kernels for one in found if hasattr(one, "for_kernels"))]
    assert len({kernel_key(one) for one in everything}) == len(everything)


def test_a_kernel_that_kernels_call_is_an_inner_kernel_for_them():
    from solver_core.dynamics.solve.islands import _solve_each, _solve_in_turn
    from solver_core.solvers.coulomb.cascade import solve_system

    reached = keys.reached_functions(_solve_in_turn)
    assert {_solve_each.for_kernels, solve_system.for_kernels} <= reached
    assert not {_solve_each, solve_system} & reached


@pytest.mark.parametrize("name", ["FIRST_PENALTY", "JOINT_PENALTY", "NEWTON_STEPS"])
def test_a_constant_of_a_projection_is_in_the_key_of_all_that_projects(monkeypatch, name):
    from solver_core.collision.detect import all_contacts
    from solver_core.dynamics.solve.islands import _solve_in_turn
    from solver_core.solvers.kaufman_2008 import projection

    def all_anew() -> list[str]:
        for known in (keys._own_digest, keys._callees):
            known.cache_clear()
        return [kernel_key(one) for one in (projection.project, _solve_in_turn, all_contacts)]

    before = all_anew()
    monkeypatch.setattr(projection, name, getattr(projection, name) + 1)
    after = all_anew()
    monkeypatch.undo()
    assert [x == y for x, y in zip(before, after, strict=True)] == [False, False, True]
    assert all_anew() == before


KINDS = ("kernel", "kernel_part", "inner_kernel", "leaf_kernel", "inlined_kernel")


def test_no_kernel_of_the_package_raises_so_no_message_is_in_machine_code():
    for source in (ROOT / "solver_core").rglob("*.py"):
        for function in ast.walk(ast.parse(source.read_bytes())):
            if isinstance(function, ast.FunctionDef) and {ast.unparse(one) for one in function.decorator_list} & set(KINDS):
                raising = [node for node in ast.walk(function) if isinstance(node, ast.Raise | ast.Assert)]
                assert not raising, f"{source}: {function.name} raises; Python raises for what a kernel returns"


def test_numba_can_say_that_a_kernel_cannot_be_cached():
    """It names the file by an attribute of the locator, and a bake ended because there was none."""
    function = kernels_of_package()[0].py_func
    assert KernelResults(function)._locator._py_file == function.__code__.co_filename
