# SPDX-License-Identifier: GPL-3.0-or-later
"""glTF with KHR_physics_rigid_bodies: documents as others write them, and what is wrong with them."""

from __future__ import annotations

import base64
import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest

from solver_core.interchange.described import Described, Found
from solver_core.interchange.files import read, write
from solver_core.interchange.frames import matrix_of
from solver_core.scene.joints import FREE_AXIS, LOCKED
from solver_core.scene.parts import axis_angle, box_shape
from solver_core.scene.spec import BodyKind, BodySpec, FrictionCombine, SceneSpec, ShapeKind, ShapeSpec
from solver_core.scenes import jointed, plain
from solver_core.validation.findings import SceneError

BODIES, SHAPES = "KHR_physics_rigid_bodies", "KHR_implicit_shapes"


def physics(**own):
    return {BODIES: own}


def box(number=0, **more):
    return {"collider": {"geometry": {"shape": number}, **more}}


def document(nodes, *, shapes=({"type": "box", "box": {"size": [1, 2, 3]}},), roots=None, **own):
    return {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": list(range(len(nodes))) if roots is None else roots}],
        "nodes": nodes,
        "extensions": {SHAPES: {"shapes": list(shapes)}, BODIES: own},
    }


def read_json(content, tmp_path: Path):
    file = tmp_path / "a.gltf"
    file.write_text(json.dumps(content))
    found = Found()
    return read(file, found).spec, found


def named(spec, name):
    return next(body for body in spec.bodies if body.name == name)


def test_its_y_is_our_z(tmp_path):
    node = {
        "name": "A",
        "translation": [1, 2, 3],
        "extensions": physics(motion={"mass": 4, "linearVelocity": [0, 5, 0]}, **box()),
    }
    body = named(read_json(document([node]), tmp_path)[0], "A")
    assert body.position == pytest.approx([1, -3, 2])
    assert np.ptp(body.shape.vertices @ matrix_of(body.orientation).T, axis=0) == pytest.approx([1, 3, 2])
    assert body.velocity == pytest.approx([0, 0, 5])
    assert (body.kind, body.mass) == (BodyKind.ACTIVE, 4)


def test_colliders_below_a_motion_are_one_body_and_others_are_static(tmp_path):
    nodes = [
        {"name": "Hammer", "children": [1, 2], "extensions": physics(motion={"mass": 1})},
        {"name": "Head", "translation": [0, 1, 0], "extensions": physics(**box())},
        {"name": "Shaft", "extensions": physics(**box())},
        {"name": "Floor", "extensions": physics(**box())},
    ]
    spec, _ = read_json(document(nodes, roots=[0, 3]), tmp_path)
    assert {body.name: body.kind for body in spec.bodies} == {"Hammer": BodyKind.ACTIVE, "Floor": BodyKind.PASSIVE}
    assert [child.position @ [0, 0, 1] for child in named(spec, "Hammer").shape.children] == pytest.approx([1, 0])


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ({"type": "cylinder", "cylinder": {"height": 2, "radiusTop": 0.5, "radiusBottom": 0.5}}, ShapeKind.CYLINDER),
        ({"type": "cylinder", "cylinder": {"height": 2, "radiusTop": 0.0, "radiusBottom": 0.5}}, ShapeKind.CONE),
        ({"type": "cylinder", "cylinder": {"height": 2, "radiusTop": 0.2, "radiusBottom": 0.5}}, ShapeKind.HULL),
        ({"type": "capsule", "capsule": {"height": 2, "radiusTop": 0.2, "radiusBottom": 0.5}}, ShapeKind.HULL),
    ],
)
def test_round_shapes_stand_on_their_bottom(tmp_path, shape, kind):
    body = named(
        read_json(document([{"name": "A", "extensions": physics(motion={"mass": 1}, **box())}], shapes=[shape]), tmp_path)[0],
        "A",
    )
    up = body.shape.vertices @ matrix_of(body.orientation).T
    assert body.shape.kind is kind
    if kind is ShapeKind.HULL:
        widest = up[np.argmax(np.hypot(up[:, 0], up[:, 1]))]
        assert (widest[2], np.hypot(widest[0], widest[1])) == pytest.approx((-1.0, 0.5))
    else:
        assert up[:, 2] == pytest.approx([-1, 1])


