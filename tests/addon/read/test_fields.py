# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields push bodies as in Blender's own simulation: forces are measured there, step by step, and compared."""

from __future__ import annotations

import functools

import bpy
import numpy as np
import pytest

from ..bakes import simulate
from ..fields import PLACES, add_field, bullet_forces, free_bodies, solver_forces
from ..joints import simulated
from ..objects import add_empty, box_mesh, read

EXACT = 1e-5  # relative
FRAMES = 6
TILT = (0.4, -0.3, 0.7)
PLACE = (0.15, -0.1, 0.2)
# A frame at which something is keyed, and the steps in which Blender may have it before or after the bodies, as it comes.
JUMP = 5
UNSURE = (3, 4, 5)


def off_by(ours, measured):
    """(steps, n): how far forces are off, relative to what the comparison can tell."""
    resolution = EXACT * np.linalg.norm(measured.force, axis=2) + measured.uncertainty
    return np.linalg.norm(ours - measured.force, axis=2) / resolution


def compare(tmp_path, bodies, frames=FRAMES, least=1e-3, but_for=()):
    """Forces on bodies in Blender's own simulation and in the solver agree in all steps but some; some are there at all."""
    bpy.context.scene.rigidbody_world.point_cache.frame_end = frames
    measured = bullet_forces(frames, bodies)
    ours = solver_forces(tmp_path, measured)
    assert np.linalg.norm(measured.force, axis=2).max() > least
    off = off_by(ours, measured)
    off[list(but_for)] = 0.0
    step, body = np.unravel_index(np.argmax(off), off.shape)
    assert off.max() <= 1.0, f"step {step}, body {body}: {ours[step, body]} N, and {measured.force[step, body]} N in Blender"
    return ours


def jump(owner, path, before, after, at=JUMP):
    """Key a value to become another one at a frame."""
    from stiction.addon.blender.actions import curves

    for frame, value in ((1, before), (at, after)):
        *way, name = path.split(".")
        place = functools.reduce(getattr, way, owner)
        setattr(place, name, value)
        owner.keyframe_insert(path, frame=frame)
    for curve in curves(owner):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"


