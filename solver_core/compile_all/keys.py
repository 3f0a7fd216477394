# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of all kernels of today's sources, which it loads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from ..compile.folders import PACKAGE, kernel_folder
from ..compile.kernel_cache import name_with_key
from ..compile.stock import KeyList
from . import rehearsal

__all__ = ["all_keys", "kernels_of_package"]


def kernels_of_package() -> list[Any]:
    """All kernels in the modules of this package that are loaded, but for those that are only parts of others."""
    root = rehearsal.__name__.rpartition(".compile_all.")[0]
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(f"{root}.")]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    ours = [one for one in found if one.targetoptions.get("inline") != "always" and one.py_func.__module__.startswith(root)]
    return sorted(ours, key=lambda one: (one.py_func.__module__, one.py_func.__qualname__))


def all_keys() -> KeyList:
    """The names and keys of all kernels, by the folder that their files go to."""
    keys: KeyList = {}
    for kernel in kernels_of_package():
        folder = kernel_folder(PACKAGE, Path(kernel.py_func.__code__.co_filename).resolve()).name
        lists = keys.setdefault(folder, {"called": [], "inner": []})
        inner = getattr(kernel, "for_kernels", None)
        if "no_cpython_wrapper" not in kernel.targetoptions:
            lists["called"].append(name_with_key(kernel))
        else:
            inner = kernel
        if inner is not None:
            lists["inner"].append(name_with_key(inner))
    return keys
