# SPDX-License-Identifier: GPL-3.0-or-later
"""Compilation of all kernels in the background, from the first rigid body world in a session with a window.

It takes minutes, once, at low priority, and can be stopped; the next session continues. If the extension includes compiled
kernels, the process ends at once. It does not run while a bake, a live simulation, a check or *Settle* runs, which would wait
for kernels compiled at low priority; bakes and live simulations start a helper process of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading

import bpy
from bpy.types import Context, Operator

from .worker import WorkerError, find_python, worker_environment

__all__ = ["register", "unregister"]

SECONDS_BETWEEN_LOOKS = 2.0
# A line about the progress of the process.
COUNT = re.compile(r"(\d+) of (\d+) kernels")


class Background:
    """The background process and its last line of output.

    is_stopped: whether its end was requested; then its last line tells why it ends and is not for the user.
    """

    def __init__(self) -> None:
        environment = worker_environment()
        folder = environment["NUMBA_CACHE_DIR"]
        self.says, self.is_stopped = "", False
        self._process = subprocess.Popen(
            [
                find_python(),
                "-s",
                "-P",
                "-m",
                "solver_core.compile_all",
                folder,
                "--processes",
                "1",
                "--background",
                "--low-priority",
                "--parent-pipe",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            encoding="utf-8",
            errors="replace",
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # without the padding for columns on a console
            self.says = " ".join(line.split())

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Request the end of the process, which takes seconds. Its compiled kernels remain."""
        self.is_stopped = True
        assert self._process.stdin is not None
        self._process.stdin.close()


class Session:
    """The only background process of this session."""

    background: Background | None = None


def is_at_work() -> bool:
    """Return True if something that may compile kernels itself runs for the user."""
    sessions = [manager.stiction for manager in bpy.data.window_managers]
    # A live simulation and Settle set is_reading.
    return any(session.is_baking or session.is_reading or session.is_checking for session in sessions)


def look() -> float | None:
    """Start the process once there are rigid bodies, and show what it says; seconds until the next look, None for no more."""
    if is_at_work():
        # What the user has stopped does not begin again afterward.
        if Session.background is not None and not Session.background.is_stopped:
            Session.background.stop()
            Session.background = None
        show("")
        return SECONDS_BETWEEN_LOOKS
    if Session.background is None:
        if not any(scene.rigidbody_world for scene in bpy.data.scenes):
            return SECONDS_BETWEEN_LOOKS
        try:
            Session.background = Background()
        except (WorkerError, OSError) as error:
            print(f"Stiction: kernels are not compiled in the background: {error}")
            return None
    background = Session.background
    show(background.says if background.runs and not background.is_stopped else "")
    return SECONDS_BETWEEN_LOOKS if background.runs else None


def show(says: str) -> None:
    """Show what the process says in the panels."""
    counted = COUNT.search(says)
    for manager in bpy.data.window_managers:
        if manager.stiction.compiling != says:
            manager.stiction.compiling = says
            if counted is not None:
                manager.stiction.compiling_factor = int(counted[1]) / max(int(counted[2]), 1)
            for area in (area for window in manager.windows for area in window.screen.areas if area.type == "PROPERTIES"):
                area.tag_redraw()


class STICTION_OT_stop_compiling(Operator):
    """Stop compiling in the background; bakes compile the kernels that they need, and the next Blender session continues"""

    bl_idname = "stiction.stop_compiling"
    bl_label = "Stop Compiling"

    def execute(self, context: Context) -> set[str]:
        if Session.background is not None:
            Session.background.stop()
        return {"FINISHED"}


def register() -> None:
    """Add the operator, and look for rigid bodies from then on."""
    bpy.utils.register_class(STICTION_OT_stop_compiling)
    # Without a window, nobody waits, or a bake is about to start.
    if not bpy.app.background:
        bpy.app.timers.register(look, first_interval=SECONDS_BETWEEN_LOOKS, persistent=True)


def unregister() -> None:
    """End the process, and undo `register`."""
    if bpy.app.timers.is_registered(look):
        bpy.app.timers.unregister(look)
    if Session.background is not None:
        Session.background.stop()
        Session.background = None
    bpy.utils.unregister_class(STICTION_OT_stop_compiling)
