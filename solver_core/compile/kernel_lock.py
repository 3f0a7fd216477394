# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock, so that only one process at a time compiles a kernel or copies a precompiled one. Others wait, and then load it.

Without it, two bakes that start at once, or tests in several processes, would compile everything twice. In addition, numba
reads, extends and writes its index of a kernel's specializations without a lock. Two processes that compile the same kernel for
different types could store one specialization's code under the other's name.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

from ..process.file_lock import FileLock, LockHeld
from .ahead import bring
from .processor import vectors_of
from .trust import written_by_us_alone

__all__ = ["WAIT_EVENT", "compile_in_turn", "in_turn"]

# An event for listeners of numba.
WAIT_EVENT = "stiction:kernel_lock"
# Longer than the compilation of any kernel. A process that holds a lock for longer was suspended.
SECONDS_FOR_KERNEL = 600.0


def compile_in_turn() -> None:
    """Make every compilation of this package's kernels, in this process, hold a lock beside their cache, look first at what was
    compiled ahead, and have the vectors of its module; a second call does nothing. Kernels of others are compiled as before.

    Kernels of this package are those that have a function that keeps them (`kernel.py`). Another copy of this package in the
    same process, whose call does nothing, has its kernels compiled by the first copy, and keeps them itself.

    No two processes wait for each other: a kernel's lock is held while those that it calls are compiled, and none calls itself.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    compile_alone = Dispatcher.compile
    if hasattr(compile_alone, "__wrapped__"):
        return
    held: set[Path] = set()

    @wraps(compile_alone)
    def compile_with_lock(dispatcher: Any, signature: Any) -> Any:
        function = dispatcher.py_func
        # Other threads see the settings of this package while it compiles. numba's own functions are compiled with them.
        with global_compiler_lock:
            keep_under_key = getattr(dispatcher, "keep_under_key", None)
            if not held and keep_under_key is None:
                return compile_alone(dispatcher, signature)
            use_shortcuts(dispatcher)
            with vectors_of(function.__module__), written_by_us_alone(), collecting_less():
                kept = None if keep_under_key is None else keep_under_key(dispatcher)
                if kept is None:
                    return compile_alone(dispatcher, signature)
                folder = Path(kept.cache_path)
                with in_turn(folder / kept.name, held):
                    bring(folder, kept.name)
                    return compile_alone(dispatcher, signature)

    setattr(Dispatcher, "compile", compile_with_lock)  # noqa: B010, numba's stubs give the method another type


def use_shortcuts(dispatcher: Any) -> None:
    """Take the shortcuts through numba's code, unless kernels are compiled plainly, in which case there are no inner kernels
    (`kernel.py`)."""
    if hasattr(dispatcher, "for_kernels") or dispatcher._compiler.pipeline_class.__name__ == "InnerCompiler":
        # Imported here because registering the add-on must not load the compiler.
        from .shortcuts import take_shortcuts

        take_shortcuts()


@contextmanager
def collecting_less() -> Iterator[None]:
    """Make Python's garbage collector run less often. Compilation creates millions of long-lived objects, and scanning them
    took a tenth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(10_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def in_turn(path: Path, held: set[Path]) -> Iterator[None]:
    """Hold the lock of `path`, unless this process holds it already. The wait is an event for listeners of numba."""
    from numba.core import event

    lock = None
    if path not in held:
        # If the other process was suspended, the kernel is compiled twice, which does no harm.
        with suppress(LockHeld), event.trigger_event(WAIT_EVENT):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock.acquire(path, patience=SECONDS_FOR_KERNEL)
    if lock is None:
        yield
        return
    held.add(path)
    try:
        yield
    finally:
        held.discard(path)
        lock.release()
