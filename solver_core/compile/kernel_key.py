# SPDX-License-Identifier: GPL-3.0-or-later
"""The key of a compiled kernel: a digest of everything that determines its machine code, and of nothing else.

When numba compiles a kernel, it freezes the values of the globals that the kernel names and the kernels that it calls. The key
is computed from the same objects: the bytecode and constants of the kernel, the values of its globals, its defaults and its
compile options, and the same for every kernel that it reaches. Docstrings, comments, annotations, line numbers and file paths
are not part of it, nor is Python code in the same files that no kernel reaches.

A kernel that receives a named tuple reads its fields by position and may not name the class. The fields of the named tuples
among the argument types are therefore a second key, for each specialization (`fields_of`).

The message of an exception that a kernel raises is a constant of its machine code and hence part of the key. The kernels of
this package raise nothing, so no message of the package is compiled. The line number that numba stores with a `raise` is not
part of the key.

Globals of kernels must not change after the first call, which numba requires as well.
"""

from __future__ import annotations

import ast
import builtins
import enum
import hashlib
import inspect
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["UnknownConstant", "fields_of", "kernel_key", "reached_functions"]

KEY_DIGITS = 20  # hexadecimal digits of a key
# The files that determine how kernels are compiled, in addition to the options of each kernel.
COMPILER_FILES = ("kernel.py", "inner_library.py", "processor.py")
# Settings of numba that change machine code but are not in numba's own keys.
NUMBA_SETTINGS = ("OPT", "LOOP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")
# Flags of a code object that change machine code. When a kernel is called under a profiler, numba clears others.
CODE_FLAGS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR
PLAIN_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, type(...), range, slice)


class UnknownConstant(Exception):
    """A kernel names an object that has no key. The message names the object."""


def kernel_key(dispatcher: Any) -> str:
    """Return the key of a kernel: `KEY_DIGITS` hexadecimal digits.

    dispatcher: the result of numba's decorator.

    Raises UnknownConstant if the kernel, or one that it reaches, names an object of an unknown kind.
    """
    parts = sorted(_own_digest(reached) for reached in reached_functions(dispatcher))
    digest = hashlib.blake2b(how_kernels_are_compiled(), digest_size=KEY_DIGITS // 2)
    digest.update(_reference(dispatcher).encode())
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def reached_functions(dispatcher: Any) -> set[Any]:
    """Return the kernel and all kernels that it calls, directly or indirectly."""
    found, left = {dispatcher}, [dispatcher]
    while left:
        new = _callees(left.pop()) - found
        found |= new
        left.extend(new)
    return found


def fields_of(kind: Any) -> tuple[Any, ...]:
    """Return the class and the field names of each named tuple in a numba type or in a tuple of types, including nested ones.

    kind: a type of numba, a signature, or a tuple of types.

    Raises UnknownConstant for a kernel among the arguments, because the key does not cover its code.
    """
    from numba.core import types
    from numba.core.typing.templates import Signature

    if isinstance(kind, Signature):
        return fields_of(kind.args)
    if isinstance(kind, tuple):
        return tuple(field for one in kind for field in fields_of(one))
    if isinstance(kind, types.Dispatcher):
        raise UnknownConstant(f"the kernel {kind.dispatcher.py_func.__qualname__} is passed as an argument")
    if isinstance(kind, types.Optional):
        return fields_of(kind.type)
    # numba's type stubs lack the attributes of tuples.
    some: Any = kind
    nested = fields_of(tuple(some.types)) if isinstance(kind, types.BaseTuple) else ()
    if isinstance(kind, types.BaseNamedTuple):
        return (_name_of(some.instance_class), tuple(some.instance_class._fields), *nested)
    return nested


@cache
def how_kernels_are_compiled() -> bytes:
    """Return a digest of the inputs common to all kernels: the code of the compiler's files, versions, and numba's settings."""
    import llvmlite
    import numba
    import numpy as np
    from numba.core import config

    digest = hashlib.blake2b()
    for name in COMPILER_FILES:
        digest.update(_statements(Path(__file__).with_name(name).read_text(encoding="utf-8")).encode())
    numpy_version = np.__version__.split(".")[:2]
    settings = [(name, str(vars(config).get(name))) for name in NUMBA_SETTINGS]
    vectorized = os.environ.get("NUMBA_SLP_VECTORIZE")
    digest.update(repr((numba.__version__, llvmlite.__version__, numpy_version, settings, vectorized)).encode())
    return digest.digest()


def _statements(source: str) -> str:
    """Return the statements of a file without docstrings, comments and line numbers.

    From Python 3.13 on, the bytecode of a class contains the number of its first line.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)


@cache
def _own_digest(dispatcher: Any) -> bytes:
    """Return a digest of one function: its code, defaults, closure, options, and the values that it names."""
    function = _function_of(dispatcher)
    lines = [_reference(dispatcher), repr(_options_of(dispatcher))]
    lines += _code_lines(function.__code__, function.__doc__)
    lines.append(_described(function.__defaults__))
    lines.append(_described(sorted((function.__kwdefaults__ or {}).items())))
    lines += [f"{name} {_described(value)}" for name, value in _named_values(function)]
    return hashlib.blake2b("\n".join(lines).encode()).digest()


@cache
def _callees(dispatcher: Any) -> frozenset[Any]:
    """Yield the kernels that a function names, in the form in which kernels call them."""
    values = [value for _, value in _named_values(_function_of(dispatcher))]
    return frozenset(_called(one) for value in values for one in _kernels_in(value))


def _kernels_in(value: Any) -> Iterator[Any]:
    """Yield the kernels in a value: the value itself, or the elements of a tuple."""
    if _is_kernel(value):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _kernels_in(one)


def _is_kernel(value: Any) -> bool:
    from numba.core.dispatcher import Dispatcher

    return isinstance(value, Dispatcher)


def _called(dispatcher: Any) -> Any:
    """Return the object that is compiled when a kernel calls this one (`kernel.py`)."""
    return getattr(dispatcher, "for_kernels", dispatcher)


def _function_of(dispatcher: Any) -> FunctionType:
    return dispatcher.py_func if _is_kernel(dispatcher) else dispatcher


def _options_of(dispatcher: Any) -> list[tuple[str, str]]:
    """Return the compile options of a kernel."""
    compiler = dispatcher._compiler.pipeline_class
    options = {"pipeline_class": f"{compiler.__module__}.{compiler.__qualname__}", "locals": repr(dispatcher.locals)}
    options |= {name: repr(value) for name, value in dispatcher.targetoptions.items()}
    return sorted(options.items())


def _reference(dispatcher: Any) -> str:
    """Return a kernel's name and a digest of its own code, which distinguishes kernels of the same name."""
    function = _function_of(dispatcher)
    code = hashlib.blake2b("\n".join(_code_lines(function.__code__, function.__doc__)).encode(), digest_size=KEY_DIGITS // 2)
    return f"{_name_of(function)} {code.hexdigest()}"


def _named_values(function: FunctionType) -> list[tuple[str, Any]]:
    """Return the names in a function that may be globals or are in its closure, and their values.

    An attribute name that is also a global is included. This costs only an unnecessary dependency.
    """
    known = function.__globals__
    values = [(name, known[name]) for name in sorted(_names_in(function.__code__)) if name in known]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return values + [(name, cell.cell_contents) for name, cell in cells]


def _names_in(code: CodeType) -> set[str]:
    """Return the names in a function and in its nested functions."""
    return set(code.co_names).union(*(_names_in(one) for one in code.co_consts if isinstance(one, CodeType)))


def _code_lines(code: CodeType, docstring: str | None) -> list[str]:
    """Yield lines of text that describe everything relevant in a code object."""
    constants = list(code.co_consts)
    if docstring is not None and constants and constants[0] == docstring:
        constants[0] = None
    lines = [code.co_name, code.co_code.hex(), getattr(code, "co_exceptiontable", b"").hex()]
    lines.append(repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & CODE_FLAGS)))
    lines.append(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)))
    for constant in constants:
        lines += _code_lines(constant, None) if isinstance(constant, CodeType) else [_described(constant)]
    return lines


