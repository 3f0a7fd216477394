"""The stepper: a scene moved on frame by frame, in the stages predict, collide, build, solve, separate, integrate, record."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..collision import detect
from ..scene import BodyKind, ContactMethod, FrictionCombine, SceneSpec, SceneWarning, SolverSettings
from ..system import System
from ..validation import scene_warnings, validate
from .bodies import State, build_bodies, to_body_frames
from .build import ContactMemory, build_contacts, match, remember, rest_offset
from .frame import Frame, FrameStatistics
from .integrate import integrate, separation
from .islands import solve_islands
from .pivoting import sliding_directions, solve_islands_by_pivoting
from .predict import predict
from .rotation import interpolate, matrices, rotation_vector

__all__ = ["Simulation"]

Floats = NDArray[np.float64]

RULES = {rule: code for code, rule in enumerate(FrictionCombine)}
STICK_FRACTION = 1e-3  # of the speed that gravity gives in a step: slower contacts are at rest
STICK_SPEED = 1e-6  # m/s, where there is no gravity


class Simulation:
    """A scene that is stepped: `first_frame`, then `advance` once a frame, or `run`.

    warnings: what the user should know before the first step. Raises SceneError, naming every object and field that is wrong.
    """

    def __init__(
        self,
        spec: SceneSpec,
        *,
        method: str = "staggered",
        fps: float | None = None,
        substeps: int = 10,
        tolerance: float = 1e-6,
        max_iterations: int = 200,
        polygon_sides: int = 0,
        warm_start: bool = True,
    ):
        if method not in {known.value for known in ContactMethod}:
            raise ValueError(f"method must be one of {', '.join(known.value for known in ContactMethod)}, not {method!r}")
        self.settings = SolverSettings(ContactMethod(method), tolerance, max_iterations, substeps, polygon_sides, warm_start)
        validate(spec, self.settings)
        self.spec = spec
        self._step = spec.time_scale / ((spec.fps if fps is None else fps) * substeps)
        self._bodies, self._state = build_bodies(spec)
        self._frame = spec.frame_start
        self._last_step = 0.0
        self._memory = _no_memory()
        self._movable = self._bodies.model.dof >= 0
        self._animated = [
            (i, body.path) for i, body in enumerate(spec.bodies) if body.kind is BodyKind.ANIMATED and body.path is not None
        ]
        self._place_animated(0)
        self.warnings: tuple[SceneWarning, ...] = (*scene_warnings(spec), *self._overlaps())

    @classmethod
    def from_settings(cls, spec: SceneSpec, settings: SolverSettings) -> Simulation:
        """The simulation of a scene with given settings."""
        return cls(
            spec,
            method=settings.method.value,
            substeps=settings.substeps,
            tolerance=settings.tolerance,
            max_iterations=settings.max_iterations,
            polygon_sides=settings.polygon_sides,
            warm_start=settings.warm_start,
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
        return state | memory | {"last_step": np.array([self._last_step])}

    def restore(self, frame: int, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint that was taken after the given frame."""
        self._frame = frame
        self._state = State(*(np.array(checkpoint[name]) for name in State._fields))
        self._memory = ContactMemory(*(np.array(checkpoint[f"memory_{name}"]) for name in ContactMemory._fields))
        self._last_step = float(checkpoint["last_step"][0])

    def _advance_step(self, substep: int) -> dict[str, object]:
        begin = perf_counter()
        model, state, settings, h = self._bodies.model, self._state, self.settings, self._step
        n, moving = model.dof.size, int(self._movable.sum())

        # predict
        kick = 0.5 * (self._last_step + h)
        step = (self._frame - self.spec.frame_start) * settings.substeps + substep
        prescribed = self._place_animated(step)
        rotation, twist, predicted = np.empty((n, 3, 3)), np.empty((n, 6)), np.empty((n, 6))
        mass, inverse_mass = np.empty((moving, 6, 6)), np.empty((moving, 6, 6))
        predict(model, state, prescribed, h, kick, rotation, mass, inverse_mass, twist, predicted)

        # collide
        contacts = self._collide(rotation, predicted, h)
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
            memory,
            found,
        )
        system = System(
            offset=np.arange(0, 6 * moving + 1, 6),
            block_start=np.arange(0, 36 * moving + 1, 36),
            mass=mass.ravel(),
            inverse_mass=inverse_mass.ravel(),
            velocity=predicted[self._movable].ravel(),
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
            direction = sliding_directions(system, twist[self._movable].ravel(), fall)
            v = solve_islands_by_pivoting(system, direction, impulse, *limits, counts, errors)
        else:
            v = solve_islands(system, impulse, *limits, settings.polygon_sides, counts, errors)

        # separate, integrate
        apart = separation(model, system, contacts.body_a, contacts.body_b, contacts.gap, v, h)
        integrate(model, state, mass, v, apart, h)
        self._last_step = h
        self._place_animated(step + 1)

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
            "seconds": perf_counter() - begin,
        }

    def _collide(self, rotation: Floats, predicted: Floats, h: float):
        """Contacts that can close within the step: each body reaches as far as its fastest point may come."""
        model, shapes = self._bodies.model, self._bodies.shapes
        speed = np.linalg.norm(predicted[:, :3], axis=1)
        turning = np.linalg.norm(predicted[:, 3:], axis=1)
        radius = np.where(np.isfinite(shapes.radius), shapes.radius, 0.0)
        own = np.array([rest_offset(size, size) for size in model.size])
        reach = 2.0 * own + h * (speed + turning * radius)
        return detect(shapes, self._state.position, rotation, reach, model.collections, self._movable)

    def _place_animated(self, step: int) -> Floats:
        """Put animated bodies where their paths have them at a step of the bake; the twists (n, 6) of all over that step."""
        twists = np.zeros((self._bodies.model.dof.size, 6))
        substeps = self.settings.substeps
        for i, path in self._animated:
            ends = []
            for at in (step, step + 1):
                frame, rest = divmod(at, substeps)
                last = len(path) - 1
                ends.append(interpolate(path[min(frame, last)], path[min(frame + 1, last)], rest / substeps))
            before, after = ends
            self._state.position[i], self._state.orientation[i] = before[:3], before[3:]
            twists[i, :3] = (after[:3] - before[:3]) / self._step
            twists[i, 3:] = rotation_vector(before[3:], after[3:]) / self._step
        return twists

    def _overlaps(self) -> tuple[SceneWarning, ...]:
        """A warning for each pair of bodies that overlap now by more than their rest offset."""
        model = self._bodies.model
        contacts = self._collide(matrices(self._state.orientation), np.zeros((model.dof.size, 6)), self._step)
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

    def _record(self, rows: list[dict[str, object]]) -> Frame:
        poses, velocities = to_body_frames(self._bodies, self._state)
        columns = {name: np.array([row[name] for row in rows]) for name in FrameStatistics.__dataclass_fields__}
        counts = ("status", "contacts", "islands", "iterations", "factorisations", "worst_pair")
        for name, column in columns.items():
            columns[name] = column.astype(np.int64 if name in counts else np.float64)
        columns["worst_pair"] = columns["worst_pair"].reshape(len(rows), 2)
        return Frame(self._frame, poses, velocities, FrameStatistics(**columns))


def _no_memory() -> ContactMemory:
    none = np.zeros(0, np.int64)
    return ContactMemory(none, none, none.astype(np.uint64), np.zeros((0, 4)), np.zeros(0))
