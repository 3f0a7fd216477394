# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator that reads the scene first: it goes on at timer events, ends at Esc, and leaves nothing behind either way."""

from __future__ import annotations

from contextlib import contextmanager
from time import sleep
from types import SimpleNamespace

import pytest

TIMER, ESC, KEY = (SimpleNamespace(type=kind, value="PRESS") for kind in ("TIMER", "ESC", "A"))


class Window:
    """As much of a context as there is to see: its timers, and what handles its events."""

    def __init__(self):
        self.timers, self.handlers, self.window = [], [], None
        self.window_manager = self

    def event_timer_add(self, seconds, window):
        self.timers.append(seconds)
        return seconds

    def event_timer_remove(self, timer):
        self.timers.remove(timer)

    def modal_handler_add(self, operator):
        self.handlers.append(operator)


@pytest.fixture
def operator(extension):
    from stiction.addon.blender.cooperative import Step
    from stiction.addon.blender.reading_operator import ReadingOperator

    class Reads(ReadingOperator):
        closed, left, stopped, shown = False, False, False, ()

        def steps(self, number, error=None):
            try:
                for i in range(number):
                    yield Step(f"step {i}", waits_for=None)
                    self.pause()
                if error is not None:
                    raise error
                return "read"
            finally:
                self.closed = True

        def pause(self):
            sleep(0.05)  # longer than a turn

        @contextmanager
        def told(self, context):
            try:
                yield
            except OSError as error:
                self.trouble = str(error)

        def has_read(self, context):
            self.poll_every(context, 0.5)
            return {"RUNNING_MODAL"}

        def has_stopped_reading(self, context):
            self.stopped = True

        def show_step(self, context, step):
            self.shown = (*self.shown, step.status)

        def leave(self, context):
            self.remove_timer(context)
            self.left = True

    return Reads()


def test_it_reads_on_at_timer_events_alone_until_its_work_is_there(operator):
    context = Window()
    assert operator.begin_reading(context, operator.steps(2)) == {"RUNNING_MODAL"} and context.handlers == [operator]
    before = operator.shown
    assert operator.modal_while_reading(context, KEY) == {"RUNNING_MODAL"} and operator.shown == before
    while operator.work is None:
        assert operator.modal_while_reading(context, TIMER) == {"RUNNING_MODAL"}
    assert operator.work == "read" and context.timers == [0.5] and not operator.left


def test_esc_ends_the_steps_and_begins_nothing(operator):
    context = Window()
    operator.begin_reading(context, operator.steps(9))
    assert operator.modal_while_reading(context, ESC) == {"CANCELLED"}
    assert operator.closed and operator.left and operator.stopped and operator.work is None and context.timers == []


def test_what_keeps_it_from_beginning_is_told_and_no_event_is_handled(operator):
    context = Window()
    assert operator.begin_reading(context, operator.steps(0, OSError("no room"))) == {"CANCELLED"}
    assert operator.trouble == "no room" and operator.left and context.timers == context.handlers == []


def test_a_step_that_is_the_same_is_drawn_once(operator):
    """Each drawing of the status bar takes time from the work; with a slow display the work came to a stop."""
    from stiction.addon.blender.cooperative import Step

    def waiting():
        for _ in range(4):
            yield Step("Checking the scene")
            sleep(0.05)

    context = Window()
    operator.begin_reading(context, waiting())
    while context.timers != [0.5]:
        operator.modal_while_reading(context, TIMER)
    assert operator.shown == ("Checking the scene",)


def test_work_that_compiles_a_kernel_says_so_meanwhile(extension):
    """The first check in a session without kernels took minutes on a busy machine, and said nothing of compiling."""
    import numba

    from stiction.addon.blender.cooperative import FIRST_USE, aside_with_kernels

    @numba.njit
    def added(x):
        total = 0.0
        for i in range(10):
            total += x * i
        return total

    steps, said, result = aside_with_kernels("Checking", lambda: added(2.0)), set(), None
    while result is None:
        try:
            said.add(next(steps).status)
        except StopIteration as end:
            result = end.value
    assert result == 90.0 and f"Checking, {FIRST_USE}" in said
    again = aside_with_kernels("Checking", lambda: added(3.0))
    assert all(step.status == "Checking" for step in again)
