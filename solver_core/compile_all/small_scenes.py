# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of a few bodies whose frames call the kernels of bakes, and which of them a given scene may call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..dynamics.simulation import Simulation
from ..scene.activation import ActivationSpec, ZoneSpec
from ..scene.deformable import DeformableSpec, Elasticity
from ..scene.fields import FieldKind, FieldSpec
from ..scene.joints import FREE_AXIS, LOCKED, BondStrength, JointSpec
from ..scene.parts import BOX_TRIANGLES, box, box_shape, cone_shape, cylinder_shape, ground
from ..scene.spec import BodyKind, BodySpec, ChildSpec, FrictionCombine, SceneSpec, ShapeKind, ShapeSpec
from ..scenes.plain import card_house, chain, jamming_rod

__all__ = [
    "FAST",
    "bending",
    "bonded",
    "load_kernels_of",
    "meshes",
    "moving",
    "polyhedra",
    "rounds",
    "rounds_on_meshes",
    "whole",
    "windy",
]

FAST = 20.0  # m/s, and rad/s: in a step, bodies of this size move by more than their thickness


def body(name: str, shape: ShapeSpec, position, kind: BodyKind = BodyKind.ACTIVE, **fields) -> BodySpec:
    return BodySpec(
        name, kind, shape, np.asarray(position, dtype=np.float64), mass=1.0 if kind is BodyKind.ACTIVE else None, **fields
    )


def tetrahedron(size: float, kind: ShapeKind = ShapeKind.HULL, margin: float = 0.0) -> ShapeSpec:
    corners = size * np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    return ShapeSpec(kind, corners, np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]], dtype=np.int32), margin)


def mesh_box(size: float) -> ShapeSpec:
    return ShapeSpec(ShapeKind.MESH, box_shape((size, size, size)).vertices, BOX_TRIANGLES)


def sheet() -> ShapeSpec:
    corners = np.array([[-2.0, -2.0, 0.0], [2.0, -2.0, 0.0], [2.0, 2.0, 0.0], [-2.0, 2.0, 0.0]])
    return ShapeSpec(ShapeKind.MESH, corners, np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32))


def polyhedra() -> SceneSpec:
    """Boxes, hulls, a compound and a plane, some in each other."""
    pair = (ChildSpec(tetrahedron(0.1)), ChildSpec(box_shape((0.1, 0.1, 0.1)), np.array([0.1, 0.0, 0.0])))
    return SceneSpec(
        (
            *card_house(levels=1).bodies,
            body("Hull", tetrahedron(0.1), (1.0, 0.0, 0.05)),
            body("Skin", tetrahedron(0.1, margin=0.01), (1.05, 0.0, 0.1)),
            body("Compound", ShapeSpec(ShapeKind.COMPOUND, children=pair), (2.0, 0.0, 0.05)),
            body("Other", ShapeSpec(ShapeKind.COMPOUND, children=pair), (2.05, 0.0, 0.1)),
        )
    )


def rounds() -> SceneSpec:
    """Polyhedra with cylinders and cones."""
    drum, cone = cylinder_shape(0.1, 0.2), cone_shape(0.1, 0.2)
    card = box_shape((0.1, 0.1, 0.1))
    more = body("Drum", drum, (3.0, 0.0, 0.09)), body("Cone", cone, (3.0, 0.05, 0.2)), body("Box", card, (3.1, 0.0, 0.1))
    return with_more(polyhedra(), more)


def meshes() -> SceneSpec:
    """Polyhedra with meshes: still and moving, open and closed, in each other and deforming."""
    waves = np.linspace(0.0, 0.01, 3)[:, None, None] * np.array([0.0, 0.0, 1.0]) + sheet().vertices
    more = (
        body("Solid", mesh_box(0.2), (0.0, 3.0, 0.1)),
        body("Within", mesh_box(0.2), (0.05, 3.05, 0.25)),
        body("On it", box_shape((0.1, 0.1, 0.1)), (0.0, 3.0, 0.24)),
        body("Sheet", sheet(), (0.0, 6.0, 0.5), BodyKind.PASSIVE, deformation=waves),
        body("Ball", tetrahedron(0.1), (0.0, 6.0, 0.55)),
        body("Mesh on it", mesh_box(0.1), (0.5, 6.0, 0.54)),
    )
    spec = with_more(polyhedra(), more)
    return replace(spec, frame_end=spec.frame_start + 2)


def rounds_on_meshes() -> SceneSpec:
    """Meshes with cylinders and cones."""
    drum, cone = cylinder_shape(0.1, 0.2), cone_shape(0.1, 0.2)
    more = body("Drum", drum, (-0.5, 6.0, 0.59)), body("Cone", cone, (0.0, 3.0, 0.28)), body("Drums", drum, (-0.45, 6.0, 0.7))
    return with_more(meshes(), more)


def with_more(spec: SceneSpec, more: tuple[BodySpec, ...]) -> SceneSpec:
    return replace(spec, bodies=spec.bodies + more)


