# SPDX-License-Identifier: GPL-3.0-or-later
"""The bricks of a flexible object are drawn where the object is."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import world_matrix
from ..planks import plank_mesh


@pytest.mark.parametrize("inside_out", [False, True])
def test_the_bricks_of_a_plank_fill_it_wherever_it_is(extension, make_plank, inside_out):
    from stiction.addon.show.grid import edges_of

    ob = make_plank()
    ob.location, ob.rotation_euler, ob.scale = (1.0, 2.0, 3.0), (0.3, 0.2, 0.1), (2.0, 1.0, 1.0)
    if inside_out:
        ob.data.flip_normals()
    bpy.context.view_layer.update()
    world = world_matrix(ob)
    found = edges_of(ob).reshape(-1, 3)
    own = (np.column_stack([found, np.ones(len(found))]) @ np.linalg.inv(world).T)[:, :3]
    places = np.array([vertex.co for vertex in plank_mesh().vertices])
    np.testing.assert_allclose([own.min(axis=0), own.max(axis=0)], [places.min(axis=0), places.max(axis=0)], atol=1e-5)


def test_an_open_mesh_has_none(extension, make_plank):
    from stiction.addon.show.grid import edges_of

    ob = make_plank()
    mesh = plank_mesh("Open")
    ob.data.clear_geometry()
    ob.data.from_pydata([vertex.co for vertex in mesh.vertices], [], [tuple(p.vertices) for p in list(mesh.polygons)[:-1]])
    assert not len(edges_of(ob))