def round_body(kind, tmp_path, **values):
    node = {"name": "A", "extensions": physics(motion={"mass": 1}, **box())}
    return named(read_json(document([node], shapes=[{"type": kind, kind: values}]), tmp_path)[0], "A")


def test_lengths_that_a_round_shape_leaves_out_are_those_of_the_schema(tmp_path):
    cylinder, capsule = (round_body(kind, tmp_path).shape for kind in ("cylinder", "capsule"))
    assert (cylinder.kind, cylinder.radius, np.ptp(cylinder.vertices[:, 2])) == (ShapeKind.CYLINDER, 0.25, 0.5)
    assert (capsule.margin, np.ptp(capsule.vertices[:, 2])) == (0.25, 0.5)


@pytest.mark.parametrize(("bottom", "top"), [(0.5, 0.0), (0.0, 0.5)])
def test_a_capsule_may_end_in_a_point(tmp_path, bottom, top):
    body = round_body("capsule", tmp_path, height=2, radiusBottom=bottom, radiusTop=top)
    heights = (body.shape.vertices @ matrix_of(body.orientation).T)[:, 2]
    assert body.shape.kind is ShapeKind.HULL
    assert (heights.min(), heights.max()) == pytest.approx((-1.0 - bottom, 1.0 + top))


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"radiusTop": 0, "radiusBottom": -1}, "radiusBottom"),
        ({"radiusTop": -1, "radiusBottom": 0}, "radiusTop"),
        ({"radiusTop": 0, "radiusBottom": "wide"}, "radiusBottom"),
        ({"radiusTop": 0, "radiusBottom": 0}, "radiusTop"),
        ({"height": 0}, "height"),
    ],
)
@pytest.mark.parametrize("kind", ["capsule", "cylinder"])
def test_a_bad_length_of_a_round_shape_is_named(tmp_path, kind, values, field):
    with pytest.raises(SceneError) as caught:
        round_body(kind, tmp_path, **values)
    assert [problem.field for problem in caught.value.problems] == [field]


