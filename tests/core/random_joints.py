# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of boxes that are joined at random, trees, loops and redundant joints among them, some of them on the ground; and the
contact problems of their steps with the answers that bakes get."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.dynamics.solve import system_solver
from solver_core.dynamics.solve.islands import Again
from solver_core.dynamics.solve.islands import totals as totals_of
from solver_core.problem.system import relative_velocities
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import MaterialSpec, SceneSpec

SURFACE = MaterialSpec(0.7, 0.7, 0.3)
SPACING = 0.5
LOCKS = (LOCKED,) * 3


def axes_of(random) -> tuple[tuple[AxisSpec, ...], tuple[AxisSpec, ...]]:
    """What a joint of some kind does along and about its axes."""
    limits = AxisSpec(-random.uniform(0.0, 0.5), random.uniform(0.0, 0.5))
    spring = AxisSpec(stiffness=10.0 ** random.uniform(0.0, 4.0), damping=10.0 ** random.uniform(-2.0, 1.0))
    motor = AxisSpec(motor_velocity=random.normal(), motor_force=random.uniform(0.0, 20.0))
    kinds = (
        (LOCKS, LOCKS),
        (LOCKS, (FREE_AXIS,) * 3),
        (LOCKS, (LOCKED, LOCKED, FREE_AXIS)),
        (LOCKS, (LOCKED, LOCKED, limits)),
        (LOCKS, (LOCKED, LOCKED, motor)),
        ((limits, LOCKED, LOCKED), LOCKS),
        ((FREE_AXIS, LOCKED, LOCKED), (FREE_AXIS, LOCKED, LOCKED)),
        ((motor, LOCKED, LOCKED), LOCKS),
        ((limits,) * 3, (limits,) * 3),
        ((spring,) * 3, (spring,) * 3),
    )
    return kinds[random.integers(len(kinds))]


def random_jointed_scene(seed: int) -> SceneSpec:
    """3 to 8 boxes of 0.02 to 20 kg, thrown, every other one on the ground; nine of ten are joined to one before or to the
    world, and some joints more close loops, or say what others say."""
    random = np.random.default_rng(seed)
    count = int(random.integers(3, 9))
    bodies = [ground(SURFACE)]
    for k in range(count):
        size = random.uniform(0.1, 0.3, 3)
        stands = k % 2 == 0
        place = np.array([SPACING * (k % 3), SPACING * (k // 3), 0.5 * size[2] if stands else random.uniform(0.4, 0.6)])
        turn = np.array([1.0, 0.0, 0.0, 0.0]) if stands else Rotation.random(rng=random).as_quat(scalar_first=True)
        one = box(f"Box {k}", size, place, SURFACE, 10.0 ** random.uniform(-1.7, 1.3), turn, random.normal(size=3))
        bodies.append(dataclasses.replace(one, angular_velocity=2.0 * random.normal(size=3)))
    pairs = [(random.integers(-1, k), k) for k in range(count) if random.random() < 0.9]
    pairs += [tuple(random.choice(count, 2, replace=False)) for _ in range(random.integers(0, count))]
    joints: list[JointSpec] = []
    for number, (a, b) in enumerate(pairs):
        names = "" if a < 0 else f"Box {a}", f"Box {b}"
        place = bodies[1 + b].position + 0.2 * random.normal(size=3)
        turn = Rotation.random(rng=random).as_quat(scalar_first=True)
        linear, angular = axes_of(random)
        joints.append(JointSpec(f"Joint {number}", *names, place, turn, linear, angular))
        if random.random() < 0.2:
            joints.append(dataclasses.replace(joints[-1], name=f"Joint {number} again"))
    return SceneSpec(tuple(bodies), frame_end=100, joints=tuple(joints))


def is_any_waiting(again: Again | None) -> bool:
    """Whether a solve leaves islands out that are not solved yet."""
    if again is None:
        return False
    return bool(np.any(np.delete(again.outcomes.status, again.which) != sc.Status.SOLVED))


@contextmanager
def answers_seen(see: Callable[[sc.ContactProblem, sc.Result], None]) -> Iterator[None]:
    """Within this context `see` is shown the problem of every step with the answer that Staggered Projections gave.

    Islands without joints are solved last. The problem is not shown while they wait.
    """
    solve_islands, solve_corrected = system_solver.solve_islands, system_solver.solve_corrected

    def show(system, impulse, v, totals):
        problem = sc.ContactProblem.of_system(system)
        stats = sc.Statistics(totals.iterations, totals.factorisations, 0.0)
        answer = impulse.copy(), relative_velocities(system, v), v.copy()
        see(problem, sc.Result(sc.Status(totals.status), *answer, stats, "staggered"))

    def shown(system, impulse, *rest):
        v, totals = solve_islands(system, impulse, *rest)
        if not is_any_waiting(rest[-1]):
            show(system, impulse, v, totals)
        return v, totals

    def corrected_shown(system, impulse, *rest):
        corrected = solve_corrected(system, impulse, *rest)
        which, v, out = rest[-1]
        if corrected.is_solved[which].all() and not is_any_waiting(rest[-1]):
            # The kernel wrote the bias of the joints into the system.
            show(system._replace(bias=system.bias.copy()), impulse, v, totals_of(out))
        return corrected

    system_solver.solve_islands, system_solver.solve_corrected = shown, corrected_shown
    try:
        yield
    finally:
        system_solver.solve_islands, system_solver.solve_corrected = solve_islands, solve_corrected
