"""The stepper: a scene moved on frame by frame, in the stages predict, collide, build, solve, separate, integrate, record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..collision.detect import ContactSet, detect
from ..scene import BodyKind, ContactMethod, FrictionCombine, SceneSpec, SceneWarning, SolverSettings
from ..system import System
from ..validation import scene_warnings, validate
from .bodies import State, build_bodies, to_body_frames
from .build import ContactMemory, build_contacts, match, remember, rest_offset, rest_offsets
from .deformation import Deformation
from .frame import Frame, FrameStatistics
from .impacts import MOST_CUTS, MOST_PARTS, Cut, ImpactFinder, Impacts
from .integrate import integrate, separation
from .islands import solve_islands
from .paths import path_pose
from .pivoting import sliding_directions, solve_islands_by_pivoting
from .predict import predict
from .rotation import matrices, rotation_vector
from .sleeping import Sleep, none_remembered

__all__ = ["Simulation"]

Floats = NDArray[np.float64]

RULES = {rule: code for code, rule in enumerate(FrictionCombine)}
STICK_FRACTION = 1e-3  # of the speed that gravity gives in a step: slower contacts are at rest
ROUND_OFF = 1e-9  # of a step: no part of it is that short
PATIENCE = 8  # parts of a step, one after the other, that are not refused: then one of twice the length is tried
STILL_MOTION = 1e-12  # m in a step: what interpolation between equal poses may come to
RELATIVE = ("cone", "complementarity", "dissipation")
STICK_SPEED = 1e-6  # m/s, where there is no gravity


class Simulation:
    """A scene that is stepped: `first_frame`, then `advance` once a frame, or `run`.

    warnings: what the user should know before the first step. Raises SceneError, naming every object and field that is wrong.
    """

    def __init__(
        self,
        spec: SceneSpec,
        *,
        method: str | ContactMethod = "staggered",
        fps: float | None = None,
        substeps: int = 10,
        tolerance: float = 1e-6,
        max_iterations: int = 200,
        polygon_sides: int = 0,
        warm_start: bool = True,
        sleeping: bool = True,
    ):
        if method not in [*ContactMethod, *(known.value for known in ContactMethod)]:
            raise ValueError(f"method must be one of {', '.join(known.value for known in ContactMethod)}, not {method!r}")
        self.settings = SolverSettings(
            ContactMethod(method), tolerance, max_iterations, substeps, polygon_sides, warm_start, sleeping
        )
        if fps is not None:
            spec = replace(spec, fps=fps)
        validate(spec, self.settings)
        self.spec = spec
        self._step = spec.time_scale / (spec.fps * substeps)
        self._bodies, self._state = build_bodies(spec)
        self._frame = spec.frame_start
        self._last_step = 0.0
        self._memory = none_remembered()
        kick = float(np.linalg.norm(spec.gravity)) * self._step
        self._sleep = Sleep(self._bodies.model.dof >= 0, self._bodies.shapes.radius, kick, self._step, sleeping)
        self._rest = rest_offsets(self._bodies.model.size)
        self._impacts = ImpactFinder(self._bodies)
        self._deformation = Deformation(spec, self._bodies.shapes)
        self._animated = [
            (i, np.asarray(body.path, dtype=np.float64))
            for i, body in enumerate(spec.bodies)
            if body.kind is BodyKind.ANIMATED and body.path is not None
        ]
        self._prescribed(0.0, 1.0, self._step)
        self.warnings: tuple[SceneWarning, ...] = (*scene_warnings(spec), *self._overlaps())

    @classmethod
    def from_settings(cls, spec: SceneSpec, settings: SolverSettings) -> Simulation:
        """The simulation of a scene with given settings."""
        return cls(
            spec,
            method=settings.method,
            substeps=settings.substeps,
            tolerance=settings.tolerance,
            max_iterations=settings.max_iterations,
            polygon_sides=settings.polygon_sides,
            warm_start=settings.warm_start,
            sleeping=settings.sleeping,
        )

    def first_frame(self) -> Frame:
        """The state as it is now, before or between steps, without statistics."""
        return self._record([])

    def advance(self) -> Frame:
        """Simulate one frame."""
        rows = []
        for substep in range(self.settings.substeps):
            rows.append(self._advance_step(substep))
        self._frame += 1
        return self._record(rows)

    def run(self, frames: int | None = None) -> list[Frame]:
        """The first frame and those after it: `frames` more, or up to the end of the scene's range."""
        return list(self.frames(frames))

    def frames(self, frames: int | None = None) -> Iterator[Frame]:
        """As `run`, one by one."""
        yield self.first_frame()
        for _ in range(self.spec.frame_end - self._frame if frames is None else frames):
            yield self.advance()

    def checkpoint(self) -> dict[str, NDArray]:
        """All that `restore` needs to go on bit for bit."""
        memory = {f"memory_{name}": array.copy() for name, array in zip(ContactMemory._fields, self._memory, strict=True)}
        state = {name: array.copy() for name, array in zip(State._fields, self._state, strict=True)}
        return state | memory | self._sleep.checkpoint() | {"last_step": np.array([self._last_step])}

    def restore(self, frame: int, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint that was taken after the given frame."""
        self._frame = frame
        self._state = State(*(np.array(checkpoint[name]) for name in State._fields))
        self._memory = ContactMemory(*(np.array(checkpoint[f"memory_{name}"]) for name in ContactMemory._fields))
        self._sleep.restore(checkpoint)
        self._last_step = float(checkpoint["last_step"][0])

    def _advance_step(self, substep: int) -> dict[str, Any]:
        """Advance by a time step, in shorter ones from impact to impact where bodies would pass each other.

        Many short parts that go well earn a longer one, and another refusal.
        """
        begin = perf_counter()
        step = (self._frame - self.spec.frame_start) * self.settings.substeps + substep
        rows: list[dict[str, Any]] = []
        left = h = longest = self._step
        cuts = 0
        refused: Cut | None = None
        streak = 0
        # every attempt advances or is refused, and only so many are
        while left > 0.0:
            outcome = self._attempt(step + 1.0 - left / self._step, h, MOST_CUTS - cuts, refused)
            if isinstance(outcome, Cut) and h > longest:
                h, streak = longest, 0
            elif isinstance(outcome, Cut):
                # a contact that closes in any step, however short, would otherwise use up all cuts
                shorter = outcome.time if refused is None else min(outcome.time, 0.5 * h)
                if outcome.repeatedly:
                    shorter = longest = max(shorter, self._step / MOST_PARTS)
                cuts = cuts + 1 if shorter < h else MOST_CUTS
                h = min(shorter, h)
                refused, streak = outcome, 0
            else:
                rows.append(outcome)
                left -= h
                longest = max(longest, h)
                streak += 1
                if streak % PATIENCE == 0:
                    cuts = max(0, cuts - 1)
                h = 2.0 * longest if streak >= PATIENCE else longest
                h = left if left <= (1.0 + ROUND_OFF) * h else h
                refused = None
        asleep = int(self._sleep.asleep.sum())
        self._memory = self._sleep.settle(step, self._memory)
        return combined(rows) | {"cuts": len(rows) - 1, "asleep": asleep, "seconds": perf_counter() - begin}

    def _attempt(self, at: float, h: float, cuts: int, refused: Cut | None) -> dict[str, Any] | Cut:
        """Advance by h seconds; or leave all as it is and return where it has to be cut.

        at: the begin, in time steps since the first frame. cuts: how many are still allowed; with none, it advances. refused:
        the last attempt from here, if it was cut.
        """
        state, settings = self._state, self.settings
        prescribed = self._prescribed(at, at + h / self._step, h)
        self._wake(self._stirred(prescribed, h))
        n = len(state.position)
        rotation, twist, predicted = np.empty((n, 3, 3)), np.empty((n, 6)), np.empty((n, 6))
        ahead, carried = np.empty((n, 4)), np.empty((n, 3))
        kick = 0.5 * (self._last_step + h)
        while True:
            # predict
            awake = self._sleep.awake
            moving = int(awake.sum())
            # who sleeps is like one that never moves
            model = self._bodies.model._replace(dof=np.where(awake, np.cumsum(awake) - 1, -1))
            mass, inverse_mass = np.empty((moving, 6, 6)), np.empty((moving, 6, 6))
            predict(model, state, prescribed, h, kick, rotation, mass, inverse_mass, twist, predicted, ahead, carried)

            # collide
            reach = self._impacts.reach(predicted, h) + self._deformation.reach(h)
            if refused is not None:
                # bodies come farther than predicted when they are hit
                reach = np.maximum(reach, h * refused.speed)
            contacts = self._collide(rotation, reach, awake)
            disturbed = self._sleep.disturbed(contacts, awake)
            if not disturbed.any():
                break
            self._wake(disturbed)
        distant = self._impacts.distant(contacts, reach)
        if distant.any() and cuts > 0:
            impacts = self._find_impacts(rotation, predicted, awake, h).among(contacts, distant)
            if 0 < len(impacts) <= cuts:
                return impacts.first(reach / h)
            if not len(impacts):
                contacts = contacts.without(distant)
        m = contacts.gap.size

        # build
        stick_speed = max(STICK_SPEED, STICK_FRACTION * float(np.linalg.norm(model.gravity)) * h)
        memory = self._memory if settings.warm_start else self._memory._replace(impulse=np.zeros_like(self._memory.impulse))
        found = match(memory, contacts.body_a, contacts.body_b, contacts.feature)
        axes, jacobian_a, jacobian_b, bias, slack, mu, sliding, approach, impulse = build_contacts(
            model,
            state.position,
            twist,
            h,
            stick_speed,
            RULES[self.spec.friction_combine],
            RULES[self.spec.restitution_combine],
            contacts.body_a,
            contacts.body_b,
            contacts.point,
            contacts.normal,
            contacts.gap,
            self._deformation.drift(contacts.body_a, contacts.body_b, contacts.point, state.position, rotation),
            memory,
            found,
        )
        if cuts == 0:
            # a bounce off one body into another, both in this step, has no solution that keeps to both
            slack = np.maximum(slack, 0.0)
        system = System(
            offset=np.arange(0, 6 * moving + 1, 6),
            block_start=np.arange(0, 36 * moving + 1, 36),
            mass=mass.ravel(),
            inverse_mass=inverse_mass.ravel(),
            velocity=predicted[awake].ravel(),
            body_a=model.dof[contacts.body_a],
            body_b=model.dof[contacts.body_b],
            jacobian_a=jacobian_a,
            jacobian_b=jacobian_b,
            bias=bias,
            slack=slack,
            mu=np.where(sliding, mu[:, 1], mu[:, 0]),
        )

        # solve, island by island
        counts, errors = np.zeros(5, np.int64), np.zeros(6)
        limits = settings.tolerance, settings.max_iterations
        if settings.method is ContactMethod.PIVOT:
            fall = float(np.linalg.norm(model.gravity)) * h
            direction = sliding_directions(system, twist[awake].ravel(), fall)
            v = solve_islands_by_pivoting(system, direction, impulse, *limits, counts, errors)
        else:
            v = solve_islands(system, impulse, *limits, settings.polygon_sides, counts, errors)

        # separate, integrate
        predicted[awake] = v.reshape(moving, 6)
        apart = separation(model, system, contacts.body_a, contacts.body_b, contacts.gap, v, predicted, h)
        predicted[awake] += apart.reshape(moving, 6)
        if cuts > 0:
            impacts = self._find_impacts(rotation, predicted, awake, h)
            if len(impacts):
                return impacts.first(self._impacts.reach(predicted, 1.0))
        before = State(*(array.copy() for array in state))
        integrate(model, state, mass, system.velocity, ahead, carried, v, apart, h)
        self._place_animated(at + h / self._step)
        if cuts > 0:
            late = self._impacts.deepened(contacts, state, predicted, self._deformation, awake, h, h / self._step)
            if len(late):
                self._state = before
                return late.first(self._impacts.reach(predicted, 1.0))
        self._sleep.watch(predicted, counts[0] == 0)
        self._last_step = h

        # record
        self._memory = ContactMemory(contacts.body_a, contacts.body_b, contacts.feature, remember(axes, impulse), approach)
        worst = int(counts[4])
        return {
            "status": counts[0],
            "contacts": m,
            "islands": counts[1],
            "iterations": counts[2],
            "factorisations": counts[3],
            "relative_error": errors[0],
            "residual": errors[1],
            "cone": errors[2],
            "complementarity": errors[3],
            "dissipation": errors[4],
            "worst_pair": (contacts.body_a[worst], contacts.body_b[worst]) if worst >= 0 else (-1, -1),
            "deepest_overlap": max(0.0, -float(contacts.gap.min(initial=0.0))),
        }

    def _wake(self, woken: NDArray[np.bool_]) -> None:
        if woken.any():
            self._memory = self._sleep.wake(woken, self._memory)

    def _stirred(self, prescribed: Floats, h: float) -> NDArray[np.bool_]:
        """(n,) who must wake because an animated body that moves, or a mesh that deforms, comes near."""
        asleep, motion = self._sleep.asleep, self._impacts.reach(prescribed, h) + self._deformation.reach(h)
        stirring = motion > STILL_MOTION
        if not asleep.any() or not stirring.any():
            return np.zeros_like(asleep)
        shapes, position = self._bodies.shapes, self._state.position
        collections = np.where(asleep | stirring, self._bodies.model.collections, 0)
        reach = 2.0 * self._rest + motion
        rotation = matrices(self._state.orientation)
        near = detect(shapes, position, rotation, reach, collections, stirring, self._bodies.excluded)
        return self._sleep.disturbed(near, stirring)

    def _collide(self, rotation: Floats, reach: Floats, movable: NDArray[np.bool_]) -> ContactSet:
        """Contacts that can close within the step: each body's fastest point may come as far as its reach (n,). Of two bodies
        one is movable (n,)."""
        shapes, model, excluded = self._bodies.shapes, self._bodies.model, self._bodies.excluded
        reach = 2.0 * self._rest + reach
        return detect(shapes, self._state.position, rotation, reach, model.collections, movable, excluded)

    def _find_impacts(self, rotation: Floats, twist: Floats, movable: NDArray[np.bool_], h: float) -> Impacts:
        """Impacts of the bodies within h seconds from where they are now, with twists (n, 6)."""
        return self._impacts.find(self._state.position, rotation, twist, self._deformation, movable, h, h / self._step)

    def _place_animated(self, at: float) -> None:
        """Put animated bodies where their paths have them, `at` time steps after the first frame."""
        for i, path in self._animated:
            pose = path_pose(path, at / self.settings.substeps)
            self._state.position[i], self._state.orientation[i] = pose[:3], pose[3:]

    def _prescribed(self, at: float, end: float, h: float) -> Floats:
        """Put what is animated or deforms where it is at the begin; the twists (n, 6) over the h seconds up to the end."""
        self._place_animated(at)
        self._deformation.place(at / self.settings.substeps, end / self.settings.substeps, h)
        twists = np.zeros((self._bodies.model.dof.size, 6))
        for i, path in self._animated:
            after = path_pose(path, end / self.settings.substeps)
            twists[i, :3] = (after[:3] - self._state.position[i]) / h
            twists[i, 3:] = rotation_vector(self._state.orientation[i], after[3:]) / h
        return twists

    def _overlaps(self) -> tuple[SceneWarning, ...]:
        """A warning for each pair of bodies that overlap now by more than their rest offset."""
        model = self._bodies.model
        contacts = self._collide(matrices(self._state.orientation), np.zeros(model.dof.size), model.dof >= 0)
        deepest: dict[tuple[int, int], float] = {}
        for a, b, gap in zip(contacts.body_a.tolist(), contacts.body_b.tolist(), contacts.gap.tolist(), strict=True):
            if gap < -rest_offset(model.size[a], model.size[b]):
                deepest[a, b] = min(gap, deepest.get((a, b), 0.0))
        names = [body.name for body in self.spec.bodies]
        return tuple(
            SceneWarning(
                (names[a], names[b]),
                "overlap",
                f"{names[a]} and {names[b]} overlap by {-1e3 * gap:.3g} mm at frame {self._frame}: "
                "they are pushed apart slowly",
            )
            for (a, b), gap in deepest.items()
        )

    def _record(self, rows: list[dict[str, Any]]) -> Frame:
        poses, velocities = to_body_frames(self._bodies, self._state)
        columns = {name: np.array([row[name] for row in rows]) for name in FrameStatistics.__dataclass_fields__}
        counts = ("status", "contacts", "islands", "iterations", "factorisations", "cuts", "asleep", "worst_pair")
        for name, column in columns.items():
            columns[name] = column.astype(np.int64 if name in counts else np.float64)
        columns["worst_pair"] = columns["worst_pair"].reshape(len(rows), 2)
        return Frame(self._frame, poses, velocities, FrameStatistics(**columns))


def combined(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of statistics for a step that was advanced in several: sums of what it cost, the worst of how it went."""
    worst = max(rows, key=lambda row: (row["status"], *sorted((row[name] for name in RELATIVE), reverse=True)))
    sums = {name: sum(row[name] for row in rows) for name in ("iterations", "factorisations", "residual")}
    most = ("contacts", "islands", "relative_error", *RELATIVE, "deepest_overlap")
    return worst | {name: max(row[name] for row in rows) for name in most} | sums
