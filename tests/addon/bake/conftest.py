# SPDX-License-Identifier: GPL-3.0-or-later
"""Two bodies whose motion tells with which friction they were baked."""

from __future__ import annotations

import bpy
import pytest


@pytest.fixture
def bodies(make_body, fake_worker):
    """Two bodies; the more friction, the higher they go."""
    for x in (0.0, 3.0):
        make_body(f"Body.{x:.0f}").location.x = x
    plain = fake_worker.frame

    def frame(self, number):
        made = plain(self, number)
        for pose, body in zip(made.poses, self.spec.bodies, strict=True):
            pose[:3], pose[3:] = body.position, body.orientation
            pose[2] += (number - 1) * body.material.mu_static
        return made

    fake_worker.frame = frame
    return list(bpy.context.scene.rigidbody_world.collection.objects)
