# SPDX-License-Identifier: GPL-3.0-or-later
"""The target processor of kernels, and its vector instructions.

The target is a published level of processors, not the processor on which kernels are compiled, so kernels can be compiled on
one machine and used on another. Instructions beyond this level gained nothing in measurements. Equal operations on adjacent
numbers use vector instructions also outside of loops ("superword-level parallelism"), as in all C compilers based on LLVM by
default, and as in numba until LLVM 14, where it led to wrong code. This does not change the order of any sum, and it halves the
time for blocks of rigid bodies. Collision is compiled without it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__all__ = ["WITHOUT_VECTORS", "has_vectors", "level_of", "use_level", "vectors_of"]

# x86-64-v2 and x86-64-v3 of the System V psABI, as LLVM names them.
V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
V3 = (*V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
# Subpackages whose kernels pass three numbers at a time. Packing and unpacking vectors of these takes longer than it saves, and
# contacts of meshes took five times as long.
WITHOUT_VECTORS = ("collision", "look_ahead")
LEVELS = (("x86-64-v3", V3), ("x86-64-v2", V2))


def level_of(machine: str, name: str, features: Mapping[str, bool]) -> str | None:
    """Return the highest level, by LLVM's name, that a processor supports; None if there is none.

    machine: as platform.machine says. name and features: as LLVM knows them.
    """
    if machine.lower() in ("x86_64", "amd64"):
        return next((level for level, needed in LEVELS if all(features.get(need) for need in needed)), None)
    # Apple's first own processor; all later ones can run its code.
    return "apple-m1" if machine == "arm64" and name.startswith("apple-") else None


def use_level() -> None:
    """Make numba compile for this processor level, unless NUMBA_CPU_NAME is set."""
    from llvmlite import binding as llvm
    from numba.core import config

    if vars(config).get("CPU_NAME") is not None:
        return
    level = level_of(platform.machine(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features())
    if level is not None:
        # numba creates its settings at run time.
        setattr(config, "CPU_NAME", level)  # noqa: B010
        setattr(config, "CPU_FEATURES", "")  # noqa: B010


def has_vectors(module: str) -> bool:
    """Return whether the kernels of a module are compiled with vector instructions."""
    return not any(f".{part}." in f".{module}." for part in WITHOUT_VECTORS)


@contextmanager
def vectors_of(module: str) -> Iterator[None]:
    """Compile the kernels within this context with the vectorization of a module, unless NUMBA_SLP_VECTORIZE is set."""
    from numba.core import config

    if "NUMBA_SLP_VECTORIZE" in os.environ:
        yield
        return
    before = vars(config)["SLP_VECTORIZE"]
    # numba creates its settings at run time.
    setattr(config, "SLP_VECTORIZE", int(has_vectors(module)))  # noqa: B010
    try:
        yield
    finally:
        setattr(config, "SLP_VECTORIZE", before)  # noqa: B010
