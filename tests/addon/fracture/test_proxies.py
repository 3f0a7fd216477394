# SPDX-License-Identifier: GPL-3.0-or-later
"""Proxies: found by name or parent, they collide in place of what is rendered, and everything is restored."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import box_mesh


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Rock", ["Rock_PROXY", "Rock_proxy_01", "Rock_proxy_02", "UCX_Rock", "UCX_Rock_7"]),
        ("Rock.001", ["Rock.001_proxy", "Rock_proxy.001"]),
        ("A.b(c", ["UCX_A.b(c"]),
        ("Rock_proxy", []),
    ],
)
def test_proxies_are_found_by_name(extension, name, found):
    from stiction.addon.fracture.proxy_names import patterns_of, proxies_among

    names = [
        "Rock",
        "Rock_PROXY",
        "Rock_proxy_01",
        "Rock_proxy_02",
        "UCX_Rock",
        "UCX_Rock_7",
        "Rock.001_proxy",
        "Rock_proxy.001",
    ]
    names += ["Rocky_proxy", "Rock_proxy_old", "UCX_A.b(c", "Rock.001", "A.b(c"]
    assert proxies_among(names, name, patterns_of("*_proxy, UCX_*")) == sorted(found)


@pytest.mark.parametrize("text", ["", "proxy", "*", "*_*"])
def test_patterns_without_a_single_star_are_refused(extension, text):
    from stiction.addon.fracture.proxy_names import PatternError, patterns_of

    with pytest.raises(PatternError, match=r"\*_proxy"):
        patterns_of(text)


@pytest.fixture
def rock(scene):
    """A sphere of many faces, turned and scaled, and a box beside it in the same place, for contact."""
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.3, location=(1.0, 2.0, 3.0), rotation=(0.3, 0.2, 0.1))
    rock = bpy.context.object
    rock.name, rock.scale = "Rock", (2.0, 2.0, 2.0)
    low = bpy.data.objects.new("Rock_proxy", box_mesh("Rock_proxy", (0.5, 0.4, 0.3)))
    scene.collection.objects.link(low)
    low.location = (1.0, 2.0, 3.1)
    bpy.context.view_layer.update()
    return rock, low


def select(*objects):
    for ob in bpy.context.view_layer.objects:
        ob.select_set(ob in objects)
    bpy.context.view_layer.objects.active = objects[0]


def spec_body(name):
    from stiction.addon.read.extract import extract

    return next(body for body in extract(bpy.context).spec.bodies if body.name == name)


def corners(body):
    from stiction.addon.blender.rotations import matrix_of_quaternion

    (child,) = body.shape.children
    inner = child.shape.vertices @ matrix_of_quaternion(child.orientation).T + child.position
    return inner @ matrix_of_quaternion(body.orientation).T + body.position


def sorted_rows(points):
    return np.array(sorted(np.round(points, 5).tolist()))


@pytest.mark.parametrize("match", ["NAME", "PARENT"])
def test_the_low_mesh_collides_where_it_is_and_all_is_restored(scene, rock, match):
    rock, low = rock
    if match == "PARENT":
        low.parent = rock
        low.matrix_parent_inverse = rock.matrix_world.inverted()
        bpy.context.view_layer.update()
    before = np.array(low.matrix_world)
    select(rock, low)
    assert bpy.ops.stiction.use_proxies(match=match) == {"FINISHED"}
    bpy.context.view_layer.update()
    np.testing.assert_allclose(np.array(low.matrix_world), before, atol=1e-6)
    body = spec_body("Rock")
    assert body.shape.kind.name == "COMPOUND" and low.hide_render and not rock.hide_render
    wanted = np.array([low.matrix_world @ vertex.co for vertex in low.data.vertices])
    np.testing.assert_allclose(sorted_rows(corners(body)), sorted_rows(wanted), atol=2e-5)
    # again, with another shape, changes nothing of what is remembered
    select(rock)
    assert bpy.ops.stiction.use_proxies(match=match, shape="BOX") == {"FINISHED"}
    select(low)
    assert bpy.ops.stiction.remove_proxies() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert rock.rigid_body is None and low.rigid_body is None
    assert not low.hide_render and low.display_type == "TEXTURED"
    assert (low.parent == rock) == (match == "PARENT")
    np.testing.assert_allclose(np.array(low.matrix_world), before, atol=1e-6)
    assert not bpy.ops.stiction.remove_proxies.poll()


def test_a_proxy_is_moved_to_its_object_and_shapes_come_back(scene, rock):
    rock, low = rock
    scene.rigidbody_world.collection.objects.link(rock)
    rock.rigid_body.collision_shape, rock.rigid_body.type = "SPHERE", "PASSIVE"
    low.location = (9.0, 0.0, 0.0)
    select(rock)
    assert bpy.ops.stiction.use_proxies(move=True) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert np.allclose(low.matrix_world, rock.matrix_world, atol=1e-6) and low.rigid_body.type == "PASSIVE"
    assert bpy.ops.stiction.remove_proxies() == {"FINISHED"}
    assert rock.rigid_body.collision_shape == "SPHERE"


def test_what_cannot_be_is_said_and_changes_nothing(scene, rock, capsys):
    rock, low = rock
    select(rock)
    with pytest.raises(RuntimeError, match="no mesh is named by"):
        bpy.ops.stiction.use_proxies(patterns="*_other")
    with pytest.raises(RuntimeError, match="needs one"):
        bpy.ops.stiction.use_proxies(patterns="other")
    with pytest.raises(RuntimeError, match="a child of them"):
        bpy.ops.stiction.use_proxies(match="PARENT")
    twin = rock.copy()
    twin.name = "rock"
    scene.collection.objects.link(twin)
    select(rock, twin)
    with pytest.raises(RuntimeError, match="is a proxy of"):
        bpy.ops.stiction.use_proxies()
    bpy.data.objects.remove(twin)
    rock.parent = low
    select(rock)
    with pytest.raises(RuntimeError, match="is the parent of Rock"):
        bpy.ops.stiction.use_proxies()
    rock.parent = None
    low.data.clear_geometry()
    with pytest.raises(RuntimeError, match="no faces"):
        bpy.ops.stiction.use_proxies()
    assert rock.rigid_body is None and low.rigid_body is None


def test_a_mesh_is_parted_collides_by_the_parts_and_loses_them_again(scene):
    """The letter L of two boxes, mirrored by its scale: two convex parts fill it exactly."""
    pytest.importorskip("coacd")
    mesh = bpy.data.meshes.new("L")
    outline = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    corners = [(x, y, z) for z in (0, 1) for x, y in outline]
    sides = [(i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6) for i in range(6)]
    mesh.from_pydata(corners, [], [tuple(range(5, -1, -1)), tuple(range(6, 12)), *sides])
    ob = bpy.data.objects.new("L", mesh)
    scene.collection.objects.link(ob)
    ob.location, ob.rotation_euler, ob.scale = (1.0, 2.0, 3.0), (0.1, 0.2, 0.3), (-1.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    select(ob)
    assert bpy.ops.stiction.convex_parts() == {"FINISHED"}
    bpy.context.view_layer.update()
    body = spec_body("L")
    assert body.shape.kind.name == "COMPOUND" and len(body.shape.children) == 2
    from stiction.solver_core.geometry.solids import shape_mass_properties

    assert shape_mass_properties(body.shape, density=1.0).mass == pytest.approx(3.0, rel=0.03)
    wanted = np.array([ob.matrix_world @ vertex.co for vertex in mesh.vertices])
    from stiction.addon.blender.rotations import matrix_of_quaternion

    turn = matrix_of_quaternion(body.orientation)
    inner = np.concatenate(
        [one.shape.vertices @ matrix_of_quaternion(one.orientation).T + one.position for one in body.shape.children]
    )
    found = inner @ turn.T + body.position
    assert np.linalg.norm(found[:, None] - wanted[None], axis=2).min(axis=0).max() < 0.05
    with pytest.raises(RuntimeError, match="has proxies already"):
        bpy.ops.stiction.convex_parts()
    count = len(bpy.data.meshes)
    assert bpy.ops.stiction.remove_proxies() == {"FINISHED"}
    assert len(bpy.data.meshes) == count - 2 and [ob.name for ob in scene.objects if ob.type == "MESH"] == ["L"]
    assert ob.rigid_body is None
