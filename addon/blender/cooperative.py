# SPDX-License-Identifier: GPL-3.0-or-later
"""Work in turns, so that the window does not stand still: a generator that says where it may be interrupted.

What touches Blender's data is done between two of its steps, on the main thread. What knows nothing of Blender is done aside,
in a thread. The same generator is run to its end at once where there is no window.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Generic, TypeVar

__all__ = ["Step", "Steps", "Turns", "aside", "aside_with_kernels", "at_once"]

FIRST_USE = "compiling kernels for their first use"

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """What is being done, for the user, and the share of it that is done. waits_for: nothing can be done before."""

    status: str
    share: float = 0.0
    waits_for: Future[Any] | None = None


Steps = Generator[Step, None, T]


def aside(status: str, work: Callable[[], T]) -> Steps[T]:
    """Do in a thread what neither reads nor changes anything of Blender's; what it raises is raised here."""
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stiction")
    try:
        future = executor.submit(work)
        while not future.done():
            yield Step(status, waits_for=future)
        return future.result()
    finally:
        # who gives up does not wait for it
        executor.shutdown(wait=False)


def aside_with_kernels(status: str, work: Callable[[], T]) -> Steps[T]:
    """Do in a thread what calls kernels, and say so while one of them is compiled, which happens once and takes a while.

    Parameters
    ----------
    status : what is being done, for the user.
    work : reads and changes nothing of Blender's data; what it raises is raised here.
    """
    # numba takes a while to load, and Blender starts faster without
    from ...solver_core.compile.watch import Compiling

    with Compiling() as compiling:
        steps = aside(status, work)
        try:
            while True:
                step = next(steps)
                yield replace(step, status=f"{status}, {FIRST_USE}") if compiling.now else step
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()


def at_once(steps: Steps[T]) -> T:
    """Do all of it, and return what comes out."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if step.waits_for is not None:
            wait([step.waits_for])


class Turns(Generic[T]):
    """Does a part of the work at each turn. step: the last one. After the work is over, `result` has what came out."""

    def __init__(self, steps: Steps[T]):
        self._steps = steps
        self.step = Step("Starting")
        self.is_over = False
        self._result: T | None = None

    @property
    def result(self) -> T:
        """What came out."""
        assert self.is_over
        return self._result  # type: ignore[return-value]

    def turn(self, seconds: float) -> bool:
        """Go on for so long; returns whether it is over. Raises what the work raises."""
        end = perf_counter() + seconds
        while not self.is_over:
            try:
                self.step = next(self._steps)
            except StopIteration as over:
                self._result, self.is_over = over.value, True
                break
            if self.step.waits_for is not None:
                wait([self.step.waits_for], timeout=max(end - perf_counter(), 0.0))
            if perf_counter() > end:
                break
        return self.is_over

    def end(self) -> None:
        """Give up: the work leaves everything as it was."""
        self._steps.close()
