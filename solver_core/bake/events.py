# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of a worker during a bake: JSON objects on standard output, one per line; `worker` lists them."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..scene.spec import SceneWarning

if TYPE_CHECKING:
    from ..compile.watch import Count

__all__ = ["ListenerGone", "emit", "emit_count", "emit_warnings", "event_in"]


class ListenerGone(Exception):
    """Standard output cannot be written, because its reader has exited."""


def emit(event: str, **values: Any) -> None:
    """Print one event; raises ListenerGone when it cannot be delivered."""
    line = json.dumps({"event": event, **values}, allow_nan=False) + "\n"
    try:
        sys.stdout.write(line)
        sys.stdout.flush()
    except OSError as error:
        raise ListenerGone(str(error)) from error


def event_in(line: str) -> dict[str, Any] | None:
    """Read an event from a line of standard output.

    Parameters
    ----------
    line : what a worker has printed, or a library in its process.

    Returns
    -------
    The event with its values, None for a line that is no event.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("event"), str) else None


def emit_warnings(warnings: Iterable[SceneWarning]) -> None:
    """Print an event for each."""
    for warning in warnings:
        emit("warning", **dataclasses.asdict(warning))


def emit_count(count: Count) -> bool:
    """Print the event "compiled" with the fields of a count; returns whether it was delivered.

    For a thread that can raise nothing: the main thread finds out with its next event.
    """
    try:
        emit("compiled", **dataclasses.asdict(count))
    except ListenerGone:
        return False
    return True
