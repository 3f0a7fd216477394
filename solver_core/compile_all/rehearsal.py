# SPDX-License-Identifier: GPL-3.0-or-later
"""What bakes and solves may call, called once in small: so that all kernels are compiled, and for the types they are given.

numba compiles a kernel for the types of its first arguments. Which those are is known only in the code that calls it, nowhere
else, so that code is run, on scenes of a few bodies: parts that share few kernels first, which can be compiled at the same
time, then whole scenes, for what lies between the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..collision.detect import detect
from ..collision.time_of_impact import OVERLAP_ALLOWED, Motion
from ..dynamics.joints.tension import geometric_stiffness
from ..dynamics.look_ahead.impacts import ImpactFinder
from ..dynamics.model.bodies import build_bodies
from ..dynamics.model.held_together import HeldTogether
from ..dynamics.model.rest_gaps import rest_offsets
from ..dynamics.motion.deformation import Deformation
from ..dynamics.motion.rotation import matrices
from ..dynamics.simulation import Simulation
from ..dynamics.solve.islands import Requests, has_large_island, solve_islands
from ..dynamics.solve.separation import left_to_limits
from ..geometry.hulls import MOST_EXACT, convex_hull
from ..laboratory.many_problems import ContactProblems
from ..laboratory.solve import solve
from ..laboratory.solve_many import solve_many
from ..linalg.elementary import arctangents, exponentials, powers, sines_and_cosines
from ..linalg.mat3 import eigen_of_each, inverses, principal_axes_of_points, relative_eigen
from ..linalg.small_dense import inverse, is_positive_definite, least_norm, solved, sparse_product, times
from ..problem.contact_problem import ContactProblem
from ..problem.system import System, one_body
from ..scene.parts import box, ground
from ..scene.spec import BodyKind, SceneSpec, ShapeKind, Staggering
from ..scenes.plain import card_house, chain, jamming_rod, slope
from ..solvers.block_operator import State
from ..solvers.coulomb.cascade import ACCELERATED
from ..solvers.coulomb.subdomains import begin_large, regions_around, solve_subdomains
from ..solvers.criteria import criteria_at
from ..solvers.effort import effort_of_a_step
from .small_scenes import FAST, bending, bonded, meshes, moving, polyhedra, rounds, rounds_on_meshes, whole, windy

__all__ = ["PARTS", "Part"]

# rad, between neighbours along a spiral that covers a sphere evenly
GOLDEN_ANGLE = 2.399963229728653

STEP = 1.0 / 240.0  # s
UNREACHABLE = 1e-15  # a tolerance that no answer reaches
COUPLED = 30  # contacts of a matrix: more than are built and solved as few


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
    """Call small matrices, elementary functions and limits of joints, which a scene calls only in rare events."""
    one, square, row = np.eye(3)[None], np.eye(3), np.ones(3)
    inverses(one)
    eigen_of_each(one)
    relative_eigen(one, one)
    geometric_stiffness(1, np.zeros(3, np.int64), square, square)
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
    left_to_limits(row[None], np.zeros((1, 3, 3)))


def particle() -> System:
    """A particle on the ground."""
    jacobian = np.zeros((1, 3, 6))
    jacobian[0, :, :3] = np.eye(3)
    return one_body(jacobian, np.array([[-1.0, 0.5, 0.0]]), np.zeros(1), np.array([0.5]), 0.0)


def islands() -> None:
    """The islands of a step, which take longest to compile, without anything that finds contacts."""
    requests = Requests(np.array([1e-4]), np.array([False]), np.ones(1), 200, 0, ACCELERATED)
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


def collide(scene: Callable[[], SceneSpec]) -> Callable[[], None]:
    """What finds the contacts of a scene and the impacts of its bodies, without what solves them."""

    def run() -> None:
        spec = scene()
        bodies, state = build_bodies(spec)
        solids = [i for i, one in enumerate(spec.bodies) if one.kind is BodyKind.ACTIVE and one.shape.kind is ShapeKind.MESH]
        modes = {i: np.zeros((len(spec.bodies[i].shape.vertices), 3, 1)) for i in solids}
        deformation = Deformation(spec, bodies.shapes, modes)
        deformation.place(0.0, 0.1, STEP)
        deformation.set_modal_velocity(np.zeros(len(solids)))
        some = np.array(solids[:1], dtype=np.int64)
        deformation.modes_at(some, some, state.position[some], state.position, matrices(state.orientation))
        rotation, movable = matrices(state.orientation), bodies.model.dof >= 0
        rest = rest_offsets(bodies.model.size)
        detect(bodies.shapes, state.position, rotation, rest, bodies.model.collections, movable, bodies.excluded)
        twist = np.where(movable[:, None], -FAST, 0.0) * np.ones(6)
        motion = Motion(state.position, rotation, twist, STEP, 1.0, OVERLAP_ALLOWED)
        ImpactFinder(bodies, HeldTogether(spec, bodies), deformation).find(motion, movable)

    return run


def hull_of_many() -> None:
    """The hull of a ball of more points than Qhull is asked for."""
    count = MOST_EXACT + 1
    height, angle = np.linspace(-1.0, 1.0, count), GOLDEN_ANGLE * np.arange(count)
    radius = np.sqrt(1.0 - height**2)
    convex_hull(np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height]))


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


# A step calls the kernels of the first part last. The process that helps a bake begins with it, so it does not compile what the
# bake compiles at the same time, and neither waits for the other.
PARTS = (
    Part("islands", islands),
    Part("contacts of boxes and hulls", collide(polyhedra)),
    Part("Staggered Projections", staggered, ("islands", "contacts of boxes and hulls")),
    Part("small matrices and functions", arithmetic),
    Part("hulls of many points", hull_of_many),
    Part("pivoting", pivoting, ("Staggered Projections",)),
    Part("contact problems", given_problems, ("pivoting",)),
    Part("meshes", collide(meshes), ("contacts of boxes and hulls",)),
    Part("cylinders and cones", collide(rounds), ("contacts of boxes and hulls",)),
    Part("cylinders and cones on meshes", collide(rounds_on_meshes), ("meshes", "cylinders and cones")),
    Part("whole scenes", whole_scenes, ("pivoting", "cylinders and cones on meshes")),
)