def bending() -> SceneSpec:
    """A body in small bends and one in large ones, so soft that steps follow it, jointed, on the ground and on each other."""
    law = DeformableSpec(young=1e5, modes=2, resolution=2)
    small = body("Small", mesh_box(0.2), (0.0, 0.0, 0.1), deformable=law)
    large = body("Large", mesh_box(0.2), (0.05, 0.0, 0.3), deformable=replace(law, kind=Elasticity.STVK, young=1e3))
    joint = JointSpec("Hinge", "Small", "Large", np.array([0.0, 0.0, 0.2]), angular=(LOCKED, LOCKED, FREE_AXIS))
    return SceneSpec((ground(card_house(levels=1).bodies[0].material), small, large), joints=(joint,))


def moving() -> SceneSpec:
    """Polyhedra among which something animated goes, some fast, bouncing, damped or locked."""
    spec = polyhedra()
    path = np.tile([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0], (3, 1))
    path[:, 0] += np.arange(3) * 0.1
    material = replace(spec.bodies[0].material, restitution=0.5, mu_dynamic=0.3)
    small, down = box_shape((0.02, 0.02, 0.02)), np.array([0.0, 0.0, -FAST])
    fast = body("Fast", small, (0.5, 0.0, 0.05), velocity=down, material=material)
    turning = replace(fast, name="Turning", position=np.array([0.7, 0.0, 0.05]), angular_velocity=np.array([FAST, FAST, 0.0]))
    locked = replace(fast, name="Locked", position=np.array([0.8, 0.0, 0.02]), linear_factor=np.array([1.0, 0.0, 1.0]))
    damped = replace(locked, name="Damped", position=np.array([0.9, 0.0, 0.02]), linear_damping=0.1, angular_damping=0.1)
    more = body("Paddle", box_shape((0.1, 0.1, 0.1)), (0, 0, 0.3), BodyKind.ANIMATED, path=path), fast, turning, locked, damped
    return replace(with_more(spec, more), frame_end=spec.frame_start + 2, friction_combine=FrictionCombine.AVERAGE)


def windy() -> SceneSpec:
    """Polyhedra that force fields push; one kind and one shape calls the kernels of all."""
    return replace(
        polyhedra(), fields=(FieldSpec("Wind", FieldKind.WIND, strength=0.1), FieldSpec("Magnet", FieldKind.MAGNETIC))
    )


def bonded() -> SceneSpec:
    """Three cubes on the ground in a row with bonds, one of which breaks; a fourth one waits beside a volume."""
    material = card_house(levels=1).bodies[0].material
    cubes = [box(f"Cube {i}", (0.1, 0.1, 0.1), (0.1 * i, 0.0, 0.05), material) for i in range(3)]
    cubes[2] = replace(cubes[2], velocity=np.array([0.0, 0.0, FAST]))
    strong, weak = BondStrength(1e9, 1e9, 1e9, 1e9, 1e9), BondStrength(1.0, 1.0, 1.0, 1.0, 1.0)
    joints = [
        JointSpec(f"Bond {i}", f"Cube {i}", f"Cube {i + 1}", np.array([0.1 * i + 0.05, 0.0, 0.05]), strength=strength)
        for i, strength in enumerate((strong, weak))
    ]
    waits, surface = box("Waits", (0.1, 0.1, 0.1), (0.5, 0.0, 0.05), material), box_shape((0.1, 0.1, 0.1))
    beside = np.column_stack([np.eye(3), [0.61, 0.0, 0.05]])[None]
    volume = ZoneSpec("Volume", surface.vertices, surface.triangles, beside, is_volume=True)
    activation = ActivationSpec("Wake", ("Waits",), zones=(volume,), impulse=1.0)
    return SceneSpec((ground(material), *cubes, waits), joints=tuple(joints), activations=(activation,))


def whole(scene: Callable[[], SceneSpec], **settings) -> None:
    """Two frames of a scene, with a checkpoint between them."""
    simulation = Simulation(scene(), substeps=2, **settings)
    first = simulation.advance()
    simulation.restore(first.frame, simulation.checkpoint())
    simulation.advance()


def kinds_of(shape: ShapeSpec) -> set[ShapeKind]:
    """The kinds of a shape and of all that it is made of."""
    return {shape.kind}.union(*(kinds_of(child.shape) for child in shape.children))


def load_kernels_of(spec: SceneSpec) -> None:
    """Call what frames of a scene may call, so that no kernel that is compiled has to be loaded in the middle of one."""
    kinds = set().union(*(kinds_of(one.shape) for one in spec.bodies))
    has_meshes, has_rounds = ShapeKind.MESH in kinds, bool(kinds & {ShapeKind.CYLINDER, ShapeKind.CONE})
    whole(moving, step_time_limit=60.0)
    whole(jamming_rod)
    if has_meshes or has_rounds:
        whole(rounds if not has_meshes else rounds_on_meshes if has_rounds else meshes)
    if spec.joints:
        whole(chain)
    if spec.activations or any(joint.strength is not None for joint in spec.joints):
        whole(bonded)
    if spec.fields:
        whole(windy)
