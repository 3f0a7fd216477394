# SPDX-License-Identifier: GPL-3.0-or-later
"""Cooperative tasks that keep the window responsive: a generator yields where it may be interrupted.

Access to Blender's data happens between two steps, on the main thread. Work without Blender data runs in a thread. Without a
window, the same generator runs to completion at once.
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
    """The current activity, for the user, and the completed fraction. waits_for: the next step waits for this event."""

    status: str
    share: float = 0.0
    waits_for: Future[Any] | None = None


Steps = Generator[Step, None, T]


def aside(status: str, work: Callable[[], T]) -> Steps[T]:
    """Run a function that neither reads nor changes Blender data in a thread. Its exceptions are raised here."""
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stiction")
    try:
        future = executor.submit(work)
        while not future.done():
            yield Step(status, waits_for=future)
        return future.result()
    finally:
        # A canceled task does not wait for the thread.
        executor.shutdown(wait=False)


def aside_with_kernels(status: str, work: Callable[[], T]) -> Steps[T]:
    """Run a function that calls kernels in a thread. While a kernel is compiled, which happens once and takes a while, the
    status says so.

    Parameters
    ----------
    status : the activity, for the user.
    work : reads and changes no Blender data; its exceptions are raised here.
    """
    # Imported here because numba takes a while to load.
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
    """Run all steps and return the result."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if step.waits_for is not None:
            wait([step.waits_for])


class Turns(Generic[T]):
    """Runs a part of a task at each turn. step: the latest step. After the end, `result` has the result."""

    def __init__(self, steps: Steps[T]):
        self._steps = steps
        self.step = Step("Starting")
        self.is_over = False
        self._result: T | None = None

    @property
    def result(self) -> T:
        """The result."""
        assert self.is_over
        return self._result  # type: ignore[return-value]

    def turn(self, seconds: float) -> bool:
        """Run for this time. Return True after the end. Exceptions of the task are raised here."""
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
        """Cancel the task, which restores everything."""
        self._steps.close()
