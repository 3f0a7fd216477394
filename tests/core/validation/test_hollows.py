# SPDX-License-Identifier: GPL-3.0-or-later
"""Hollows that hulls fill: how large they are, and who would enter them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solver_core.scene.parts import axis_angle, box, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.validation.hollows import room_in_hollow, rooms_in_hulls

ROUGH = MaterialSpec(0.5, 0.5)
RINGS = [(0.5, 0.0), (0.5, 0.6), (0.45, 0.6), (0.45, 0.05)]


def prism(rings, caps):
    """The hull of a surface of square rings (half width, height), closed by the squares of two of them."""
    vertices = np.array([(x * r, y * r, z) for r, z in rings for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    quads = [
        (4 * r + k, 4 * r + (k + 1) % 4, 4 * r + 4 + (k + 1) % 4, 4 * r + 4 + k)
        for r in range(len(rings) - 1)
        for k in range(4)
    ]
    quads += [tuple(4 * r + k for k in ((3, 2, 1, 0) if r == 0 else (0, 1, 2, 3))) for r in caps]
    triangles = np.array([half for a, b, c, d in quads for half in ((a, b, c), (a, c, d))], dtype=np.int32)
    return ShapeSpec(ShapeKind.HULL, vertices, triangles)


CRATE = prism(RINGS, (0, 3))


def crate(shape=CRATE, kind=BodyKind.PASSIVE, **more):
    return BodySpec("Crate", kind, shape, material=ROUGH, **more)


def ball(radius=0.2, z=1.5, name="Ball", **more):
    return BodySpec(name, BodyKind.ACTIVE, sphere_shape(radius), position=np.array([0, 0, z]), mass=1.0, material=ROUGH, **more)


def rooms(*bodies):
    return rooms_in_hulls(SceneSpec(tuple(bodies)))


@pytest.mark.parametrize("shape", [CRATE, prism(RINGS[:2], (0,))], ids=["walls", "no thickness"])
def test_a_crate_has_room_for_what_is_thinner_than_its_inside(shape):
    """A ball at the opening is 0.45 m from the walls and 0.55 m from the floor."""
    assert 0.3 < room_in_hollow(shape) <= 0.5
    assert rooms(crate(shape), ball(0.2), ball(0.6, name="Large")) == {"Crate": ("Ball",)}


def test_a_convex_body_has_no_hollow():
    assert room_in_hollow(prism(RINGS[:2], (0, 1))) == 0.0
    assert not rooms(box("Block", (1, 1, 1), (0, 0, 0), ROUGH), ball(0.01, z=3.0))


def test_what_is_inside_as_the_scene_begins_or_cannot_collide_is_not_named():
    assert not rooms(crate(), ball(z=0.3))
    assert not rooms(crate(collections=1), ball(collections=2))
    turned = crate(orientation=axis_angle([0, 1, 0], np.pi / 2), position=np.array([5.0, 0.0, 0.0]))
    assert not rooms(turned, replace(ball(), position=np.array([5.3, 0.0, 0.0])))
    assert rooms(turned, ball()) == {"Crate": ("Ball",)}


def test_a_mesh_that_is_one_plane_has_no_hollow():
    flat = ShapeSpec(
        ShapeKind.HULL, np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    )
    assert room_in_hollow(flat) == 0.0
