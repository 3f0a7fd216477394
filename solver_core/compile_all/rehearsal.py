# SPDX-License-Identifier: GPL-3.0-or-later
"""What bakes and solves may call, called once in small: so that all kernels are compiled, and for the types they are given.

numba compiles a kernel for the types of its first arguments. Which those are is known only in the code that calls it, nowhere
else, so that code is run, on scenes of a few bodies: parts that share few kernels first, which can be compiled at the same
time, then whole scenes, for what lies between the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..collision.detect import detect
from ..collision.time_of_impact import OVERLAP_ALLOWED, Motion
from ..dynamics.look_ahead.impacts import ImpactFinder
from ..dynamics.model.bodies import build_bodies
from ..dynamics.model.held_together import HeldTogether
from ..dynamics.model.rest_gaps import rest_offsets
from ..dynamics.motion.deformation import Deformation
from ..dynamics.motion.rotation import matrices
from ..dynamics.simulation import Simulation
from ..dynamics.solve.islands import Requests, has_large_island, solve_islands
from ..linalg.elementary import arctangents, exponentials, powers, sines_and_cosines
from ..linalg.mat3 import eigen_of_each, inverses, principal_axes_of_points, relative_eigen
from ..linalg.small_dense import inverse, is_positive_definite, least_norm, solved, sparse_product, times
from ..problem.contact_problem import ContactProblem
from ..problem.many_problems import ContactProblems
from ..problem.system import System, one_body
from ..scene.activation import ActivationSpec, ZoneSpec
from ..scene.deformable import DeformableSpec, Elasticity
from ..scene.fields import FieldKind, FieldSpec
from ..scene.joints import FREE_AXIS, LOCKED, BondStrength, JointSpec
from ..scene.parts import BOX_TRIANGLES, box, box_shape, cone_shape, cylinder_shape, ground
from ..scene.spec import BodyKind, BodySpec, ChildSpec, FrictionCombine, SceneSpec, ShapeKind, ShapeSpec, Staggering
from ..scenes.plain import card_house, chain, jamming_rod, slope
from ..solvers.block_operator import State
from ..solvers.coulomb.cascade import ACCELERATED
from ..solvers.coulomb.subdomains import begin_large, regions_around, solve_subdomains
from ..solvers.criteria import criteria_at
from ..solvers.effort import effort_of_a_step
from ..solvers.solve import solve
from ..solvers.solve_many import solve_many

__all__ = ["PARTS", "Part", "load_kernels_of"]

STEP = 1.0 / 240.0  # s
UNREACHABLE = 1e-15  # a tolerance that no answer reaches
COUPLED = 30  # contacts of a matrix: more than are built and solved as few
FAST = 20.0  # m/s, and rad/s: farther in a step than bodies of this size are thick


@dataclass(frozen=True)
class Part:
    """Something to call: its name in plain words, and the parts before it, by their names, that share kernels with it."""

    name: str
    run: Callable[[], None]
    after: tuple[str, ...] = ()


def solve_cube(**settings) -> None:
    """A frame of a cube that slides, which takes the method through all that it does."""
    material = card_house(levels=1).bodies[0].material
    cube = box("Cube", (0.2, 0.2, 0.2), (0.0, 0.0, 0.1), material, velocity=(1e-3, 0.0, 0.0))
    Simulation(SceneSpec((ground(material), cube)), substeps=1, **settings).run(1)


def arithmetic() -> None:
    """Small matrices and elementary functions: which of them a scene calls depends on what happens in it."""
    one, square, row = np.eye(3)[None], np.eye(3), np.ones(3)
    inverses(one)
    eigen_of_each(one)
    relative_eigen(one, one)
    principal_axes_of_points(square)
    solved(square, row)
    inverse(square)
    is_positive_definite(square)
    times(square, row)
    sparse_product(square, square)
    least_norm(square, row, UNREACHABLE)
    sines_and_cosines(row)
    arctangents(row, row)
    exponentials(row)
    powers(row, 0.5)


def particle() -> System:
    """A particle on the ground."""
    jacobian = np.zeros((1, 3, 6))
    jacobian[0, :, :3] = np.eye(3)
    return one_body(jacobian, np.array([[-1.0, 0.5, 0.0]]), np.zeros(1), np.array([0.5]), 0.0)


def islands() -> None:
    """The islands of a step, which take longest to compile, without anything that finds contacts."""
    requests = Requests(np.array([1e-4]), np.array([False]), 200, 0, ACCELERATED)
    solve_islands(particle(), np.zeros((1, 3)), requests, effort_of_a_step())


def large() -> None:
    """What large islands begin with, together and in regions, of a particle on the ground."""
    system = particle()
    criteria, state = criteria_at(1e-4, 1.0), State(np.zeros((1, 3)), system.velocity.copy())
    has_large_island(system)
    begin_large(system, criteria, effort_of_a_step(), state, 2)
    chosen = regions_around(system, np.ones(1), 0.0)
    solve_subdomains(system, chosen, criteria, effort_of_a_step(), state, 2)


def staggered() -> None:
    for variant in Staggering:
        solve_cube(staggering=variant, polygon_sides=0)
    solve_cube(polygon_sides=8)
    large()


def given_problems() -> None:
    """A particle on the ground as who has a contact problem gives it: alone and as one of many, and many as one matrix, with
    friction and without."""
    G, g = np.eye(3), np.array([-1.0, 0.5, 0.0])
    particle = ContactProblem.from_delassus(G, g, 0.5)
    for method in ("staggered", "pivot", "energy"):
        solve(particle, method)
    solve(particle, "lemke", static_friction="signs")
    solve(particle, "lemke", static_friction="creep", creep_speed=0.1)
    solve_many(ContactProblems.from_delassus([G], [g], 0.5))
    coupled = np.eye(3 * COUPLED) + 1.0
    for mu in (0.5, 0.0):
        for method in ("staggered", "pivot", "energy"):
            solve(ContactProblem.from_delassus(coupled, np.tile(g, COUPLED), mu), method)


def pivoting() -> None:
    solve_cube(method="pivot")
    solve_cube(tolerance=UNREACHABLE)


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
    drum, cone = cylinder_shape(0.1, 0.2), cone_shape(0.1, 0.2)
    more = body("Drum", drum, (-0.5, 6.0, 0.59)), body("Cone", cone, (0.0, 3.0, 0.28)), body("Drums", drum, (-0.45, 6.0, 0.7))
    return with_more(meshes(), more)


def with_more(spec: SceneSpec, more: tuple[BodySpec, ...]) -> SceneSpec:
    return replace(spec, bodies=spec.bodies + more)


def collide(scene: Callable[[], SceneSpec]) -> Callable[[], None]:
    """What finds the contacts of a scene and the impacts of its bodies, without what solves them."""

    def run() -> None:
        spec = scene()
        bodies, state = build_bodies(spec)
        solids = [i for i, one in enumerate(spec.bodies) if one.kind is BodyKind.ACTIVE and one.shape.kind is ShapeKind.MESH]
        modes = {i: np.zeros((len(spec.bodies[i].shape.vertices), 3, 1)) for i in solids}
        deformation = Deformation(spec, bodies.shapes, modes)
        deformation.place(0.0, 0.1, STEP)
        deformation.bend_on(np.zeros(len(solids)))
        some = np.array(solids[:1], dtype=np.int64)
        deformation.modes_at(some, some, state.position[some], state.position, matrices(state.orientation))
        rotation, movable = matrices(state.orientation), bodies.model.dof >= 0
        rest = rest_offsets(bodies.model.size)
        detect(bodies.shapes, state.position, rotation, rest, bodies.model.collections, movable, bodies.excluded)
        twist = np.where(movable[:, None], -FAST, 0.0) * np.ones(6)
        motion = Motion(state.position, rotation, twist, STEP, 1.0, OVERLAP_ALLOWED)
        ImpactFinder(bodies, HeldTogether(spec, bodies), deformation).find(motion, movable)

    return run


def bending() -> SceneSpec:
    """A body in small bends and one in large ones, so soft that steps follow it, jointed, on the ground and on each other."""
    law = DeformableSpec(young=1e5, modes=2, resolution=2)
    small = body("Small", mesh_box(0.2), (0.0, 0.0, 0.1), deformable=law)
    large = body("Large", mesh_box(0.2), (0.05, 0.0, 0.3), deformable=replace(law, kind=Elasticity.STVK, young=1e3))
    joint = JointSpec("Hinge", "Small", "Large", np.array([0.0, 0.0, 0.2]), angular=(LOCKED, LOCKED, FREE_AXIS))
    return SceneSpec((ground(card_house(levels=1).bodies[0].material), small, large), joints=(joint,))


def whole(scene: Callable[[], SceneSpec], **settings) -> None:
    """Two frames of a scene, with a checkpoint between them."""
    simulation = Simulation(scene(), substeps=2, **settings)
    first = simulation.advance()
    simulation.restore(first.frame, simulation.checkpoint())
    simulation.advance()


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


def whole_scenes() -> None:
    for scene in (polyhedra, rounds, meshes, rounds_on_meshes, moving, windy):
        whole(scene)
    whole(moving, method="pivot")
    whole(moving, tolerance=UNREACHABLE, max_iterations=20)
    whole(slope, step_time_limit=60.0)
    whole(jamming_rod)
    whole(jamming_rod, method="pivot")
    whole(chain)
    whole(bonded)
    whole(bending)


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


# A step calls the kernels of the first part last. The process that helps a bake begins with it, so it does not compile what the
# bake compiles at the same time, and neither waits for the other.
PARTS = (
    Part("islands", islands),
    Part("contacts of boxes and hulls", collide(polyhedra)),
    Part("Staggered Projections", staggered, ("islands", "contacts of boxes and hulls")),
    Part("small matrices and functions", arithmetic),
    Part("pivoting", pivoting, ("Staggered Projections",)),
    Part("contact problems", given_problems, ("pivoting",)),
    Part("meshes", collide(meshes), ("contacts of boxes and hulls",)),
    Part("cylinders and cones", collide(rounds), ("contacts of boxes and hulls",)),
    Part("cylinders and cones on meshes", collide(rounds_on_meshes), ("meshes", "cylinders and cones")),
    Part("whole scenes", whole_scenes, ("pivoting", "cylinders and cones on meshes")),
)
