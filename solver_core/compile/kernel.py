# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of kernels (functions that numba compiles). They differ in their callers and in whether they allocate arrays.

kernel: called from Python. If other kernels call it too, they get it as an inner kernel, and its machine code is generated only
    if Python calls it.

kernel_part: a part of a kernel of any kind, written as a function for readability. It is compiled only within its only caller,
    which must be of the kind that the part would have.

inner_kernel: called only by other kernels. This avoids generating machine code that nobody calls (`inner_library.py`).

leaf_kernel: an inner kernel that allocates no arrays and returns none. numba counts the references to every array argument,
    with an atomic operation for each array of each call, which took most of the time. A leaf kernel does not count them. Its
    results must therefore be scalars, or views that only leaf kernels use.

inlined_kernel: a small or frequently called leaf kernel that becomes part of its callers. The arrays of a workspace are passed
    by value, with seven or more words each, and that can take longer than the kernel itself.

All kinds share one set of options, because numba recompiles its own functions, such as np.empty, for each distinct set.
Division by zero gives inf or nan, as in numpy.

All are compiled for the types of their arguments, not for literal values in calls (`for_any_value`).

These features, and inner and leaf kernels, depend on numba's internals. They were tested with the versions in `TESTED`, and
other versions may differ. With another version, or with STICTION_PLAIN_KERNELS=1 in the environment, numba compiles all kernels
in its ordinary way, and a warning is given. The results are the same, but compilation and steps take longer.

Every module with kernels imports this one first. This module therefore also tells kernels where they are cached
(`kernel_cache.py`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core.types import unliteral

from .kernel_cache import keep_under_key, survive_lost_types
from .kernel_lock import compile_in_turn
from .processor import use_level

__all__ = ["FALSE", "TRUE", "inlined_kernel", "inner_kernel", "kernel", "kernel_part", "leaf_kernel"]

# numpy booleans for arguments of kernels: with an untested numba, a Python literal would create its own specialization.
TRUE, FALSE = np.bool_(True), np.bool_(False)

# The tested range of numba versions, without the upper bound; also in pyproject.toml.
TESTED = (0, 68), (0, 69)

# A kernel inherits each option that is not set from the kernel for which it is first compiled. `forceinline` must therefore be
# set; otherwise the whole narrow phase inherited it from inlined kernels. No kernel is used as a C function.
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "forceinline": False,
    "nogil": True,
    "no_cfunc_wrapper": True,
}


def is_tested(version: str) -> bool:
    """Return True if inner and leaf kernels were tested with this version of numba."""
    first, beyond = TESTED
    return first <= tuple(int(part) for part in version.split(".")[:2]) < beyond


def inner_options() -> dict[str, Any]:
    """Return the options that make a kernel an inner kernel. With an untested numba, return none and warn."""
    if os.environ.get("STICTION_PLAIN_KERNELS") == "1":
        why = "because of STICTION_PLAIN_KERNELS"
    elif not is_tested(numba.__version__):
        why = f"because numba {numba.__version__} is untested ({TESTED[0][0]}.{TESTED[0][1]} is tested)"
    else:
        from .inner_library import InnerCompiler

        return {"no_cpython_wrapper": True, "pipeline_class": InnerCompiler}
    warnings.warn(f"kernels are compiled plainly, {why}: compiling and steps take longer", RuntimeWarning, stacklevel=2)
    return {}


INNER_OPTIONS: dict[str, Any] = OPTIONS | inner_options()
LEAF_OPTIONS: dict[str, Any] = INNER_OPTIONS | ({"_nrt": False} if "pipeline_class" in INNER_OPTIONS else {})
INLINED_OPTIONS: dict[str, Any] = LEAF_OPTIONS | {"forceinline": True}


def for_any_value(decorate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorate a kernel to be compiled for argument types only.

    Without it, numba would compile f(x, 0) and f(x, 1) in another kernel twice, for the literals 0 and 1. LLVM still sees the
    values if it inlines the kernel.
    """

    def decorated(function: Any) -> Any:
        compiled = decorate(function)
        if "pipeline_class" in INNER_OPTIONS:
            template_of = compiled.get_call_template

            def get_call_template(args: Any, kws: Any) -> Any:
                return template_of([unliteral(one) for one in args], {name: unliteral(one) for name, one in kws.items()})

            compiled.get_call_template = get_call_template
        return compiled

    return decorated


def kept(decorate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorate a kernel to be stored from one process to the next (`kernel_cache.py`).

    The decorated kernel keeps a reference to the function that stores it, for `kernel_lock.py`. A process can have several
    copies of this package, such as a reloaded extension, and each copy stores its own kernels. numba's own cache (its option
    `cache`) does not track the kernels that a kernel calls. It also cannot distinguish an inner kernel from the kernel of the
    same name, and would load one for the other.
    """

    def decorated(function: Any) -> Any:
        compiled = decorate(function)
        compiled.keep_under_key = keep_under_key
        return compiled

    return decorated


def with_inner(decorate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorate a kernel so that other kernels call it as an inner kernel.

    numba would generate machine code for every called kernel, and again within each caller. The solvers were then compiled
    three times: within the islands of a step, within one island, and separately.
    """

    def decorated(function: Any) -> Any:
        compiled = decorate(function)
        if "pipeline_class" in INNER_OPTIONS:
            inner = inner_kernel(function)
            compiled.for_kernels = inner
            compiled.get_call_template, compiled.get_overload = inner.get_call_template, inner.get_overload
        return compiled

    return decorated


use_level()
survive_lost_types()
compile_in_turn()

kernel_part = kept(njit(**OPTIONS, inline="always"))
inner_kernel = for_any_value(kept(njit(**INNER_OPTIONS)))
kernel = with_inner(for_any_value(kept(njit(**OPTIONS))))
leaf_kernel = for_any_value(kept(njit(**LEAF_OPTIONS)))
inlined_kernel = for_any_value(kept(njit(**INLINED_OPTIONS)))
