# SPDX-License-Identifier: GPL-3.0-or-later
"""Settling with results of the test's choice in place of the simulation."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def fake_settle(extension, monkeypatch):
    """Replaces the process: every moving body is moved by `displacement`, a (4, 4) rigid motion; spec: what it was given."""
    from stiction.addon.bake.job import WorkerEnded, WorkerMessage
    from stiction.addon.blender import rotations
    from stiction.addon.settle import work
    from stiction.solver_core.io.snapshot import read_snapshot
    from stiction.solver_core.scene.spec import BodyKind

    class FakeSettle:
        spec = None
        displacement = np.eye(4)
        restless: tuple[str, ...] = ()
        lost: tuple[str, ...] = ()
        overlap = 0.0
        error = ""

        def __init__(self, module, events, snapshot, *arguments):
            cls = type(self)
            cls.arguments = arguments
            cls.spec, cls.settings = read_snapshot(snapshot)
            if cls.error:
                problems = [{"object": "Cube", "field": "mass", "message": cls.error}]
                events.put(WorkerMessage({"event": "error", "message": cls.error, "problems": problems}))
                events.put(WorkerEnded(2, ""))
                return
            bodies = cls.spec.bodies
            moving = [body.kind is BodyKind.ACTIVE for body in bodies]
            names = [body.name for body in bodies]
            events.put(WorkerMessage({"event": "progress", "seconds": 1.0, "resting": 0, "moving": sum(moving)}))
            record = {
                "event": "settled",
                "bodies": names,
                "poses": [self.pose(body).tolist() for body in bodies],
                "moving": moving,
                "rests": [name not in (*cls.restless, *cls.lost) for name in names],
                "lost": [name in cls.lost for name in names],
                "displacement": [float(moves) for moves in moving],
                "moved": [moves and not np.array_equal(cls.displacement, np.eye(4)) for moves in moving],
                "seconds": 2.0,
                "steps": 480,
                "missed_steps": 0,
                "overlap": cls.overlap,
                "overlapping": names[:2] if cls.overlap else [],
            }
            events.put(WorkerMessage(record))
            events.put(WorkerEnded(0, ""))

        def pose(self, body):
            motion = type(self).displacement if body.kind is BodyKind.ACTIVE else np.eye(4)
            turn = motion[:3, :3] @ rotations.matrix_of_quaternion(body.orientation)
            return np.concatenate([motion[:3, :3] @ body.position + motion[:3, 3], rotations.quaternion_of_matrix(turn)])

        def close(self):
            pass

    monkeypatch.setattr(work, "started", FakeSettle)
    return FakeSettle
