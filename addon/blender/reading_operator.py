# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of operators that read the scene before their work, in steps, until Esc, while the user cannot change the scene."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from bpy.types import Context, Event

from .cooperative import Step, Steps, Turns

__all__ = ["ReadingOperator", "is_escape", "is_navigation", "show_in_status_bar"]

# s; duration of a block of steps while the scene is read, and of the pause for drawing
SECONDS_A_TURN = 0.04
SECONDS_BETWEEN_TURNS = 0.02
# Prefixes of the types of events that move the view.
NAVIGATION = ("MIDDLEMOUSE", "WHEEL", "TRACKPAD", "NDOF", "NUMPAD_", "HOME", "MOUSEROTATE", "MOUSESMARTZOOM")


def is_escape(event: Event) -> bool:
    """Return True if Esc was pressed."""
    return event.type == "ESC" and event.value == "PRESS"


def is_navigation(event: Event) -> bool:
    """Return True if the event moves the view and changes nothing in the scene."""
    return event.type.startswith(NAVIGATION)


def show_in_status_bar(context: Context, text: str | None) -> None:
    """Show what runs, and how to stop it; None for what Blender shows there."""
    if context.workspace is not None:
        context.workspace.status_text_set(None if text is None else f"Stiction: {text}    Esc: Stop")


class ReadingOperator:
    """Base of these operators, in addition to Blender's. `work`: result of the steps, None while they run."""

    work: Any

    def begin_reading(self, context: Context, steps: Steps[Any]) -> set[str]:
        """Run the first steps. `invoke` returns the result."""
        self.work, self._turns, self._shown = None, Turns(steps), ("", 0.0)
        self._timer = context.window_manager.event_timer_add(SECONDS_BETWEEN_TURNS, window=context.window)
        state = self.read_on(context)
        if "RUNNING_MODAL" in state:
            context.window_manager.modal_handler_add(self)
        return state

    def read_on(self, context: Context) -> set[str]:
        """Run more steps."""
        with self.told(context):
            if self._turns.turn(SECONDS_A_TURN):
                self.work = self._turns.result
                return self.has_read(context)
            step = self._turns.step
            # An unchanged status is not drawn again, to save time.
            if (step.status, step.share) != self._shown:
                self._shown = step.status, step.share
                self.show_step(context, step)
            return {"RUNNING_MODAL"}
        self.leave(context)
        return {"CANCELLED"}

    def modal_while_reading(self, context: Context, event: Event) -> set[str]:
        """Block all user input except Esc until the scene is read."""
        if is_escape(event):
            return self.stop_reading(context)
        return self.read_on(context) if event.type == "TIMER" else {"RUNNING_MODAL"}

    def stop_reading(self, context: Context) -> set[str]:
        """Cancel before the work has started."""
        self._turns.end()
        self.leave(context)
        self.has_stopped_reading(context)
        return {"CANCELLED"}

    def poll_every(self, context: Context, seconds: float) -> None:
        """Set the interval of timer events [s]."""
        self.remove_timer(context)
        self._timer = context.window_manager.event_timer_add(seconds, window=context.window)

    def remove_timer(self, context: Context) -> None:
        """Remove the timer."""
        context.window_manager.event_timer_remove(self._timer)

    def told(self, context: Context) -> AbstractContextManager[Any]:
        """Context that reports errors that prevent the work from starting."""
        return nullcontext()

    def has_read(self, context: Context) -> set[str]:
        """Start the work. Return the operator's state."""
        raise NotImplementedError

    def has_stopped_reading(self, context: Context) -> None:
        """Report that nothing was started."""

    def show_step(self, context: Context, step: Step) -> None:
        """Show a step."""
        raise NotImplementedError

    def leave(self, context: Context) -> None:
        """Remove the timer and the status display."""
        raise NotImplementedError
