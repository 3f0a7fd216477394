# SPDX-License-Identifier: GPL-3.0-or-later
"""The solution of a step, its row of statistics, and the statistics of a frame."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.chosen_normals import ChosenNormals
from ...collision.contact_set import ContactSet, Overlap
from ...compile.kernel import kernel
from ...problem.result import WORST_FIRST, Found, Status
from ...problem.system import System
from ..contact.memory import ContactMemory
from ..look_ahead.impacts import Impacts
from ..look_ahead.later_contacts import Later
from ..model.bodies import State
from ..model.frame import FrameStatistics
from ..model.predict import Begin
from ..model.violations import NO_VIOLATIONS, Violation, Violations
from .bent_further import BENDS_OF
from .islands import Error, Totals

__all__ = ["Attempt", "Solution", "combined", "frame_statistics", "row_at_rest", "step_row"]

Floats = NDArray[np.float64]

RELATIVE = ("cone", "complementarity", "dissipation", "natural_map")
WHOLE = (
    "status",
    "contacts",
    "islands",
    "iterations",
    "factorisations",
    "found",
    "solves",
    "cuts",
    "asleep",
    "moving",
    "worst_pair",
    "deepest_pair",
    "chosen_normals",
    "chosen_pair",
    "spinning_body",
    "violations",
    "violating_pairs",
)
PAIRS = ("worst_pair", "deepest_pair", "chosen_pair")


class Solution(NamedTuple):
    """The solution of a step for a set of m contacts.

    Attributes
    ----------
    contacts : the m contacts
    system : of the contacts alone
    v : (dof,) m/s and rad/s, the solved velocities
    apart : (dof,) m/s and rad/s, the velocities that separate overlaps, in addition to `v`
    twist : (n, 6) m/s and rad/s, the sum of both, of all bodies
    memory : the contact history, from which another attempt at the step starts
    held : (t, 3) N s and N m s, the impulses of all joints
    bias : (t, 3), of the rows of the joints in the step
    approach, taken : (m,) m/s and (m,) J, the approach speeds and the absorbed energies to store for the next step
    restitution : (m,) coefficients
    bouncing : (m,) contacts with restitution that carry load at the requested rebounds
    struck : (m,) m/s, the largest approach speed in impacts before the step, -inf without one
    totals : over all islands, as of `solve_islands`
    worked_off : whether the step has used up its work budget
    axes : (m, 3, 3), of each contact, with rows n, t1, t2
    is_loose : whether the constraint error of joints is too large at the end of the step
    gave_way : (j,) joints that yielded or broke
    stretch : (m, 2), as of `StepProblem`
    """

    contacts: ContactSet
    system: System
    v: Floats
    apart: Floats
    twist: Floats
    memory: ContactMemory
    held: Floats
    bias: Floats
    approach: Floats
    taken: Floats
    restitution: Floats
    bouncing: NDArray[np.bool_]
    struck: Floats
    totals: Totals
    worked_off: bool
    axes: Floats
    is_loose: bool
    gave_way: NDArray[np.bool_]
    stretch: Floats

    @property
    def may_improve(self) -> bool:
        """Whether other contacts or a shorter step could improve the solution."""
        return not self.worked_off and self.totals.status not in (Status.INFEASIBLE, Status.TIME_LIMIT)

    @property
    def may_collide_further(self) -> bool:
        """Whether end-of-step contacts should be added. They are also added after the time limit."""
        return not self.worked_off and self.totals.status != Status.INFEASIBLE


class Attempt(NamedTuple):
    """A solved step, the state at its end, the impacts that it would miss, and its end-of-step contacts."""

    solution: Solution
    moved: State
    impacts: Impacts
    later: Later

    def harm(self) -> tuple[int, float]:
        """Return a measure by which attempts are compared: the number of missed impacts, then the added overlap."""
        return len(self.impacts), self.later.deepened

    @property
    def unsettled(self) -> bool:
        """Whether bodies pass through each other or overlap too much."""
        return len(self.impacts) > 0 or self.later.too_far


def step_row(
    begin: Begin,
    last: Solution,
    joined: NDArray[np.int64] | None,
    solved: list[Solution],
    after: Overlap,
    chosen: ChosenNormals,
    violations: Violations,
) -> dict[str, Any]:
    """Return the row of statistics of a step.

    Parameters
    ----------
    begin : the step
    last : the accepted solution
    joined : (t, 2) bodies of the triples of joint rows, which follow the contacts; None without joints
    solved : all solutions of the step
    after : the deepest overlap at the end of the step
    chosen : the ambiguous normals
    violations : of the contact law
    """
    totals, errors, contacts = last.totals, last.totals.errors, last.contacts
    before = begin.contacts.deepest(begin.model.size)
    spin, spinning = fastest_of(contacts, begin.bodies.twist, begin.single)
    deepest = after if after.ratio > before.ratio else before
    return {
        "status": totals.status,
        "contacts": len(contacts),
        "islands": totals.islands,
        "iterations": sum(solution.totals.iterations for solution in solved),
        "factorisations": sum(solution.totals.factorisations for solution in solved),
        "solves": len(solved),
        "found": totals.found,
        "relative_error": errors[Error.CHANGE],
        "residual": errors[Error.RESIDUAL],
        "cone": errors[Error.CONE],
        "complementarity": errors[Error.COMPLEMENTARITY],
        "dissipation": errors[Error.DISSIPATION],
        "natural_map": errors[Error.NATURAL_MAP],
        "worst_pair": _bodies_of(contacts, joined, totals.worst_contact),
        "deepest_overlap": deepest.depth,
        "overlap_ratio": deepest.ratio,
        "deepest_pair": deepest.pair,
        "chosen_normals": chosen.number,
        "chosen_pair": chosen.pair,
        "spin": spin,
        "spinning_body": spinning,
        "violations": violations.counts,
        "violating_pairs": violations.pair,
    }


def row_at_rest() -> dict[str, Any]:
    """Return the row of a step in which all bodies that the solver may move sleep."""
    none = dict.fromkeys(("contacts", "islands", "iterations", "factorisations", "chosen_normals"), 0)
    nobody = dict.fromkeys(PAIRS, (-1, -1)) | {"spinning_body": -1}
    nobody |= {"violations": NO_VIOLATIONS.counts, "violating_pairs": NO_VIOLATIONS.pair}
    fine = dict.fromkeys(("relative_error", "residual", *RELATIVE, "deepest_overlap", "overlap_ratio", "spin"), 0.0)
    return {"status": Status.SOLVED, "solves": 1, "found": np.zeros(len(Found), np.int64)} | none | nobody | fine


def combined(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Combine the rows of partial steps into the row of their step: sums of costs, and the worst of the errors."""
    worst = min(rows, key=lambda row: (WORST_FIRST.index(row["status"]), *sorted(-row[name] for name in RELATIVE)))
    sums = {name: sum(row[name] for row in rows) for name in ("iterations", "factorisations", "found", "solves", "residual")}
    most = {name: max(row[name] for row in rows) for name in ("contacts", "islands", "relative_error", *RELATIVE)}
    deepest = max(rows, key=lambda row: row["overlap_ratio"])
    overlap = {name: deepest[name] for name in ("deepest_overlap", "overlap_ratio", "deepest_pair")}
    fastest, freest = (max(rows, key=lambda row: row[name]) for name in ("spin", "chosen_normals"))
    turn = {name: fastest[name] for name in ("spin", "spinning_body")}
    chosen = {name: freest[name] for name in ("chosen_normals", "chosen_pair")}
    return worst | most | sums | overlap | turn | chosen | all_violations(rows)


