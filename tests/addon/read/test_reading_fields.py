# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of a scene's force fields: where they are and who carries them, and what of them cannot be followed."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from ..fields import add_field
from ..objects import add_empty, box_mesh, problems_of, read


def test_a_field_goes_with_the_body_that_carries_it(scene, make_body):
    magnet = make_body("Magnet")
    magnet.location, magnet.rotation_euler, magnet.scale = (1.0, 2.0, 3.0), (0.0, 0.0, math.pi / 2.0), (2.0, 2.0, 2.0)
    holder = add_empty("Holder", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    holder.parent = magnet
    pull = add_field("FORCE", (0.5, 0.0, 0.0), (math.pi / 2.0, 0.0, 0.0), name="Pull")
    pull.parent = holder
    (spec,) = read().spec.fields
    assert spec.carrier == "Magnet"
    # in the body's axes, with the scale of the objects
    np.testing.assert_allclose(spec.position, [1.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(spec.axis, [0.0, -1.0, 0.0], atol=1e-6)


def test_a_field_that_a_passive_or_animated_body_carries_is_where_it_is(scene, make_body):
    make_body("Other")
    lift = make_body("Lift", kind="PASSIVE")
    lift.rigid_body.kinematic = True
    for frame, height in ((1, 0.0), (5, 4.0)):
        lift.location.z = height
        lift.keyframe_insert("location", frame=frame)
    add_field("FORCE", name="Lift", ob=lift)
    (spec,) = read().spec.fields
    assert spec.carrier == ""
    assert spec.position.shape == (5, 3) and np.ptp(spec.position[:, 2]) > 3.0


def textured(ob):
    ob.field.type, ob.field.texture = "TEXTURE", bpy.data.textures.new("Clouds", "CLOUDS")


def fluid(ob):
    ob.field.type, ob.field.source_object = "FLUID_FLOW", ob


def charged(ob):
    ob.field.type = "CHARGE"


def of_particles(ob):
    mesh = bpy.data.objects.new("Cloud", box_mesh("Cloud", (1.0, 1.0, 1.0)))
    bpy.context.scene.collection.objects.link(mesh)
    mesh.modifiers.new("Particles", "PARTICLE_SYSTEM").particle_system.settings.force_field_1.type = "FORCE"


def keyed_shape(ob):
    ob.keyframe_insert("field.shape", frame=1)


def surface_of_a_curve(ob):
    path = bpy.data.objects.new("Path", bpy.data.curves.new("Path", "CURVE"))
    bpy.context.scene.collection.objects.link(path)
    add_field("WIND", ob=path, shape="SURFACE")


@pytest.mark.parametrize(
    ("odd", "name", "field"),
    [
        (textured, "Field", "field.type"),
        (fluid, "Field", "field.type"),
        (charged, "Field", "field.type"),
        (of_particles, "Cloud", "particle_systems"),
        (keyed_shape, "Field", "field.shape"),
        (surface_of_a_curve, "Path", "field.shape"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_followed_is_named_with_its_object(scene, make_body, odd, name, field):
    make_body("Body")
    add_empty("Unrelated", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    odd(add_field("FORCE"))
    assert (field, (name,)) in {(warning.field, warning.objects) for warning in read().warnings}


def test_what_a_simulated_body_carries_absorbs_where_that_is(scene, make_body):
    body = make_body("Body")
    body.location, body.rotation_euler, body.scale = (1.0, 2.0, 3.0), (0.3, 0.2, 0.1), (2.0, 1.0, 1.0)
    bpy.context.view_layer.objects.active = body
    bpy.ops.object.modifier_add(type="COLLISION")
    add_field("WIND", use_absorption=True)
    (absorber,) = read().spec.absorbers
    assert absorber.carrier == "Body"
    np.testing.assert_allclose(np.ptp(absorber.vertices, axis=0), [1.2, 0.4, 0.2], rtol=1e-6)


def test_a_scene_whose_fields_stay_is_read_at_one_frame(scene, make_body):
    """To show a frame is to evaluate the whole scene."""
    make_body("Body")
    plate = bpy.data.objects.new("Plate", box_mesh("Plate", (1.0, 1.0, 0.1)))
    scene.collection.objects.link(plate)
    bpy.context.view_layer.objects.active = plate
    bpy.ops.object.modifier_add(type="COLLISION")
    add_field("WIND", ob=plate, shape="SURFACE", use_absorption=True)
    shown = set()
    bpy.app.handlers.frame_change_post.append(lambda scene, _: shown.add(scene.frame_current))
    read()
    bpy.app.handlers.frame_change_post.pop()
    assert shown == {1}


def test_a_mesh_that_changes_its_faces_is_refused_with_the_frame(scene, make_body):
    make_body("Body")
    plate = bpy.data.objects.new("Plate", box_mesh("Plate", (1.0, 1.0, 0.1)))
    scene.collection.objects.link(plate)
    build = plate.modifiers.new("Build", "BUILD")
    build.frame_start, build.frame_duration = 1, 4
    add_field("WIND", ob=plate, name="Plate", shape="POINTS")
    message = problems_of(read)["Plate", "modifiers"]
    assert "at frame 2" in message


def test_fields_that_were_read_come_back_from_a_snapshot(scene, make_body, tmp_path):
    from stiction.solver_core.io.snapshot import read_snapshot, snapshot_digest, write_snapshot

    make_body("Body")
    for kind in ("WIND", "TURBULENCE", "DRAG"):
        add_field(kind, name=kind, use_absorption=True)
    extraction = read()
    write_snapshot(tmp_path / "scene", extraction.spec, extraction.settings)
    assert snapshot_digest(*read_snapshot(tmp_path / "scene")) == snapshot_digest(extraction.spec, extraction.settings)
