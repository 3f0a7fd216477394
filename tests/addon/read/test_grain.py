# SPDX-License-Identifier: GPL-3.0-or-later
"""The grain of a surface is read as it is set, follows the object's scale, and outdates a bake."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import body_named, problems_of, read


def grain_of(name):
    return body_named(read(), name).material.grain


def grained(make_body, name="Board", direction=(1, 0, 0), across=0.6, **options):
    ob = make_body(name, **options)
    ob.stiction.use_grain, ob.stiction.grain_direction, ob.stiction.mu_across = True, direction, across
    return ob


def test_a_surface_has_no_grain_until_it_is_switched_on(make_body):
    ob = make_body("Board")
    ob.stiction.mu_across = 0.6
    assert grain_of("Board") is None


def test_friction_along_the_grain_is_that_of_the_surface(make_body):
    ob = grained(make_body, direction=(0, 1, 0))
    ob.rigid_body.friction = 0.2
    material = body_named(read(), "Board").material
    assert (material.mu_static, material.mu_dynamic) == pytest.approx((0.2, 0.2))
    assert (material.grain.mu_static, material.grain.mu_dynamic) == pytest.approx((0.6, 0.6))
    assert material.grain.direction == pytest.approx((0, 1, 0), abs=1e-6)


def test_dynamic_friction_across_has_a_switch_of_its_own_and_begins_with_the_static_one(make_body):
    ob = grained(make_body)
    ob.stiction.use_mu_across_dynamic = True
    assert ob.stiction.mu_across_dynamic == pytest.approx(0.6)
    ob.stiction.mu_across_dynamic = 0.4
    grain = grain_of("Board")
    assert (grain.mu_static, grain.mu_dynamic) == pytest.approx((0.6, 0.4))


def test_a_grain_that_is_switched_on_begins_with_the_friction_of_the_surface(make_body):
    ob = make_body("Board")
    ob.rigid_body.friction = 0.35
    ob.stiction.use_grain = True
    assert ob.stiction.mu_across == pytest.approx(0.35)


@pytest.mark.parametrize("scale", [(2, 1, 1), (-1, 1, 1), (1, -3, 0.5)])
def test_a_grain_follows_the_scale_of_its_object_as_a_texture_does(make_body, scale):
    ob = grained(make_body, direction=(1, 1, 0))
    ob.scale, ob.rotation_euler = scale, (0.3, -0.2, 1.0)
    bpy.context.view_layer.update()
    body = body_named(read(), "Board")
    w, x, y, z = body.orientation
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    found = turn @ np.array(body.material.grain.direction)
    expected = np.array(ob.matrix_world)[:3, :3] @ (1, 1, 0)
    cosine = found @ expected / (np.linalg.norm(found) * np.linalg.norm(expected))
    assert abs(cosine) == pytest.approx(1.0, abs=1e-6)


def test_a_direction_without_length_is_refused_by_name(make_body):
    grained(make_body, direction=(0, 0, 0))
    assert "length 0" in problems_of(read)["Board", "grain.direction"]


def test_an_object_that_settles_has_its_grain_without_a_rigid_body():
    from stiction.addon.read.plain_meshes import plain_material

    ob = bpy.data.objects.new("Plank", None)
    ob.stiction.use_grain, ob.stiction.mu_across = True, 0.7
    assert plain_material(ob).grain.mu_static == pytest.approx(0.7)


def test_a_bake_with_another_grain_is_outdated(make_body, scene):
    from stiction.addon.bake.fingerprint import changes_since, made_from, written

    ob = make_body("Box")
    for name, value in (
        ("use_grain", True),
        ("grain_direction", (0, 1, 0)),
        ("mu_across", 0.9),
        ("use_mu_across_dynamic", True),
        ("mu_across_dynamic", 0.3),
        ("use_grain", False),
    ):
        before = written(made_from(scene))
        setattr(ob.stiction, name, value)
        assert changes_since(before, made_from(scene)) == ["grain of Box"]


def test_a_grain_is_copied_with_the_other_settings(make_body):
    from stiction.addon.settings.materials import copy_settings

    source, target = grained(make_body, "A", (0, 1, 1)), make_body("B")
    copy_settings(source, target)
    assert grain_of("B").direction == pytest.approx((0, 1, 1), abs=1e-6)
    assert grain_of("B").mu_static == pytest.approx(0.6)


@pytest.mark.parametrize("combine", ["PRODUCT", "GEOMETRIC_MEAN"])
def test_the_material_with_a_grain_gives_parallel_bodies_its_published_friction(scene, make_body, combine):
    from stiction.addon.settings.object_properties import effective_material
    from stiction.solver_core.scene.spec import FrictionCombine

    scene.stiction.friction_combine = combine
    ob = make_body()
    bpy.context.view_layer.objects.active = ob
    assert bpy.ops.stiction.apply_material(material="Scots Pine, Grain") == {"FINISHED"}
    rule, surface = FrictionCombine[combine], effective_material(ob)
    for value, published in (
        (surface.mu_static, 0.12),
        (surface.mu_dynamic, 0.08),
        (surface.grain.mu_static, 0.24),
        (surface.grain.mu_dynamic, 0.17),
    ):
        assert rule.pair(value, value) == pytest.approx(published)
    assert bpy.ops.stiction.apply_material(material="Steel") == {"FINISHED"}
    assert effective_material(ob).grain is None


def test_the_table_of_pairs_has_a_row_across_the_grain(scene, make_body):
    from stiction.addon.panels.ui import pairs

    scene.stiction.friction_combine = "PRODUCT"
    ob = grained(make_body, across=0.8)
    ob.rigid_body.friction = 0.5
    rows = pairs(bpy.context, ob)
    assert [row[0] for row in rows] == ["Equal Body", "Across the Grain"]
    assert rows[0][2:] == pytest.approx((0.25, 0.25)) and rows[1][2:] == pytest.approx((0.64, 0.64))