def all_violations(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Combine the violations of partial steps: the sums of their counts, and the first pair of each kind."""
    pairs = np.array([row["violating_pairs"] for row in rows])
    counts = np.array([row["violations"] for row in rows])
    first = np.argmax(counts > 0, axis=0)
    return {"violations": counts.sum(axis=0), "violating_pairs": pairs[first, np.arange(len(Violation))]}


def fastest_of(contacts: ContactSet, twist: Floats, h: float) -> tuple[float, int]:
    """Return the rotation in rad, within h seconds, of the fastest rotating body with contacts, and its index, or -1.

    twist: (n, 6) m/s and rad/s.
    """
    square, body = fastest_turn(contacts.body_a, contacts.body_b, twist)
    return h * math.sqrt(square), body


@kernel
def fastest_turn(body_a, body_b, twist):
    """Return the squared angular speed of the fastest rotating body in rad^2/s^2, and its index, -1 without contacts."""
    most, fastest = 0.0, -1
    for bodies in (body_a, body_b):
        for body in bodies:
            turn = twist[body, 3] ** 2 + twist[body, 4] ** 2 + twist[body, 5] ** 2
            if fastest < 0 or turn > most:
                most, fastest = turn, body
    return most, fastest


def _bodies_of(contacts: ContactSet, joined: NDArray[np.int64] | None, triple: int) -> tuple[int, int]:
    """Return the two bodies of a contact or a triple of joint rows, or one flexible body; -1 for the world or for none."""
    if triple < 0:
        return (BENDS_OF - triple, -1) if triple <= BENDS_OF else (-1, -1)
    if joined is not None and triple >= len(contacts):
        return tuple(joined[triple - len(contacts)])
    return contacts.body_a[triple], contacts.body_b[triple]


def frame_statistics(rows: list[dict[str, Any]]) -> FrameStatistics:
    """Return the statistics of a frame from the rows of its steps."""
    columns = {name: np.array([row[name] for row in rows]) for name in FrameStatistics.__dataclass_fields__}
    for name, column in columns.items():
        columns[name] = column.astype(np.int64 if name in WHOLE else np.float64)
    for name in PAIRS:
        columns[name] = columns[name].reshape(len(rows), 2)
    columns["found"] = columns["found"].reshape(len(rows), len(Found))
    columns["violations"] = columns["violations"].reshape(len(rows), len(Violation))
    columns["violating_pairs"] = columns["violating_pairs"].reshape(len(rows), len(Violation), 2)
    return FrameStatistics(**columns)