def _described(value: Any) -> str:
    """Return a text that is different for different constants.

    Raises UnknownConstant for an object of an unknown kind.
    """
    import numpy as np

    if isinstance(value, enum.Enum):
        return f"{_described(type(value))}.{value.name}"
    if isinstance(value, PLAIN_CONSTANTS):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.tobytes().hex()}"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        layout = value.dtype.descr, value.shape, value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable
        return f"array {layout!r} {hashlib.blake2b(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple | list):
        return f"{_described(type(value))}({', '.join(map(_described, value))})"
    if isinstance(value, frozenset | set):
        return f"{type(value).__name__}({', '.join(sorted(map(_described, value)))})"
    if isinstance(value, dict):
        return _described(list(value.items()))
    if isinstance(value, type):
        return _described_class(value)
    if _is_kernel(value):
        return _reference(_called(value))
    return _described_foreign(value)


def _described_class(value: type) -> str:
    """Describe a class by its name, an enumeration also by its members, and a named tuple also by its fields and their
    defaults."""
    if issubclass(value, enum.Enum):
        members = [(name, _described(member.value)) for name, member in value.__members__.items()]
        return f"{_name_of(value)} {members!r}"
    fields = getattr(value, "_fields", None)
    if issubclass(value, tuple) and fields is not None:
        defaults = {name: _described(default) for name, default in getattr(value, "_field_defaults", {}).items()}
        return f"{_name_of(value)} {fields!r} {defaults!r}"
    if _is_ours(value.__module__) and not issubclass(value, BaseException):
        raise UnknownConstant(f"the class {_name_of(value)}")
    return _name_of(value)


def _described_foreign(value: Any) -> str:
    """Describe an object of Python, numpy or numba by its name. Their versions are part of every key."""
    import numpy as np
    from numba.core.types import Type

    if isinstance(value, ModuleType) and not _is_ours(value.__name__):
        return value.__name__
    if isinstance(value, np.ufunc | np.dtype | Type):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, FunctionType | BuiltinFunctionType) and not _is_ours(value.__module__ or "numpy"):
        return _name_of(value)
    raise UnknownConstant(f"{value!r}, a {type(value).__name__}")


def _is_ours(module: str) -> bool:
    """Return True if a module may be edited between two runs, that is, if it does not belong to Python, numpy, numba, llvmlite
    or scipy."""
    root = module.partition(".")[0]
    return root not in ("numpy", "numba", "llvmlite", "scipy", builtins.__name__) and root not in sys.stdlib_module_names


def _name_of(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
