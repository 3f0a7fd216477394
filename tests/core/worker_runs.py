# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene of thrown and pushed cubes, and runs of the worker with it: in this process, or in one of their own."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from solver_core.io.cache import FrameCacheReader
from solver_core.io.snapshot import write_snapshot
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings
from solver_core.worker import main

ROOT = Path(__file__).resolve().parents[2]
# Of what would else take half an hour. On a busy machine it takes a while until Python has begun, so the bound is wide.
SECONDS_TO_END = 60.0
# The worker, except that something takes half an hour of one uninterrupted call that lets threads run, as kernels do.
DOUBLE = """
import hashlib, runpy, sys
import solver_core.process.ending
from solver_core.dynamics.simulation import Simulation
from solver_core.dynamics.stepper import Stepper
def take_half_an_hour():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
place, solver_core.process.ending.GRACE_SECONDS = sys.argv.pop(1), float(sys.argv.pop(1))
before = Stepper.advance
def step(self, number):
    if number == (4 - self.spec.frame_start) * self.settings.substeps + 2:
        take_half_an_hour()
    return before(self, number)
if place == "step":
    Stepper.advance = step
if place == "compiling":
    Simulation.__init__ = lambda *_, **__: take_half_an_hour()
runpy.run_module("solver_core.worker", run_name="__main__")
"""

CUBE = ShapeSpec(ShapeKind.HULL, np.array(list(itertools.product((-0.1, 0.1), repeat=3))))
ROUGH = MaterialSpec(0.8, 0.6, 0.1)


def cube(name, x, z, **changes):
    return BodySpec(name, BodyKind.ACTIVE, CUBE, position=np.array([x, 0.0, z]), mass=1.0, material=ROUGH, **changes)


def scene(frame_end):
    """Two cubes stand on each other, one is thrown at them, one is pushed by an animated one: contacts come, slide and go."""
    time = np.arange(frame_end) / 24.0
    path = np.tile([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0], (frame_end, 1))
    path[:, 0] = 2.0 - 0.1 * np.sin(3.0 * time)
    bodies = (
        BodySpec("Floor", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE), material=ROUGH),
        cube("Lower", 0.0, 0.1),
        cube("Upper", 0.02, 0.3),
        cube("Thrown", -0.5, 0.25, velocity=np.array([3.0, 0.2, 0.0]), angular_velocity=np.array([0.0, 4.0, 1.0])),
        cube("Pushed", 1.77, 0.1),
        BodySpec("Pusher", BodyKind.ANIMATED, CUBE, position=path[0, :3], material=ROUGH, path=path),
    )
    return SceneSpec(bodies, frame_start=1, frame_end=frame_end)


SPEC = scene(12)
SETTINGS = SolverSettings(substeps=4)
FRAMES = range(SPEC.frame_start, SPEC.frame_end + 1)

# Its events do not fit into a pipe, so a worker whose events nobody reads cannot be done before it is killed.
LONG = scene(420)


def snapshot(folder, spec=SPEC, settings=SETTINGS):
    path = folder / "scene.snapshot"
    write_snapshot(path, spec, settings)
    return str(path)


def poses(cache):
    return [(frame.frame, frame.poses.tobytes(), frame.velocities.tobytes()) for frame in FrameCacheReader(cache)]


def lines(text):
    """The events of a bake, as they are where all kernels have been compiled."""
    events = [json.loads(line) for line in text.splitlines()]
    return [event for event in events if event["event"] != "compiled"]


def bake(capsys, *arguments):
    """Run the worker in this process; its exit status and its events."""
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    return status, lines(capsys.readouterr().out)


def start(*arguments):
    command = [sys.executable, "-m", "solver_core.worker", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def bake_until(frame, *arguments):
    """Start the worker in a process of its own and return when it has said that it is done with `frame`."""
    process = start(*arguments)
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("frame") == frame:
            return process
    raise AssertionError(f"the worker ended before frame {frame}: {process.communicate()[1]}")


def rest_of(process):
    """What it still says, on both outputs, until it has ended."""
    assert process.stdout is not None and process.stderr is not None
    # not by communicate(), which does not know of what has been read ahead
    said = process.stdout.read(), process.stderr.read()
    process.wait(timeout=60)
    return said
