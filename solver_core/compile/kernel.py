# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of kernel, functions that numba compiles; there are four, by who calls them and whether they make arrays.

kernel: called by Python. Where other kernels call it as well, they have it as an inner kernel: its machine code is made only if
Python calls it. `kernel_part` is a part of a kernel, of any kind, written as
a function to be read: it is compiled within its only caller, which must be of the kind that it would be, and not twice.

inner_kernel: called by other kernels only, which saves making machine code of it that nobody calls (`inner_library.py`).

leaf_kernel: an inner kernel that makes no array and hands none on that its callers do not hold. numba counts the references
to every array that a kernel is given, one atomic operation for each array of each call, which was most of the time; here it
does not. So a leaf kernel must not allocate, and what it returns must be scalars, or views that only leaf kernels use.

inlined_kernel: a small leaf kernel, or a hot one, that becomes part of its callers: the arrays of a work space go by value,
seven words and more each, which can take longer than what the kernel does with them.

All are compiled with the same options, for numba compiles what it has itself, as np.empty, once more for each other set of
them. Division by zero gives inf or nan, as in numpy.

All are compiled for the types of their arguments, not for literals in calls (`for_any_value`).

This, inner and leaf kernels lean on numba's insides, which were tried with the versions in `TESTED` and may be others in the
next. With another numba, or STICTION_PLAIN_KERNELS=1 in the environment, all kernels are compiled as numba does by itself, and
a warning says so: the results are the same, compiling and steps take longer.

Whoever imports a kernel comes by here first, so this is where they are told where they are kept (`kernel_cache.py`).
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

# numpy's, as arguments of kernels: with a numba that is not tested, a Python literal triggers its own specialisation.
TRUE, FALSE = np.bool_(True), np.bool_(False)

# The versions of numba, from the first to before the second, whose insides the inner kernels lean on; also in pyproject.toml.
TESTED = (0, 68), (0, 69)

# An option that is not set, a kernel takes over from the one that it is first compiled for. `forceinline` has to be: of inlined
# kernels, the whole narrow phase took it over. No kernel is handed to code of others as a C function.
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "forceinline": False,
    "nogil": True,
    "no_cfunc_wrapper": True,
}


def is_tested(version: str) -> bool:
    """Whether the insides of this version of numba are those that inner and leaf kernels lean on."""
    first, beyond = TESTED
    return first <= tuple(int(part) for part in version.split(".")[:2]) < beyond


def inner_options() -> dict[str, Any]:
    """What makes a kernel one that only kernels call; none for a numba whose insides may be others, which is warned of."""
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
    """A decorator of kernels that are compiled for types alone: f(x, 0) and f(x, 1) in another kernel call the same one, where
    numba would compile one for the literal 0 and one for 1. LLVM still sees the values where it writes one into its caller."""

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
    """A decorator of kernels that are kept from one process to the next (`kernel_cache.py`).

    The kernel has the function that keeps it, for `kernel_lock.py`. A process can have several copies of this package, such as
    an extension that was reloaded, and each copy keeps its own kernels. numba's own cache, by its option `cache`, knows neither
    the kernels that a kernel calls nor an inner kernel from the kernel of the same name: it would load the one for the other.
    """

    def decorated(function: Any) -> Any:
        compiled = decorate(function)
        compiled.keep_under_key = keep_under_key
        return compiled

    return decorated


def with_inner(decorate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator of kernels that other kernels call as inner kernels.

    numba makes machine code of everything that a kernel calls as a kernel, and makes it again within the caller: the cascade of
    solvers was compiled three times, within a step's islands, within one island, and by itself.
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
