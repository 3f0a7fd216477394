# SPDX-License-Identifier: GPL-3.0-or-later
"""The joints of a simulation: the active joints of a step, their history, their warnings, and when they break."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ...linalg.in_order import product
from ...linalg.mat3 import inverses
from ...problem.contact_problem import ContactProblem
from ...problem.system import System
from ...scene.spec import SceneSpec, SceneWarning
from ...solvers.infeasible import contradiction
from ...validation.findings import listed
from ..model.bending import Bending
from ..model.bodies import Bodies, State
from ..model.mass_blocks import with_modal_blocks
from ..model.predict import Begin
from ..motion.rotation import matrices
from .attached import Attached, attached_joints, bent_frames
from .coordinates import VECTOR, measured
from .limits import farthest_off
from .rows import JointRows, JointStep
from .stiffness import stiffness_of_bonds
from .table import AT_LEAST, AT_MOST, COORDINATES, HOLD, MOTOR, Frames, at_frame, choose, joint_table
from .thresholds import BLOW_TIME, TENSION, Thresholds, left_of, within

__all__ = ["JointMemory", "Joints", "with_inertia", "with_joints"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


IN_PLACE = 1e-6  # lengths; a smaller constraint error after a step is rounding
GIVING_WAY = 1e-2  # lengths; a joint with a larger constraint error that does not decrease is reported as giving way
IN_PROOF = 1e-3  # fraction of the largest impulse of a proof of infeasibility; rows with a larger impulse take part in it


class JointMemory(NamedTuple):
    """The history of j joints with t triples of rows.

    impulse: (t, 3) N s, of the previous step. angle: (j, 3) rad, with full turns. twist: (n, 6) m/s and rad/s, of bodies at the
    start of the previous step. broken: (j,). off: (j,) lengths, the constraint errors at the end of the previous frame. recent:
    (j, 6) N s and N m s, the impulses that bonds transmitted in the last `BLOW_TIME`.
    """

    impulse: Floats
    angle: Floats
    twist: Floats
    broken: NDArray[np.bool_]
    off: Floats
    recent: Floats


class Joints:
    """The joints of a scene. The constructor takes the state at the start of the scene.

    memory: their history. links: (k, 2) the bodies of active joints that lock or limit a coordinate, -1 for the world.
    is_rigid: (k,) which of these lock all six coordinates. pairs: (k, 2) the bodies of active joints, without those to the
    world. held: (n,) the bodies with active joints. driven: (k,) the bodies driven by motors. stiffness: (j, 6) N/m and
    N m/rad, of the coordinates of bonds.
    """

    def __init__(self, spec: SceneSpec, bodies: Bodies, bending: Bending, state: State):
        """bending: of the flexible bodies, which are undeformed."""
        self._joints, self._frame, model = spec.joints, 0, bodies.model
        self._table = joint_table(spec, model, state)
        self._ends = attached_joints(self._table.frames, bending, bodies.center_of_mass)
        self._names = [(joint.name, tuple(name for name in (joint.body_a, joint.body_b) if name)) for joint in spec.joints]
        count, rows = len(spec.joints), self._table.rows
        self._is_bond = np.array([joint.strength is not None for joint in spec.joints], dtype=bool)
        # The other joints use no angles, or angles that cannot exceed half a turn.
        self._turning = np.isin(np.arange(count), rows.joint[rows.coordinate >= 3]) & (self._table.frames.form != VECTOR)
        self.stiffness = stiffness_of_bonds(self._table, model)
        self._chosen = choose(self._table, np.ones(count, dtype=bool))
        self._gives_way, self._transmitted = np.zeros(count, dtype=bool), np.zeros((self._table.triples, 3))
        nothing = np.zeros((self._table.triples, 3)), np.zeros((count, 3)), np.zeros((len(model.dof), 6))
        self.restore(JointMemory(*nothing, np.zeros(count, dtype=bool), np.zeros(count), np.zeros((count, 6))))
        self.memory = self.memory._replace(off=self._off(state))

    def __len__(self) -> int:
        return len(self._names)

    def restore(self, memory: JointMemory) -> None:
        """Continue from a stored history, and update the active joints."""
        self.memory = memory
        rows, body, holds = self._table.rows, self._table.frames.body, self._holds
        hold = body[holds]
        bound = np.bincount(rows.joint[rows.kind <= AT_MOST], minlength=len(body)) > 0
        locked = np.bincount(rows.joint[rows.kind == HOLD], minlength=len(body)) == len(COORDINATES)
        links = holds & bound & ~self._gives_way
        self.links, self.is_rigid = body[links], locked[links]
        self.pairs = hold[(hold >= 0).all(axis=1)]
        self.held = np.isin(np.arange(len(memory.twist)), hold)
        driven = np.isin(np.arange(len(body)), rows.joint[(rows.kind == MOTOR) & (rows.target != 0.0)])
        driven = body[driven & holds].ravel()
        self.driven = driven[driven >= 0]
        self._may_break = bool(np.isfinite(self._table.breaking).any() or self._is_bond.any())

    def enter(self, frame: int, state: State) -> bool:
        """Apply the changes of joints at a frame.

        frame: counted from 0; the joints get their properties for the motion to the next frame. state: of bodies at the frame.
        Returns whether any joint changed.
        """
        changes = any(self._frame < change.frame <= frame + 1 for joint in self._joints for change in joint.changes)
        if changes or frame + 1 < self._frame:
            self._table = at_frame(self._table, self._joints, frame + 1)
            self._chosen = choose(self._table, self._chosen.held)
            self.restore(self.memory)
        self._frame = frame + 1
        if changes:
            self._begin_to_hold(np.array([joint.becomes_enabled_at(frame + 1) for joint in self._joints]), state)
        return changes

    def _begin_to_hold(self, begins: NDArray[np.bool_], state: State) -> None:
        """Enable joints `begins` (j,).

        Joints that hold their bodies in the current relative pose get joint frames that match it.
        """
        begins = begins & self._holds
        which = np.flatnonzero(begins & np.array([joint.holds_where_enabled for joint in self._joints]))
        if which.size:
            place, axes = frames_taken(self._table.frames, self._ends, which, state)
            self._table = self._table._replace(frames=self._table.frames._replace(place=place, axes=axes))
            angle = self.memory.angle.copy()
            angle[which] = 0.0
            self.memory = self.memory._replace(angle=angle)
        if begins.any():
            # Store the initial constraint error. Otherwise it would not seem to decrease in the first frame.
            self.memory = self.memory._replace(off=np.where(begins, self._off(state), self.memory.off))

    @property
    def attached(self) -> Floats | None:
        """(j, 2, 4, 3) origins and axes, by rows, of joint frames in their bodies; None if these never change."""
        if not any(joint.holds_where_enabled for joint in self._joints):
            return None
        frames = self._table.frames
        return np.concatenate([frames.place[:, :, None, :], frames.axes], axis=2)

    def attach(self, attached: Floats) -> None:
        """Set the joint frames in their bodies from an array of `attached`."""
        place, axes = np.ascontiguousarray(attached[:, :, 0]), np.ascontiguousarray(attached[:, :, 1:])
        self._table = self._table._replace(frames=self._table.frames._replace(place=place, axes=axes))

    @property
    def _holds(self) -> NDArray[np.bool_]:
        """(j,) the joints that are enabled and not broken."""
        return self._table.enabled & ~self.memory.broken

    def warnings(self) -> list[SceneWarning]:
        """Return a warning for each coordinate that violates its joint at the start of the scene."""
        found, rows = [], self._table.rows
        for joint, coordinate, kind, target in zip(rows.joint, rows.coordinate, rows.kind, rows.target, strict=True):
            off = {HOLD: abs(target), AT_LEAST: target, AT_MOST: -target}.get(int(kind), 0.0)
            if off > 0.0:
                (name, bodies), unit = self._names[joint], "m" if coordinate < 3 else "rad"
                where = f"the joint {name} begins {off:.3g} {unit} out of place in {COORDINATES[coordinate]}"
                found.append(SceneWarning(bodies, "joints", f"{where}: its bodies are moved into place slowly"))
        return found

    def too_stiff(self, begin: Begin, state: State) -> list[SceneWarning]:
        """Return one warning for all joints with a spring that is too stiff for the step and therefore does not oscillate."""
        found = tuple(self._names[joint][0] for joint in self.step(begin, state).too_stiff())
        what = "a spring swings faster than the time step resolves: it moves to its rest position at once"
        return [SceneWarning(found, "joints", f"{what}; more substeps or less stiffness let it swing")] if found else []

    def contradictions(self, begin: Begin, state: State) -> list[SceneWarning]:
        """Return one warning for joints that conflict with each other in the first step, even without contacts."""
        step = self.step(begin, state)
        rows = step.straight_rows(np.inf, 0.0)
        box = step.holding(rows.box)
        of_triple = dict(zip(self._table.rows.triple.tolist(), self._table.rows.joint.tolist(), strict=True))
        length = self._table.frames.length[[of_triple[triple] for triple in step.triples.tolist()]]
        rounding = np.repeat(IN_PLACE * length[:, None] / begin.h, 3, axis=1)
        if not (np.abs(rows.bias) > rounding)[box.any(axis=2)].any():
            return []
        alone = System(
            offset=begin.offset,
            block_start=begin.block_start,
            mass=begin.bodies.mass.ravel(),
            inverse_mass=begin.bodies.inverse_mass.ravel(),
            velocity=np.zeros(begin.offset[-1]),
            **rows._replace(box=box)._asdict(),
            slack=np.zeros(0),
            mu=np.zeros(0),
            least_scale=begin.least_scale,
        )
        proof = contradiction(ContactProblem.of_system(with_modal_blocks(alone, begin)))
        # The impulses of a proof move no body: the sum of row violations weighted with them is the same at any velocity.
        if proof is None or abs((proof * rows.bias).sum()) <= (np.abs(proof) * rounding).sum():
            return []
        bears = np.abs(proof).max(axis=1) > IN_PROOF
        names = sorted({self._names[of_triple[triple]][0] for triple in step.triples[bears].tolist()})
        what = "contradict each other" if len(names) > 1 else "cannot be satisfied by its bodies"
        which = f"the joints {listed(names)}" if len(names) > 1 else f"the joint {names[0]}"
        advice = "the bake goes on with the least error; change their limits or the motion of their ends"
        return [SceneWarning(tuple(names), "contradiction", f"{which} {what} as the scene begins; {advice}")]

    def expected(self, begin: Begin) -> Floats:
        """Return (n, 6) predicted twists of bodies in a step: those of the last step, linearly extrapolated."""
        twist = begin.bodies.twist
        return twist + (begin.h / begin.last_step if begin.last_step > 0.0 else 0.0) * (twist - self.memory.twist)

    def step(self, begin: Begin, state: State, load: Floats | None = None) -> JointStep:
        """Return the active joints of a step.

        load: (j, 6) N s and N m s, the impulses that joints have transmitted in the time step so far; None for zero.
        """
        held = moved_by_solver(self._table.frames.body, begin.model.dof) & self._holds
        if (held != self._chosen.held).any():
            self._chosen = choose(self._table, held)
        thresholds = None
        if self._may_break:
            thresholds = self._thresholds(np.zeros((len(self), 6)) if load is None else load.copy())
            thresholds = self._of_bonds(thresholds, begin.h)
        made = JointStep(self._table.frames, self._ends, self._chosen, self.memory.angle, begin, state, thresholds)
        lost = self._gives_way & self._is_bond
        if lost.any():
            made.has_lost = lost[made.joint]
            made.transmitted = np.where(made.has_lost[:, None], self._transmitted[made.triples], 0.0)
        return made

    def advance(self, state: State, impulse: Floats, twist: Floats, load: Floats, h: float) -> None:
        """Update the history after a step of h seconds.

        impulse: (t, 3) of all triples. twist: (n, 6) at the start of the step. load: (j, 6) N s and N m s, the impulses in the
        coordinates of joints.
        """
        angle, turning = self.memory.angle, self._turning
        if turning.any():
            frames = bent_frames(self._table.frames, self._ends, state.modal)
            found = measured(frames, turning, state.position, matrices(state.orientation), angle)
            angle = np.where(turning[:, None], found.value[:, 3:], angle)
        # Of a step longer than BLOW_TIME, only the mean force over BLOW_TIME counts.
        recent = left_of(self.memory.recent, h) + load * min(BLOW_TIME / h, 1.0)
        self.memory = self.memory._replace(impulse=impulse, angle=angle, twist=twist.copy(), recent=recent)

    def scale_impulses(self, ratio: float) -> None:
        """Scale the impulses of the previous step in the history."""
        self.memory = self.memory._replace(impulse=ratio * self.memory.impulse)

    def giving_way(self, state: State, nearer: float) -> Floats:
        """Return the constraint errors of joints that do not decrease, at the end of a frame.

        nearer: lengths by which an error must have decreased in the frame. Returns (j,) m, or rad times the joint's length; 0
        for all other joints.
        """
        off = self._off(state)
        gives_way = (off > GIVING_WAY) & (off > self.memory.off - nearer)
        self.memory = self.memory._replace(off=off)
        return np.where(gives_way, off * self._table.frames.length, 0.0)

    def _off(self, state: State) -> Floats:
        """Return (j,) lengths, the constraint errors of joints; 0 for broken or disabled ones."""
        frames, holds, off = self._table.frames, self._holds, np.zeros(len(self))
        if not len(self):
            # A scene without joints need not compile the kernels that measure them.
            return off
        bent = bent_frames(frames, self._ends, state.modal)
        found = measured(bent, holds, state.position, matrices(state.orientation), self.memory.angle)
        farthest_off(self._table.rows, bent, found, off)
        return np.where(holds, off, 0.0)

    def give_way(self, which: NDArray[np.bool_], impulse: Floats) -> bool:
        """Mark joints that reach their thresholds in the step that is being solved.

        Marked joints no longer count as links between their bodies. They break when the step is accepted.

        which: (j,). impulse: (t, 3) N s, of all triples. Bonds transmit the same impulses in the next attempt at the step,
        except compression, which contacts then carry. Returns whether any joint is newly marked.
        """
        new = which & ~self._gives_way
        if new.any():
            rows = self._table.rows
            pressed = self._is_bond[rows.joint] & (rows.coordinate == TENSION)
            self._transmitted = impulse.copy()
            at = rows.triple[pressed], rows.place[pressed]
            self._transmitted[at] = np.minimum(self._transmitted[at], 0.0)
            self._gives_way = self._gives_way | which
            self.restore(self.memory)
        return bool(new.any())

    def release(self, loosened: NDArray[np.bool_]) -> None:
        """Break the bonds of bodies (n,)."""
        body = self._table.frames.body
        of_bodies = self._is_bond & np.append(loosened, False)[body].any(axis=1)
        if (of_bodies & ~self.memory.broken).any():
            self.restore(self.memory._replace(broken=self.memory.broken | of_bodies))

    def hold_again(self) -> bool:
        """Undo `give_way` for another attempt at the step. Returns whether any joint was marked."""
        any_does = bool(self._gives_way.any())
        if any_does:
            self._gives_way = np.zeros(len(self), dtype=bool)
            self.restore(self.memory)
        return any_does

    def _thresholds(self, load: Floats) -> Thresholds:
        """Return the thresholds of bonds for a `BLOW_TIME`, and of other joints for a time step.

        load: (j, 6) N s and N m s, the impulses transmitted in that time so far.
        """
        is_bond = self._is_bond
        capacity = np.where(is_bond[:, None], self._table.bonds * BLOW_TIME, self._table.breaking[:, None])
        return Thresholds(capacity, is_bond, load)

    def _of_bonds(self, thresholds: Thresholds, h: float) -> Thresholds:
        """Return the thresholds with those of bonds for a step or partial step of h seconds."""
        is_bond = self._is_bond[:, None]
        capacity = np.where(is_bond, self._table.bonds * max(h, BLOW_TIME), thresholds.capacity)
        return Thresholds(capacity, self._is_bond, np.where(is_bond, left_of(self.memory.recent, h), thresholds.load))

    def weakest(self) -> tuple[Ints, Floats]:
        """Return the bodies and the smallest breaking impulses of the active joints.

        Returns (k, 2) bodies, -1 for the world; and (k,) N s or N m s, infinite for joints that do not break.
        """
        thresholds = self._thresholds(np.zeros((len(self), 6)))
        # Moments on bonds come from forces, which are checked themselves, so only the force thresholds of bonds count.
        of_forces = np.where(self._is_bond, thresholds.capacity[:, :3].min(axis=1), thresholds.capacity.min(axis=1))
        return self._table.frames.body[self._holds], of_forces[self._holds]

    def break_by(self, impulse: Floats, which: NDArray[np.bool_]) -> bool:
        """Break the joints that reached their thresholds. Returns whether there are any.

        impulse: (j, 6) N s and N m s, transmitted in the time step so far. which: (j,) the joints that yielded at their
        thresholds in the step that was just accepted.
        """
        if not self._may_break:
            return False
        thresholds = self._thresholds(np.where(self._is_bond[:, None], self.memory.recent, impulse))
        reached = within(thresholds, np.zeros_like(impulse), np.zeros(len(self), dtype=bool))
        breaks = self._holds & (which | self._gives_way | reached)
        self._gives_way = np.zeros(len(self), dtype=bool)
        if breaks.any():
            self.restore(self.memory._replace(broken=self.memory.broken | breaks))
        return bool(breaks.any())


def frames_taken(frames: Frames, ends: Attached, which: Ints, state: State) -> tuple[Floats, Floats]:
    """Return (j, 2, 3) origins and (j, 2, 3, 3) axes of joint frames, in which both frames of joints `which` (k,) coincide.

    B's frame is moved to A's current frame. If B is flexible, A's frame is moved instead, because joint frames of flexible
    bodies are fixed.
    """
    place, axes, bent = frames.place.copy(), frames.axes.copy(), bent_frames(frames, ends, state.modal)
    position = np.vstack([state.position, np.zeros(3)])
    rotation = np.concatenate([matrices(state.orientation), np.eye(3)[None]])
    for j in which:
        stays, moves = (1, 0) if frames.body[j, 1] in ends.body else (0, 1)
        here, there = frames.body[j, stays], frames.body[j, moves]
        at = position[here] + product(rotation[here], bent.place[j, stays])
        place[j, moves] = product(rotation[there].T, at - position[there])
        axes[j, moves] = product(product(bent.axes[j, stays], rotation[here].T), rotation[there])
    return place, axes


@kernel
def moved_by_solver(body, dof):
    """Return (j,) whether one of the bodies (j, 2) of each joint has degrees of freedom."""
    out = np.empty(len(body), np.bool_)
    for j in range(len(body)):
        a, b = body[j, 0], body[j, 1]
        out[j] = (a >= 0 and dof[a] >= 0) or (b >= 0 and dof[b] >= 0)
    return out


def with_inertia(system: System, bodies: Ints, inertia: Floats) -> System:
    """Return a system in which the bodies (k,) have the inertia tensors (k, 3, 3)."""
    mass, inverse_mass = system.mass.copy(), system.inverse_mass.copy()
    width, angular = np.diff(system.offset)[bodies], np.arange(3, 6)
    at = system.block_start[bodies][:, None, None] + angular[:, None] * width[:, None, None] + angular
    mass[at], inverse_mass[at] = inertia, inverses(inertia)
    return system._replace(mass=mass, inverse_mass=inverse_mass)


def with_joints(system: System, rows: JointRows) -> System:
    """Return a system of contacts with rows of joints after them."""
    wider = system.jacobian_a.shape[2] - rows.jacobian_a.shape[2]
    if wider > 0:
        room = (0, 0), (0, 0), (0, wider)
        rows = rows._replace(jacobian_a=np.pad(rows.jacobian_a, room), jacobian_b=np.pad(rows.jacobian_b, room))
    return system._replace(
        body_a=np.concatenate([system.body_a, rows.body_a]),
        body_b=np.concatenate([system.body_b, rows.body_b]),
        jacobian_a=np.concatenate([system.jacobian_a, rows.jacobian_a]),
        jacobian_b=np.concatenate([system.jacobian_b, rows.jacobian_b]),
        bias=np.concatenate([system.bias, rows.bias]),
        box=rows.box,
    )