KINDS = {
    "force": ("FORCE", {"strength": 5.0}, 0.005),
    "force, inverse square": ("FORCE", {"strength": 5.0, "use_gravity_falloff": True}, 0.005),
    "wind": ("WIND", {"strength": 5.0}, 0.005),
    "wind with flow": ("WIND", {"strength": 5.0, "flow": 0.1}, 0.01),
    "vortex": ("VORTEX", {"strength": 5.0}, 0.005),
    "vortex about its axis": ("VORTEX", {"strength": 1.2, "shape": "PLANE"}, 0.1),
    "harmonic": ("HARMONIC", {"strength": 3.0, "harmonic_damping": 0.01}, 0.01),
    "harmonic with a rest length": ("HARMONIC", {"strength": 3.0, "rest_length": 0.8, "harmonic_damping": 0.01}, 0.01),
    "magnetic": ("MAGNET", {"strength": 0.1}, 0.01),
    "turbulence": ("TURBULENCE", {"strength": 6.0, "size": 0.7, "flow": 0.02}, 0.005),
    "turbulence in the world": ("TURBULENCE", {"strength": 6.0, "size": 2.3, "use_global_coords": True}, 0.005),
    "drag": ("DRAG", {"quadratic_drag": 0.05, "linear_drag": 0.002}, 0.01),
    "drag beyond its limits": ("DRAG", {"quadratic_drag": 5.0, "linear_drag": 5.0}, 0.1),
    "guide": ("GUIDE", {"flow": 0.02}, 0.005),
    "Lennard-Jones": ("LENNARDJ", {"strength": 5.0, "flow": 0.05}, 0.01),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_field_pushes_as_in_blender(scene, make_body, tmp_path, kind):
    name, values, mass = KINDS[kind]
    bodies = free_bodies(scene, make_body, mass)
    add_field(name, PLACE, TILT, **values)
    # gives them velocities, and adds up with the field
    add_field("WIND", rotation=(1.0, 0.2, 0.0), name="Breeze", strength=2.0)
    compare(tmp_path, bodies)


def test_boid_and_textureless_fields_do_nothing(scene, make_body, tmp_path):
    bodies = free_bodies(scene, make_body, 0.005)
    for kind in ("BOID", "TEXTURE", "FLUID_FLOW"):
        add_field(kind, name=kind, strength=5.0, flow=1.0)
    add_field("WIND", rotation=(1.0, 0.2, 0.0), name="Breeze", strength=2.0)
    assert np.ptp(compare(tmp_path, bodies), axis=(0, 1)).max() == 0.0


FALLOFFS = {
    "sphere": {"falloff_type": "SPHERE", "falloff_power": 1.7},
    "sphere between distances": {
        "falloff_power": 1.3,
        "use_min_distance": True,
        "distance_min": 0.9,
        "use_max_distance": True,
        "distance_max": 1.55,
    },
    "tube": {
        "falloff_type": "TUBE",
        "falloff_power": 0.8,
        "radial_falloff": 1.5,
        "use_radial_min": True,
        "radial_min": 0.3,
        "use_radial_max": True,
        "radial_max": 1.3,
    },
    "cone": {
        "falloff_type": "CONE",
        "falloff_power": 0.8,
        "radial_falloff": 0.3,
        "use_radial_min": True,
        "radial_min": 20.0,
        "use_radial_max": True,
        "radial_max": 120.0,
    },
    "in front": {"z_direction": "POSITIVE", "falloff_power": 1.0},
    "behind": {"z_direction": "NEGATIVE", "falloff_power": 1.0},
}
FALLING = ("force", "wind with flow", "vortex", "vortex about its axis", "harmonic", "magnetic", "turbulence", "drag", "guide")


@pytest.mark.parametrize(
    ("kind", "falloff"),
    [
        # each kind with half of the falloffs, and each falloff with half of the kinds
        pytest.param(kind, falloff, marks=() if (i + j) % 2 == 0 else pytest.mark.long)
        for i, kind in enumerate(FALLING)
        for j, falloff in enumerate(FALLOFFS)
    ],
)
def test_fields_fall_off_as_in_blender(scene, make_body, tmp_path, kind, falloff):
    name, values, mass = KINDS[kind]
    bodies = free_bodies(scene, make_body, mass)
    add_field(name, PLACE, TILT, **values, **FALLOFFS[falloff])
    add_field("WIND", rotation=(1.0, 0.2, 0.0), name="Breeze", strength=2.0)
    compare(tmp_path, bodies)


SHAPED = {
    "force": ("FORCE", {"strength": 5.0, "falloff_power": 0.5}, 0.005),
    "wind": ("WIND", {"strength": 5.0, "falloff_power": 0.5}, 0.005),
    "magnetic": ("MAGNET", {"strength": 0.1}, 0.01),
    "harmonic": ("HARMONIC", {"strength": 3.0, "harmonic_damping": 0.01, "rest_length": 0.4}, 0.01),
    "turbulence": ("TURBULENCE", {"strength": 6.0, "size": 0.7, "falloff_power": 0.5}, 0.005),
}


@pytest.mark.parametrize("shape", ["LINE", "PLANE", "SURFACE", "POINTS"])
@pytest.mark.parametrize("kind", SHAPED)
def test_fields_act_from_their_shapes_as_in_blender(scene, make_body, tmp_path, kind, shape):
    name, values, mass = SHAPED[kind]
    bodies = free_bodies(scene, make_body, mass)
    # where two faces are equally near, which one counts is up to Blender: on a wide plate there is no such place
    half = (4.0, 4.0, 0.01) if shape == "SURFACE" else (0.5, 0.4, 0.1)
    plate = bpy.data.objects.new("Plate", box_mesh("Plate", half))
    scene.collection.objects.link(plate)
    plate.scale = (1.0, 1.5, 0.7)
    add_field(name, PLACE, TILT, ob=plate, shape=shape, **values)
    add_field("WIND", rotation=(1.0, 0.2, 0.0), name="Breeze", strength=2.0)
    compare(tmp_path, bodies)


@pytest.mark.parametrize(
    ("kind", "shape", "values", "mass"),
    [
        ("FORCE", "POINT", {"strength": 5.0, "noise": 3.0}, 0.005),
        ("HARMONIC", "POINT", {"strength": 3.0, "harmonic_damping": 0.01, "noise": 0.5}, 0.01),
        ("DRAG", "POINT", {"quadratic_drag": 0.05, "linear_drag": 0.002, "noise": 0.05}, 0.01),
        # a number is drawn for each point that is near enough
        ("FORCE", "POINTS", {"strength": 2.0, "noise": 3.0, "use_max_distance": True, "distance_max": 1.2}, 0.005),
    ],
)
def test_noise_is_drawn_as_in_blender(scene, make_body, tmp_path, kind, shape, values, mass):
    bodies = free_bodies(scene, make_body, mass)
    plate = bpy.data.objects.new("Plate", box_mesh("Plate", (0.5, 0.4, 0.1)))
    scene.collection.objects.link(plate)
    add_field(kind, PLACE, TILT, ob=plate, shape=shape, seed=77, **values)
    add_field("WIND", rotation=(1.0, 0.2, 0.0), name="Breeze", strength=2.0, noise=1.0, seed=5)
    compare(tmp_path, bodies, frames=12)


def test_what_is_keyed_or_moves_is_followed_frame_by_frame(scene, make_body, tmp_path):
    bodies = free_bodies(scene, make_body, 0.01)
    carrier = add_empty("Carrier", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    field = add_field("WIND", PLACE, TILT, flow=0.01, falloff_power=1.0)
    field.parent = carrier
    for frame, strength, power, turn in ((1, 1.0, 0.3, 0.0), (4, 6.0, 2.0, 0.5), (8, -3.0, 1.0, 2.0)):
        field.field.strength, field.field.falloff_power = strength, power
        field.keyframe_insert("field.strength", frame=frame)
        field.keyframe_insert("field.falloff_power", frame=frame)
        carrier.rotation_euler.y, carrier.location.x = turn, turn
        carrier.keyframe_insert("rotation_euler", frame=frame)
        carrier.keyframe_insert("location", frame=frame)
    pull = add_field("FORCE", name="Pull", strength=-3.0)
    for frame, is_limited in ((1, False), (4, True)):
        pull.field.use_max_distance, pull.field.distance_max = is_limited, 1.0
        pull.keyframe_insert("field.use_max_distance", frame=frame)
    compare(tmp_path, bodies, frames=9)


def test_keyed_weights_are_followed(scene, make_body, tmp_path):
    bodies = free_bodies(scene, make_body, 0.01)
    add_field("WIND", PLACE, TILT, strength=3.0)
    jump(scene, "rigidbody_world.effector_weights.wind", 0.2, 1.4)
    compare(tmp_path, bodies, frames=9, but_for=UNSURE)


def test_a_mesh_that_moves_and_deforms_is_followed(scene, make_body, tmp_path):
    bodies = free_bodies(scene, make_body, 0.01)
    plate = bpy.data.objects.new("Plate", box_mesh("Plate", (20.0, 20.0, 0.01)))
    scene.collection.objects.link(plate)
    plate.shape_key_add(name="Basis")
    raised = plate.shape_key_add(name="Raised")
    for point in raised.data:
        point.co.z += 0.1 * point.co.x
    for frame, share in ((1, 0.0), (6, 1.0)):
        raised.value, plate.location.z = share, 0.2 * share
        raised.keyframe_insert("value", frame=frame)
        plate.keyframe_insert("location", frame=frame)
    add_field("WIND", (0.0, 0.0, -3.0), ob=plate, shape="SURFACE", strength=3.0)
    compare(tmp_path, bodies)


def test_several_fields_add_up_with_their_weights(scene, make_body, tmp_path):
    bodies = free_bodies(scene, make_body, 0.05)
    weights = scene.rigidbody_world.effector_weights
    weights.all = 0.7
    names = "force", "wind", "vortex", "magnetic", "harmonic", "turbulence", "drag", "curve_guide"
    for number, name in enumerate(names):
        setattr(weights, name, 0.4 + 0.2 * number)
    weights.charge = 0.0
    for number, kind in enumerate(("FORCE", "WIND", "VORTEX", "MAGNET", "HARMONIC", "TURBULENCE", "DRAG", "GUIDE", "CHARGE")):
        place = tuple(np.sin([number, 2.0 * number, 3.0 * number]))
        add_field(kind, place, (number, 0.3, 0.1), name=kind, strength=1.0, flow=0.01 * number, falloff_power=0.5)
    compare(tmp_path, bodies)


def test_only_fields_of_the_effector_collection_act(scene, make_body, tmp_path):
    bodies = free_bodies(scene, make_body, 0.01)
    chosen = add_field("WIND", PLACE, TILT, name="Chosen", strength=3.0)
    add_field("WIND", PLACE, (1.0, 1.0, 1.0), name="Other", strength=5.0)
    own = bpy.data.collections.new("Effectors")
    own.objects.link(chosen)
    scene.rigidbody_world.effector_weights.collection = own
    compare(tmp_path, bodies)
    assert [field.name for field in read().spec.fields] == ["Chosen"]


def hidden_in_viewports(ob):
    ob.hide_viewport = True


def in_an_excluded_collection(ob):
    move_to_new_collection(ob)
    bpy.context.view_layer.layer_collection.children["New"].exclude = True


def in_a_hidden_collection(ob):
    move_to_new_collection(ob).hide_viewport = True


def without_effect_on_location(ob):
    ob.field.apply_to_location = False


def hidden_with_the_eye(ob):
    ob.hide_set(True)


def below_an_excluded_collection(ob):
    inner = move_to_new_collection(ob)
    outer = bpy.data.collections.new("Outer")
    bpy.context.scene.collection.children.unlink(inner)
    outer.children.link(inner)
    bpy.context.scene.collection.children.link(outer)
    bpy.context.view_layer.layer_collection.children["Outer"].exclude = True


def move_to_new_collection(ob):
    collection = bpy.data.collections.new("New")
    bpy.context.scene.collection.children.link(collection)
    bpy.context.scene.collection.objects.unlink(ob)
    collection.objects.link(ob)
    return collection


@pytest.mark.parametrize(
    "away",
    [
        hidden_in_viewports,
        in_an_excluded_collection,
        in_a_hidden_collection,
        without_effect_on_location,
        hidden_with_the_eye,
        below_an_excluded_collection,
    ],
    ids=lambda away: away.__name__,
)
def test_fields_that_are_switched_off_are_those_that_are_in_blender(scene, make_body, tmp_path, away):
    bodies = free_bodies(scene, make_body, 0.01)
    add_field("WIND", rotation=(1.0, 0.2, 0.0), name="Breeze", strength=2.0)
    away(add_field("FORCE", PLACE, strength=3.0))
    bpy.context.view_layer.update()
    compare(tmp_path, bodies)


def test_a_body_with_a_field_feels_none(scene, make_body, tmp_path):
    bodies = free_bodies(scene, make_body, 0.01)
    add_field("FORCE", PLACES[2], name="Body 2", ob=bodies[2], strength=0.0)
    add_field("WIND", PLACE, TILT, name="Wind", strength=3.0)
    ours = compare(tmp_path, bodies)
    assert not ours[:, 2].any()


AWAY = (0.0, 3.0, 0.0)  # m; a screen that is moved by this much hides no body


def screened(scene, make_body, absorption):
    """Four bodies around a field that its screens absorb, and a breeze; the bodies and the screens."""
    bodies = free_bodies(scene, make_body, 0.05, places=((2.0, 0.0, 0.0), (0.0, 2.0, 0.0), (2.0, 2.0, 0.0), (-2.0, 0.1, 0.3)))
    add_field("FORCE", strength=3.0, use_absorption=True)
    add_field("WIND", rotation=(1.0, 0.2, 0.0), name="Breeze", strength=2.0)
    screens = []
    for name, place, strength in (("Screen", (1.0, 0.0, 0.0), absorption), ("Other", (-1.0, 0.0, 0.0), 0.5)):
        screen = bpy.data.objects.new(name, box_mesh(name, (0.05, 0.4, 0.4)))
        scene.collection.objects.link(screen)
        screen.location = place
        bpy.context.view_layer.objects.active = screen
        bpy.ops.object.modifier_add(type="COLLISION")
        screen.collision.absorption = strength
        screens.append(screen)
    return bodies, screens


@pytest.mark.parametrize("absorption", [1.0, 0.3])
def test_screens_absorb_as_in_blender(scene, make_body, tmp_path, absorption):
    bodies, _ = screened(scene, make_body, absorption)
    compare(tmp_path, bodies)


def test_screens_that_jump_away_absorb_until_then(scene, make_body, tmp_path):
    """Before the jump as in Blender with screens at rest there, after it as in Blender with screens at rest elsewhere.

    Blender's own simulation is no oracle while a screen moves. It evaluates screens and bodies in different threads, in no
    order, and hides bodies behind the box that a screen's motion fills, at times for frames after the motion.
    """
    bodies, screens = screened(scene, make_body, absorption=1.0)
    here = [np.array(screen.location) for screen in screens]
    measured = []
    for offset in (np.zeros(3), np.array(AWAY)):
        for screen, place in zip(screens, here, strict=True):
            screen.location = place + offset
        bodies[0].rigid_body.mass = bodies[0].rigid_body.mass  # resets Blender's simulation
        measured.append(bullet_forces(9, bodies))
    for screen, place in zip(screens, here, strict=True):
        jump(screen, "location", place, place + AWAY)
    before, after = (off_by(solver_forces(tmp_path, forces), forces) for forces in measured)
    jumps = JUMP - 2  # the step before the frame of the jump; in it a screen hides what its motion passes
    assert before[:jumps].max() <= 1.0 < before[jumps + 1 :].max()
    assert after[jumps + 1 :].max() <= 1.0 < after[:jumps].max()


@pytest.mark.slow
def test_bodies_fly_through_fields_as_in_blender(scene, make_body, tmp_path):
    """A second of flight, through the worker: apart only by the half step that Bullet is ahead."""
    from stiction.solver_core.io.cache import FrameCacheReader
    from stiction.solver_core.io.snapshot import write_snapshot

    frames, substeps = 25, 100
    bodies = free_bodies(scene, make_body, 0.3)
    scene.use_gravity = True
    add_field("WIND", (-3.0, 0.0, 0.0), (0.0, 1.4, 0.0), name="Wind", strength=40.0, flow=0.2, falloff_power=0.3)
    add_field("TURBULENCE", name="Turbulence", strength=50.0, size=1.5, noise=3.0, seed=3)
    swirl = add_field("VORTEX", (0.0, 0.0, 0.5), name="Swirl", strength=20.0, flow=0.1)
    for frame, strength in ((1, 20.0), (20, -10.0)):
        swirl.field.strength = strength
        swirl.location.x = strength / 20.0
        swirl.keyframe_insert("field.strength", frame=frame)
        swirl.keyframe_insert("location", frame=frame)
    scene.rigidbody_world.substeps_per_frame = substeps
    scene.rigidbody_world.point_cache.frame_end = frames
    extraction = read()
    snapshot, cache = tmp_path / "scene", tmp_path / "frames"
    write_snapshot(snapshot, extraction.spec, extraction.settings)
    simulate(snapshot, cache)
    poses = FrameCacheReader(cache).read(frames).poses
    index = [[body.name for body in extraction.spec.bodies].index(ob.name) for ob in bodies]
    places = simulated(frames, *bodies)[:, :, :3, 3]
    velocity = (places[-1] - places[-2]) * scene.render.fps
    flown = np.linalg.norm(places[-1] - places[0], axis=1)
    assert flown.min() > 1.0
    ahead = np.linalg.norm(velocity, axis=1) / (scene.render.fps * substeps)
    assert (np.linalg.norm(poses[index, :3] - places[-1], axis=1) < ahead).all()


def test_the_permutation_of_blenders_noise_has_each_number_once(extension):
    """That it is the right one, turbulence beside Blender's own tells."""
    from stiction.addon.read.noise import permutation

    assert sorted(permutation()) == list(range(256))
