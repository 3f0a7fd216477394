# SPDX-License-Identifier: GPL-3.0-or-later
"""The joints of a simulation: which of them hold in a step, what they remember from one to the next, and when they break."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.system import System
from ...scene.spec import SceneSpec, SceneWarning
from ..bodies import Model, State
from ..motion.rotation import matrices
from ..predict import Begin
from .coordinates import VECTOR, unwound
from .rows import JointRows, JointStep
from .table import AT_LEAST, AT_MOST, COORDINATES, HOLD, MOTOR, joint_table, measured

__all__ = ["JointMemory", "Joints", "with_joints"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class JointMemory(NamedTuple):
    """What the next step has to know of j joints with t triples of rows: impulse (t, 3) N s; angle (j, 3) rad, with turns;
    twist (n, 6) that bodies had in the step before; broken (j,)."""

    impulse: Floats
    angle: Floats
    twist: Floats
    broken: NDArray[np.bool_]


class Joints:
    """The joints of a scene; made when all bodies are where it begins.

    memory: what they remember. pairs: (k, 2) bodies that they hold together, the world left out. driven: (k,) bodies that
    motors drive.
    """

    def __init__(self, spec: SceneSpec, model: Model, state: State):
        self._table = joint_table(spec, model, state)
        self._names = [(joint.name, tuple(name for name in (joint.body_a, joint.body_b) if name)) for joint in spec.joints]
        count, rows = len(spec.joints), self._table.rows
        driven = rows.joint[(rows.kind == MOTOR) & (rows.target != 0.0)]
        self._driven = np.isin(np.arange(count), driven)
        # of the others no angle is asked for, or none that turns far
        self._turning = np.intersect1d(rows.joint[rows.coordinate >= 3], np.flatnonzero(self._table.form != VECTOR))
        nothing = np.zeros((self._table.triples, 3)), np.zeros((count, 3)), np.zeros((len(model.dof), 6))
        self.restore(JointMemory(*nothing, np.zeros(count, dtype=bool)))

    def __len__(self) -> int:
        return len(self._names)

    def restore(self, memory: JointMemory) -> None:
        """Go on from what was remembered."""
        self.memory = memory
        hold = self._table.body[~memory.broken]
        self.pairs = hold[(hold >= 0).all(axis=1)]
        driven = self._table.body[self._driven & ~memory.broken].ravel()
        self.driven = driven[driven >= 0]

    def warnings(self) -> list[SceneWarning]:
        """One for each coordinate that is not where its joint has it as the scene begins."""
        found, rows = [], self._table.rows
        for joint, coordinate, kind, target in zip(rows.joint, rows.coordinate, rows.kind, rows.target, strict=True):
            off = {HOLD: abs(target), AT_LEAST: target, AT_MOST: -target}.get(int(kind), 0.0)
            if off > 0.0:
                (name, bodies), unit = self._names[joint], "m" if coordinate < 3 else "rad"
                where = f"the joint {name} begins {off:.3g} {unit} from where it may be in {COORDINATES[coordinate]}"
                found.append(SceneWarning(bodies, "joints", f"{where}: its bodies are brought there slowly"))
        return found

    def expected(self, begin: Begin, last_step: float) -> Floats:
        """Twists (n, 6) that bodies may have in a step: those of the last one, changed as they changed before it."""
        twist = begin.bodies.twist
        return twist + (begin.h / last_step if last_step > 0.0 else 0.0) * (twist - self.memory.twist)

    def step(self, begin: Begin, state: State) -> JointStep:
        """Those that hold as a step begins."""
        moved = (np.append(begin.model.dof, -1)[self._table.body] >= 0).any(axis=1)
        return JointStep(self._table, np.flatnonzero(moved & ~self.memory.broken), self.memory.angle, begin, state)

    def advance(self, state: State, impulse: Floats, twist: Floats) -> None:
        """Remember how a step ended: the impulses (t, 3) of all triples, and the twists (n, 6) that it began with."""
        angle, turning = self.memory.angle.copy(), self._turning
        if len(turning):
            found = measured(self._table, state.position, matrices(state.orientation), turning)
            angle[turning] = unwound(found.value[:, 3:], angle[turning], self._table.form[turning])
        self.memory = JointMemory(impulse, angle, twist.copy(), self.memory.broken)

    def break_by(self, impulse: Floats) -> None:
        """Break those that had to hold a coordinate with a breaking impulse in a time step, (j, 6) N s and N m s."""
        breaks = np.abs(impulse).max(axis=1, initial=0.0) >= self._table.breaking
        if breaks.any():
            self.restore(self.memory._replace(broken=self.memory.broken | breaks))


def with_joints(system: System, rows: JointRows) -> System:
    """A system of contacts with rows of joints after them."""
    return system._replace(
        body_a=np.concatenate([system.body_a, rows.body_a]),
        body_b=np.concatenate([system.body_b, rows.body_b]),
        jacobian_a=np.concatenate([system.jacobian_a, rows.jacobian_a]),
        jacobian_b=np.concatenate([system.jacobian_b, rows.jacobian_b]),
        bias=np.concatenate([system.bias, rows.bias]),
        box=rows.box,
    )