def everything():
    """A document in which true can stand for any index and any number: all of them are 1 or have the index 1."""
    data = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + struct.pack("<2f", 0, 1) + struct.pack("<6f", *[1] * 6)
    views = [{"buffer": 0, "byteOffset": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 8}]
    views += [{"buffer": 0, "byteOffset": 44, "byteLength": 24}]
    accessors = [
        {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
        {"bufferView": 1, "componentType": 5126, "count": 2, "type": "SCALAR"},
        {"bufferView": 2, "componentType": 5126, "count": 2, "type": "VEC3"},
    ]
    motion = {"mass": 1, "centerOfMass": [1, 1, 1], "linearVelocity": [1, 1, 1], "angularVelocity": [1, 1, 1]}
    motion |= {"inertiaDiagonal": [1, 1, 1], "inertiaOrientation": [0, 0, 0, 1], "gravityFactor": 1}
    collider = box(1, physicsMaterial=1, collisionFilter=1)
    nodes = [
        {"name": "A", "extensions": physics(motion=motion, joint={"connectedNode": 1, "joint": 1}, **collider)},
        {"name": "B", "translation": [1, 1, 1], "rotation": [0, 0, 0, 1], "scale": [1, 1, 1], "mesh": 1, "extensions": {}},
        {"name": "C", "extensions": physics(collider={"geometry": {"node": 1}})},
        {"name": "D", "extensions": physics(motion={"isKinematic": True}, **box(0))},
        {"name": "E", "extensions": physics(**box(2))},
        {"name": "F", "extensions": physics(**box(3))},
        {"name": "G", "children": [7]},
        {"name": "H"},
    ]
    shapes = [
        {"type": "cylinder", "cylinder": {"height": 1, "radiusTop": 1, "radiusBottom": 1}},
        {"type": "box", "box": {"size": [1, 1, 1]}},
        {"type": "sphere", "sphere": {"radius": 1}},
        {"type": "capsule", "capsule": {"height": 1, "radiusTop": 1, "radiusBottom": 1}},
    ]
    joint = {
        "limits": [
            {"linearAxes": [1], "min": 0, "max": 1},
            {"angularAxes": [1], "min": 0, "max": 0, "stiffness": 1, "damping": 1},
        ],
        "drives": [
            {"type": "linear", "axis": 1, "mode": "force", "stiffness": 1, "positionTarget": 1},
            {"type": "angular", "axis": 1, "mode": "force", "damping": 1, "velocityTarget": 1, "maxForce": 1},
        ],
    }
    surface = {"staticFriction": 1, "dynamicFriction": 1, "restitution": 1}
    content = document(
        nodes,
        shapes=shapes,
        roots=[0, 1, 2, 3, 4, 5, 6],
        physicsJoints=[{}, joint],
        physicsMaterials=[surface, surface],
        collisionFilters=[{}, {}],
        extras={"stiction": {"gravity": [1, 1, 1], "frame_start": 1, "frame_end": 1, "fps": 1, "time_scale": 1}},
    )
    triangle = {"attributes": {"POSITION": 0}, "material": 1}
    return content | {
        "buffers": [{"byteLength": len(data), "uri": "data:;base64," + base64.b64encode(data).decode()}],
        "bufferViews": views,
        "accessors": accessors,
        "materials": [{}, {"pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 1]}}],
        "meshes": [{"primitives": []}, {"primitives": [triangle]}],
        "animations": [
            {
                "samplers": [{}, {"input": 1, "output": 2}],
                "channels": [{"sampler": 1, "target": {"node": 3, "path": "translation"}}],
            }
        ],
    }


def ones(value, path=()):
    """Yield the path of each number 1 in a document."""
    if value == 1 and isinstance(value, int) and not isinstance(value, bool):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from ones(inner, (*path, key))


def test_everything_can_be_read(tmp_path):
    spec, _ = read_json(everything(), tmp_path)
    assert [body.name for body in spec.bodies] == ["A", "C", "D", "E", "F"]
    assert len(spec.joints) == 1


@pytest.mark.parametrize("path", list(ones(everything())), ids=lambda path: "/".join(map(str, path)))
def test_true_is_neither_a_number_nor_an_index(tmp_path, path):
    content = everything()
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = True
    with pytest.raises(SceneError) as caught:
        read_json(content, tmp_path)
    assert all("True" in problem.message or "finite numbers" in problem.message for problem in caught.value.problems)


def test_a_joint_between_nodes_without_a_body_is_left_out(tmp_path):
    nodes = [
        {"name": "A", "extensions": physics(motion={"mass": 1}, **box())},
        {"name": "B", "extensions": physics(joint={"connectedNode": 2, "joint": 0})},
        {"name": "C"},
    ]
    spec, found = read_json(document(nodes, physicsJoints=[{}]), tmp_path)
    assert not spec.joints
    assert [one.message for one in found.warnings] == [
        "neither of its nodes is part of a body, so it joins nothing and is left out"
    ]


def test_translations_and_rotations_of_a_node_have_times_of_their_own(tmp_path):
    half = math.sqrt(0.5)
    times, places = [0.0, 2.0], [0, 0, 0, 0, 2, 0]
    moments, turns = [0.0, 0.5, 1.0], [0, 0, 0, 1, 0, half, 0, half, 0, 1, 0, 0]
    data, views, accessors = b"", [], []
    for values, kind, width in ((times, "SCALAR", 1), (places, "VEC3", 3), (moments, "SCALAR", 1), (turns, "VEC4", 4)):
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": 4 * len(values)})
        accessors.append({"bufferView": len(views) - 1, "componentType": 5126, "count": len(values) // width, "type": kind})
        data += struct.pack(f"<{len(values)}f", *values)
    nodes = [{"name": "A", "extensions": physics(motion={"isKinematic": True}, **box())}]
    extras = {"stiction": {"frame_start": 1, "frame_end": 3, "fps": 2.0}}
    content = document(nodes, extras=extras) | {
        "buffers": [{"byteLength": len(data), "uri": "data:;base64," + base64.b64encode(data).decode()}],
        "bufferViews": views,
        "accessors": accessors,
        "animations": [
            {
                "samplers": [{"input": 0, "output": 1}, {"input": 2, "output": 3}],
                "channels": [
                    {"sampler": 0, "target": {"node": 0, "path": "translation"}},
                    {"sampler": 1, "target": {"node": 0, "path": "rotation"}},
                ],
            }
        ],
    }
    path = named(read_json(content, tmp_path)[0], "A").path
    assert path[:, 2] == pytest.approx([0.0, 0.5, 1.0])
    heading = [math.degrees(2.0 * math.acos(min(1.0, abs(q @ path[0, 3:])))) for q in path[:, 3:]]
    assert heading == pytest.approx([0.0, 90.0, 180.0], abs=1e-3)


def test_a_mass_without_end_moves_along_no_axis(tmp_path):
    node = {"name": "A", "extensions": physics(motion={"mass": 0, "inertiaDiagonal": [0, 0, 0]}, **box())}
    body = named(read_json(document([node]), tmp_path)[0], "A")
    assert not body.linear_factor.any()
    assert not body.angular_factor.any()


def test_a_center_of_mass_is_in_the_space_of_the_node(tmp_path):
    node = {"name": "A", "scale": [2, 2, 2], "extensions": physics(motion={"mass": 1, "centerOfMass": [0.5, 1, 0]}, **box())}
    body = named(read_json(document([node]), tmp_path)[0], "A")
    assert matrix_of(body.orientation) @ body.center_of_mass == pytest.approx([1, 0, 2])


def test_a_motion_without_a_collider_is_a_link(tmp_path):
    given = {"mass": 3, "inertiaDiagonal": [1, 2, 2.5], "centerOfMass": [0, 0.5, 0]}
    nodes = [{"name": "Link", "extensions": physics(motion=given)}, {"name": "Bare", "extensions": physics(motion={})}]
    spec, found = read_json(document(nodes), tmp_path)
    link, bare = named(spec, "Link"), named(spec, "Bare")
    assert (link.shape.kind, link.mass) == (ShapeKind.NONE, 3)
    turn = matrix_of(link.orientation)
    assert np.diag(turn @ link.inertia @ turn.T) == pytest.approx([1, 2.5, 2])
    # as OpenUSD has it: a ball of 1 kg and 0.1 m
    assert bare.mass == 1
    assert np.allclose(bare.inertia, 0.004 * np.eye(3))
    assert {(one.objects[0].strip("/"), one.field) for one in found.warnings} == {("Bare", "mass"), ("Bare", "inertiaDiagonal")}


@pytest.mark.parametrize("ending", ["gltf", "usda"])
def test_mass_properties_come_back_as_they_went(tmp_path, ending):
    turn = matrix_of(axis_angle(np.array([1.0, 2.0, 2.0]) / 3.0, 0.7))
    inertia = turn @ np.diag([0.02, 0.03, 0.04]) @ turn.T
    given = {"mass": 2.0, "center_of_mass": np.array([0.1, -0.2, 0.3]), "inertia": 0.5 * (inertia + inertia.T)}
    place = {"position": np.array([1.0, 2.0, 3.0]), "orientation": axis_angle([0, 1, 0], 0.4)}
    bodies = [
        BodySpec(name, BodyKind.ACTIVE, shape, **place, **given)
        for name, shape in (("Body", box_shape((1, 2, 3))), ("Link", ShapeSpec(ShapeKind.NONE)))
    ]
    file = tmp_path / f"a.{ending}"
    write(Described(SceneSpec(tuple(bodies))), file, Found())
    for body in read(file, Found()).spec.bodies:
        now, then = (matrix_of(one.orientation) for one in (body, bodies[0]))
        assert now @ body.center_of_mass == pytest.approx(then @ given["center_of_mass"], abs=1e-6)
        assert np.allclose(now @ body.inertia @ now.T, then @ given["inertia"] @ then.T, atol=1e-8)
        assert body.shape.kind is (ShapeKind.NONE if body.name == "Link" else ShapeKind.HULL)


def test_instances_are_alike_in_their_centers_of_mass(tmp_path):
    centers = [0.1, 0.2, 0.1, 0.2]
    bodies = [
        BodySpec(
            f"Box {k}",
            BodyKind.ACTIVE,
            box_shape((1, 2, 3)),
            position=np.array([2.0 * k, 0.0, 0.0]),
            mass=1.0,
            center_of_mass=np.array([0.0, 0.0, center]),
        )
        for k, center in enumerate(centers)
    ]
    write(Described(SceneSpec(tuple(bodies))), tmp_path / "a.usda", Found(), instances=True)
    back = read(tmp_path / "a.usda", Found()).spec.bodies
    found = {round(float(body.position[0])): float(body.center_of_mass[2]) for body in back}
    assert found == pytest.approx({2 * k: center for k, center in enumerate(centers)})


def test_joints_count_from_where_the_scene_begins(tmp_path):
    half = math.radians(15)
    nodes = [
        {"name": "Post", "children": [2], "extensions": physics(**box())},
        {
            "name": "Door",
            "children": [3],
            "rotation": [0, math.sin(half), 0, math.cos(half)],
            "extensions": physics(motion={"mass": 1}, **box()),
        },
        {"name": "Hinge", "extensions": physics(joint={"connectedNode": 3, "joint": 0})},
        {"name": "Other end"},
    ]
    limits = [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 2], "min": 0, "max": 0},
        {"angularAxes": [1], "min": -1, "max": 2},
    ]
    spec, _ = read_json(document(nodes, roots=[0, 1], physicsJoints=[{"limits": limits}]), tmp_path)
    (joint,) = spec.joints
    assert joint.linear == (LOCKED, LOCKED, LOCKED)
    assert (joint.angular[1].lower, joint.angular[1].upper) == pytest.approx((-1 - 2 * half, 2 - 2 * half))
    assert matrix_of(joint.orientation)[:, 1] == pytest.approx([0, 0, 1], abs=1e-12)
    assert spec.excluded == (("Door", "Post"),)


def test_filters_and_rules(tmp_path):
    filters = [{"collisionSystems": ["a"], "notCollideWithSystems": ["b"]}, {"collisionSystems": ["b"]}]
    nodes = [
        {"name": name, "extensions": physics(motion={"mass": 1}, **box(physicsMaterial=0, **more))}
        for name, more in (("A", {"collisionFilter": 0}), ("B", {"collisionFilter": 1}), ("C", {}))
    ]
    materials = [{"staticFriction": 0.3, "frictionCombine": "maximum", "restitutionCombine": "multiply"}]
    spec, _ = read_json(document(nodes, collisionFilters=filters, physicsMaterials=materials), tmp_path)
    a, b, c = (named(spec, name).collections for name in "ABC")
    assert (bool(a & b), bool(a & c), bool(b & c), bool(a & a)) == (False, True, True, True)
    assert spec.friction_combine is FrictionCombine.MAXIMUM
    assert spec.restitution_combine is FrictionCombine.PRODUCT
    assert (spec.bodies[0].material.mu_static, spec.bodies[0].material.mu_dynamic) == (0.3, 0.6)


def good():
    return {"name": "Good", "extensions": physics(motion={"mass": 1}, **box())}


def bad(extension, **more):
    return {"name": "Bad", "extensions": {BODIES: extension}, **more}


WRONG = {
    "no such shape": (bad(box(7)), "no shape 7"),
    "no such material": (bad(box(physicsMaterial=3)), "no material 3"),
    "negative mass": (bad({"motion": {"mass": -2}, **box()}), "above 0"),
    "mass that is no number": (bad({"motion": {"mass": math.nan}, **box()}), "not finite"),
    "inertia that no body has": (bad({"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 5]}, **box()}), "exceed the sum"),
    "center that is no place": (bad({"motion": {"mass": 1, "centerOfMass": [1, 2]}, **box()}), "three numbers"),
    "inertia": (bad({"motion": {"mass": 1, "inertiaDiagonal": [1, 0, 1]}, **box()}), "above 0"),
    "zero scale": (bad(box(), scale=[1, 0, 1]), "no volume"),
    "place that is no number": (bad(box(), translation=[0, math.nan, 0]), "not finite"),
    "uneven ball": (bad(box(1), scale=[1, 2, 1]), "evenly"),
    "unknown shape": (bad(box(2)), "use a mesh"),
    "no mesh": (bad({"collider": {"geometry": {"node": 0}}}), "no mesh"),
    "joint to nowhere": (bad({"joint": {"connectedNode": 9, "joint": 0}}), "no node 9"),
    "no such joint": (bad({"joint": {"connectedNode": 0, "joint": 4}}), "no joint 4"),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_named_with_its_node_and_what_to_do(tmp_path, name):
    node, words = WRONG[name]
    shapes = [{"type": "box", "box": {"size": [1, 1, 1]}}, {"type": "sphere", "sphere": {"radius": 1}}, {"type": "torus"}]
    with pytest.raises(SceneError) as caught:
        read_json(document([good(), node], shapes=shapes, physicsJoints=[{}]), tmp_path)
    (problem,) = caught.value.problems
    assert problem.object == "/Bad"
    assert words in problem.message
    assert ";" in problem.message


@pytest.mark.parametrize("ending", ["glb", "gltf"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused(tmp_path, ending, share):
    file = tmp_path / f"a.{ending}"
    write(Described(plain.arch()), file, Found())
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(SceneError, match=rf"a\.{ending}"):
        read(file, Found())


@pytest.mark.parametrize(
    "content",
    ["[]", "{}", '{"asset": {"version": "1.0"}}', '{"asset": {"version": "2.0"}, "scenes": [{"nodes": [5]}]}', "glTF"],
)
def test_what_is_no_gltf_is_refused(tmp_path, content):
    file = tmp_path / "a.gltf"
    file.write_text(content)
    with pytest.raises(SceneError, match=r"a\.gltf"):
        read(file, Found())


@pytest.mark.parametrize("seed", range(30))
def test_a_file_with_a_value_replaced_is_read_or_refused(tmp_path, seed):
    """Whatever stands where, there is a scene or a SceneError."""
    file = tmp_path / "a.gltf"
    write(Described(jointed.drawbridge()), file, Found())
    content = json.loads(file.read_text())
    rng = np.random.default_rng(seed)
    for _ in range(3):
        place = content
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = keys[int(rng.integers(len(keys)))]
            if not isinstance(place[key], (dict, list)) or not place[key] or rng.random() < 0.1:
                break
            place = place[key]
        place[key] = [None, -1, "x", [], {}, math.nan, 1e300, True][int(rng.integers(8))]
    file.write_text(json.dumps(content))
    try:
        read(file, Found())
    except SceneError as error:
        assert error.problems


def test_what_only_stiction_reads_is_read(tmp_path):
    spec = jointed.drawbridge()
    file = tmp_path / "a.glb"
    write(Described(spec), file, Found())
    back = read(file, Found()).spec
    assert (back.frame_end, back.fps, back.gravity.tolist()) == (spec.frame_end, spec.fps, spec.gravity.tolist())
    assert [axis == FREE_AXIS for axis in back.joints[0].angular] == [axis == FREE_AXIS for axis in spec.joints[0].angular]
