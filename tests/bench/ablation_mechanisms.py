# SPDX-License-Identifier: GPL-3.0-or-later
"""The mechanisms of the solver, and the edits of its sources that switch each of them off.

The product has no switches for this. An edit is a file of `solver_core`, a piece of its text that occurs once, and what stands
in its place. Where the text is gone, or there twice, the edit is an error that names it: it is to be mended here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MECHANISMS", "Edit", "Mechanism", "edited"]

STAGGERED = "solvers/kaufman_2008/staggered.py"
NEWTON = "solvers/kaufman_2008/coulomb_newton.py"
FIRST_ORDER = "solvers/kaufman_2008/first_order.py"
ADMM = "solvers/kaufman_2008/admm.py"
REGIONS = "solvers/kaufman_2008/regions.py"
CLUSTERS = "solvers/kaufman_2008/clusters.py"
LAST_PROPOSAL = "solvers/last_proposal.py"
SOLVE = "solvers/solve.py"
ISLANDS = "dynamics/solve/islands.py"
STEP_SOLVER = "dynamics/solve/step_solver.py"
CROWDS = "dynamics/model/crowds.py"


@dataclass(frozen=True)
class Edit:
    """A piece of the text of a file, relative to `solver_core`, and what stands in its place."""

    file: str
    text: str
    instead: str


@dataclass(frozen=True)
class Mechanism:
    """The edits without which there is no such mechanism. scenes: those that are run for it beside the usual ones. keeps_bits:
    whether it changes no answer by design, and pays by time alone."""

    edits: tuple[Edit, ...]
    scenes: tuple[str, ...] = ()
    keeps_bits: bool = False


def edited(package: Path, mechanism: Mechanism) -> dict[str, str]:
    """The text of each file, relative to the package, that the edits of a mechanism change, after them.

    Raises ValueError for an edit whose text is not in its file exactly once.
    """
    texts: dict[str, str] = {}
    for edit in mechanism.edits:
        text = texts[edit.file] if edit.file in texts else (package / edit.file).read_text(encoding="utf-8")
        times = text.count(edit.text)
        if times != 1:
            raise ValueError(f"{edit.file} has {times} times, not once: {edit.text!r}; mend the edit in {Path(__file__).name}")
        texts[edit.file] = text.replace(edit.text, edit.instead)
    return texts


# Parts of several mechanisms.
NO_HELD_RADII = Edit(STAGGERED, "elif i > 0 and (i // TURN) % 2 == 0:", "elif i > 0 and False:")
STIFFENING_EACH_TIME = Edit(STAGGERED, "if sides == 0 and tries == 1:", "if sides == 0 and tries >= 1:")
ONE_PENALTY = Edit(NEWTON, "FIRST_PENALTIES = (1e2, 1e1, 1e3, 1e0)", "FIRST_PENALTIES = (1e2,)")
NO_MULTIPLIERS = Edit(STAGGERED, "JAMMED = (3, 5)", "JAMMED = (-1, -2)")
NO_PIVOTING = (
    Edit(ISLANDS, "proposal = last_proposal(problem, tolerance[i, 1])", "proposal = None"),
    Edit(LAST_PROPOSAL, "pivoted = last_proposal(problem, tolerance, left())", "pivoted = None"),
)
NO_STIFFENING_IN_IMPULSES = Edit(LAST_PROPOSAL, "if problem.dim == 3 and not", "if False and not")
NO_CROWD_LIMIT = Edit(CROWDS, "max(self._of_crowds, settings.crowd_limit)", "self._of_crowds")

MECHANISMS: Mapping[str, Mechanism] = {
    "nothing, once more": Mechanism(()),
    # the last word
    "pivoting as last proposal": Mechanism(NO_PIVOTING),
    "stiffening in impulses as last proposal": Mechanism((NO_STIFFENING_IN_IMPULSES,)),
    "both as last proposals": Mechanism((*NO_PIVOTING, NO_STIFFENING_IN_IMPULSES)),
    "tighter tolerances": Mechanism((Edit(SOLVE, "if kept == 0 or limits.max_iterations is not None:", "if kept < np.inf:"),)),
    "proposals for matrices": Mechanism(
        (Edit(SOLVE, "polygon_sides == 0 and is_matrix(system)", "is_matrix(system) and False"),)
    ),
    # proposals to the iterations
    "held radii": Mechanism((NO_HELD_RADII,)),
    "Anderson": Mechanism((Edit(STAGGERED, "accelerate(memory, held, radius)", "held[:] = radius"),)),
    "held radii and pivoting": Mechanism((NO_HELD_RADII, *NO_PIVOTING)),
    "Newton's later penalties": Mechanism((STIFFENING_EACH_TIME,)),
    "Newton's later penalties, held radii, pivoting": Mechanism((STIFFENING_EACH_TIME, NO_HELD_RADII, *NO_PIVOTING)),
    "the same and multipliers": Mechanism((STIFFENING_EACH_TIME, NO_HELD_RADII, *NO_PIVOTING, NO_MULTIPLIERS)),
    "penalties but one, held radii, pivoting": Mechanism((ONE_PENALTY, NO_HELD_RADII, *NO_PIVOTING)),
    "Newton's method": Mechanism((Edit(STAGGERED, "if sides == 0 and tries == 1:", "if sides == 0:"),)),
    "multipliers": Mechanism((NO_MULTIPLIERS,)),
    "stiffening": Mechanism((Edit(STAGGERED, "if sides == 0 and tries == 1:", "if sides == 0 and tries < 0:"),)),
    "joints begin with Newton": Mechanism((Edit(FIRST_ORDER, "if system.box.shape[0] > 0 and (in", "if False and (in"),)),
    # many bodies
    "sweeps": Mechanism(
        (
            Edit(FIRST_ORDER, "error = sweeps(work, aim, GAIN, effort)\n    if error <=", "error = np.inf\n    if error <="),
            Edit(FIRST_ORDER, "    if swept:\n", "    if swept and False:\n"),
        )
    ),
    "ADMM": Mechanism((Edit(ADMM, "for _ in range(aim.looks):", "for _ in range(0 * aim.looks):"),)),
    "clusters": Mechanism((Edit(CLUSTERS, "\nROUNDS = 30", "\nROUNDS = 0"),), ("cubes 216, exact",)),
    "domains": Mechanism((Edit(REGIONS, "MOST_TOGETHER = 6000", "MOST_TOGETHER = 10**9"),), ("block of 6859",)),
    "regions": Mechanism(
        (
            Edit(REGIONS, "FEW_FAR = 0.01", "FEW_FAR = 0.0"),
            Edit(REGIONS, "MOST_IN_REGIONS = 0.35", "MOST_IN_REGIONS = -1.0"),
        ),
        ("cubes 1000",),
    ),
    "what stands, begun apart": Mechanism(
        (Edit(CLUSTERS, "if not tumbling and limit < COARSE and", "if False and limit < COARSE and"),)
    ),
    "threads inside an iteration": Mechanism(
        (Edit(FIRST_ORDER, "threads if len(impulse) >= WORTH_HELP else 1", "1"),), ("cubes 1000, 2 threads",), keeps_bits=True
    ),
    # beside the solver
    "warm starts": Mechanism((Edit(STEP_SOLVER, "if not self._settings.warm_start:", "if True:"),)),
    "pace": Mechanism(
        (Edit("dynamics/pacing/pace.py", "= settings.step_accuracy, settings.substeps", "= 0.0, settings.substeps"),),
        ("card house 5, paced", "wall 60, paced", "cubes 27, paced", "drawbridge, paced", "dominoes 60, paced"),
    ),
    "polygonal cones": Mechanism(
        (
            Edit(
                STEP_SOLVER, "settings.max_iterations, settings.polygon_sides, VARIANTS", "settings.max_iterations, 0, VARIANTS"
            ),
        ),
        ("card house 5, octagons", "wall 60, octagons", "cubes 27, octagons"),
    ),
    "tolerance of crowds": Mechanism(
        (
            Edit(CROWDS, "max(settings.tolerance, settings.crowd_tolerance)", "settings.tolerance"),
            NO_CROWD_LIMIT,
        )
    ),
    "limit of crowds": Mechanism((NO_CROWD_LIMIT,), ("wall 60, limit apart", "cubes 125, limit apart")),
    "tumbling aims lower": Mechanism(
        (Edit(STAGGERED, "AIM, AIM_OF_TUMBLING = 1e-3, 1e-1", "AIM, AIM_OF_TUMBLING = 1e-3, 1e-3"),)
    ),
    "factors used again": Mechanism(
        (
            Edit(NEWTON, "is_new = not (factored and joined) or now > KEEPS * last", "is_new = True"),
            Edit("solvers/kaufman_2008/projection.py", "refreshed = not factored or now > 0.1 * before", "refreshed = True"),
        )
    ),
    "rolling": Mechanism(
        (Edit("dynamics/contact/rolling.py", "if not anything_turns(predicted, SLOW_ABOUT_AN_AXIS / step):", "if step > 0.0:"),)
    ),
    "borne": Mechanism(
        (Edit("dynamics/contact/borne.py", "if not anything_meets(speed, memory.approach, fast):", "if fast >= 0.0:"),)
    ),
    "overlaps parted by first order": Mechanism(
        (
            Edit(
                "dynamics/solve/separation.py",
                "partial(_part_soon, threads), _project_apart, _compromise_apart",
                "_project_apart, _compromise_apart",
            ),
        )
    ),
    "look-ahead": Mechanism(
        (Edit("dynamics/simulation.py", "if not self._later.may_matter(solution.twist, h, h / self._step):", "if h > 0.0:"),)
    ),
}
