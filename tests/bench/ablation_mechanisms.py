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

CASCADE = "solvers/coulomb/cascade.py"
NEWTON = "solvers/coulomb/newton.py"
ELIMINATION = "solvers/coulomb/elimination.py"
FIRST_ORDER = "solvers/coulomb/first_order.py"
ADMM = "solvers/coulomb/admm_iteration.py"
SUBDOMAINS = "solvers/coulomb/subdomains.py"
PROJECTION = "solvers/kaufman_2008/projection.py"
FEW = "laboratory/few_contacts.py"
SOLVE = "laboratory/solve.py"
STEP_SOLVER = "dynamics/solve/step_solver.py"
SYSTEM_SOLVER = "dynamics/solve/system_solver.py"
JOINED_STEP = "dynamics/solve/joined_step.py"
ISLAND_MOTION = "dynamics/model/island_motion.py"
TRIANGLES = "collision/mesh/contacts.py"
CURVES = "collision/mesh/intersection_curves.py"
DEEPEST = "collision/mesh/deepest_point.py"
IMPACT = "collision/time_of_impact.py"
DEFORMATION = "dynamics/motion/deformation.py"
OF_BENDS = ("woven square", "chair", "foam")
OF_MESHES = ("concave meshes 18", "bolt in its nut", "crowd on 100,352 triangles")


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


MECHANISMS: Mapping[str, Mechanism] = {
    "nothing, once more": Mechanism(()),
    # the last word
    "tighter tolerances": Mechanism(
        (Edit(SOLVE, "if not accelerated or limits.max_iterations is not None:", "if most > 0:"),), ("any friction",)
    ),
    "proposals for matrices": Mechanism(
        (Edit("laboratory/solve.py", "not is_large(system) and is_matrix(system)", "False"),),
        ("matrices",),
    ),
    "pivoting of frictionless matrices": Mechanism(
        (Edit(SOLVE, "limits.warm_start is None and is_frictionless_matrix(free.problem):", "most < 0:"),),
        ("frictionless matrices",),
    ),
    # Newton's method
    "first penalties but one": Mechanism((Edit(NEWTON, "FIRST_PENALTIES = (1e2, 1e0, 1e1)", "FIRST_PENALTIES = (1e2,)"),)),
    "the soft first penalty": Mechanism((Edit(NEWTON, "FIRST_PENALTIES = (1e2, 1e0, 1e1)", "FIRST_PENALTIES = (1e2, 1e1)"),)),
    "penalties that fall": Mechanism((Edit(NEWTON, "MAX_FALLS = 2 ", "MAX_FALLS = 0 "),)),
    "penalties that rise": Mechanism((Edit(NEWTON, "RISE, FALL = 3.0, 0.1 ", "RISE, FALL = 1.0, 0.1 "),)),
    "steps uphill": Mechanism((Edit(NEWTON, "MAX_UPHILL if jointed else 0", "0"),), ("dolls 8",)),
    # not what is missed, but by how much (tests/core/solvers/test_newton.py)
    "the nearest impulses": Mechanism((Edit(CASCADE, "if near < np.inf and effort[OVERDUE] == 0:", "if near < 0.0:"),)),
    "Newton's method": Mechanism((Edit(CASCADE, "if by_newton or (proposes and i > 0):", "if i < 0:"),)),
    "few that move begin with Newton": Mechanism(
        (Edit(FIRST_ORDER, "return Found.START, tumbles", "return Found.START, False"),)
    ),
    "crowded islands begin with Newton": Mechanism(
        (Edit(FIRST_ORDER, "exact or is_crowded or is_redundant", "exact or is_redundant"),), (*OF_BENDS, "bolt in its nut")
    ),
    # not time, but how far what slides is led aside (docs/design/solvers.md)
    "redundant contacts of a few bodies at once": Mechanism(
        (Edit(FIRST_ORDER, "exact or is_crowded or is_redundant", "exact or is_crowded"),), ("cubes 27", "cubes 125")
    ),
    "what stands goes on to a fixed point": Mechanism(
        (Edit(CASCADE, "if not tumbles and tries == 0 and near", "if tries < 0 and near"),), ("card house 15",)
    ),
    "joints begin with Newton": Mechanism((Edit(FIRST_ORDER, "if system.box.shape[0] > 0 and (in", "if False and (in"),)),
    "joints eliminated": Mechanism(
        (
            Edit(ELIMINATION, "joints == 0 or contacts > max(MOST_BESIDE_JOINTS, joints) or sides > 0", "contacts >= 0"),
            Edit(SYSTEM_SOLVER, "if step is None or not (self.is_staggered", "if asked or not (self.is_staggered"),
        ),
        ("dolls", "drawbridge"),
    ),
    "joints corrected in one kernel": Mechanism(
        (Edit(SYSTEM_SOLVER, "if step is None or not (self.is_staggered", "if asked or not (self.is_staggered"),),
        ("dolls", "drawbridge"),
    ),
    "joints eliminated beside many contacts": Mechanism(
        (Edit(ELIMINATION, "contacts > max(MOST_BESIDE_JOINTS, joints)", "contacts > MOST_BESIDE_JOINTS"),),
        ("dolls 8", "ragdolls 60"),
    ),
    "islands with joints first": Mechanism(
        (Edit(JOINED_STEP, "if self._is_staggered:\n            # Islands", "if begin.h < 0.0:\n            # Islands"),),
        ("house and ball", "house and ball, locked"),
        keeps_bits=True,
    ),
    "clusters of bonds": Mechanism(
        (Edit(JOINED_STEP, "is_rigid = np.append(is_rigid, True)", "is_rigid = np.append(is_rigid & False, False)"),),
        ("wall of bonds", "wall of bonds, stands"),
    ),
    # many bodies
    "sweeps": Mechanism(
        (
            Edit(FIRST_ORDER, "error, _ = sweeps(operator, criteria, effort, state)\n    if", "error = 1e300\n    if"),
            Edit(FIRST_ORDER, "    if swept:\n", "    if swept and False:\n"),
        )
    ),
    "ADMM": Mechanism((Edit(ADMM, "for _ in range(criteria.max_checks):", "for _ in range(0 * criteria.max_checks):"),)),
    "lower penalties of ADMM": Mechanism(
        (Edit(ADMM, "return CHANGE, least_of_round", "return 0.0, least_of_round"),), ("block of 6859",)
    ),
    "extrapolation of ADMM": Mechanism((Edit(ADMM, "jumped = followed and error > DRIFTING * before", "jumped = False"),)),
    "domains": Mechanism((Edit(SUBDOMAINS, "MOST_TOGETHER = 6000", "MOST_TOGETHER = 10**9"),), ("block of 6859",)),
    "regions": Mechanism(
        (
            Edit(SUBDOMAINS, "FEW_UNCONVERGED = 0.01", "FEW_UNCONVERGED = 0.0"),
            Edit(SUBDOMAINS, "MOST_IN_REGIONS = 0.35", "MOST_IN_REGIONS = -1.0"),
        ),
        ("cubes 1000",),
    ),
    "what stands, begun apart": Mechanism(
        (Edit(CASCADE, "if not request.tumbles and request.tolerance", "if False and request.tolerance"),)
    ),
    # few contacts
    "few contacts at once": Mechanism(
        (Edit(SOLVE, "and iteration_limit is None and is_few(problem):", "and iteration_limit is None and False:"),),
        ("few contacts",),
    ),
    "few contacts, once more": Mechanism((Edit(FEW, "for turn in range(2):", "for turn in range(1):"),), ("few contacts",)),
    # beside the solver
    "warm starts": Mechanism((Edit(STEP_SOLVER, "if not self._settings.warm_start:", "if True:"),)),
    "polygonal cones": Mechanism(
        (
            Edit(
                SYSTEM_SOLVER,
                "settings.max_iterations, settings.polygon_sides, VARIANTS",
                "settings.max_iterations, 0, VARIANTS",
            ),
        ),
        ("card house 5, octagons", "wall 60, octagons", "cubes 27, octagons"),
    ),
    "kicks": Mechanism(
        (Edit(SYSTEM_SOLVER, "        if is_start:", "        if is_start or self._threads:"),),
        ("Voronoi pieces",),
    ),
    "bounded rows from softer ones": Mechanism(
        (Edit(JOINED_STEP, "SOFTENED = 1e6, 1e4, 1e2", "SOFTENED = ()"),), ("building and ram", "breakable wall")
    ),
    "bounded rows with the penalty of contacts": Mechanism(
        (Edit(NEWTON, "k < system.mu.size or is_bounded(system.box[k - system.mu.size])", "k < system.mu.size"),),
        ("building and ram", "breakable wall", "glued slab"),
    ),
    "starts of five iterations": Mechanism(
        (Edit(SYSTEM_SOLVER, "START_ITERATIONS = 5", "START_ITERATIONS = 10**6"),), ("breakable wall", "building and ram")
    ),
    "joints corrected by islands": Mechanism(
        (Edit(JOINED_STEP, "which = np.flatnonzero(again)", "which = np.arange(count)"),), ("dolls", "drawbridge")
    ),
    "joints about the last try": Mechanism(
        (Edit(JOINED_STEP, "if about is None else joints.biased_rows(about, recovery)", ""),), ("dolls", "drawbridge")
    ),
    "tolerance in motion": Mechanism(
        (Edit(ISLAND_MOTION, "max(settings.tolerance, settings.moving_tolerance)", "settings.tolerance"),)
    ),
    "large islands settle": Mechanism(
        (Edit(ISLAND_MOTION, "CALM_FOR = 1.0 / 3.0", "CALM_FOR = np.inf"),),
        scenes=("wall 60, comes to rest", "cubes 125", "house and ball, locked"),
    ),
    "least scale of large moving islands": Mechanism(
        (Edit(ISLAND_MOTION, "LEAST_SCALE = 10.0", "LEAST_SCALE = 1.0"),),
        scenes=("wall 60, comes to rest", "wall 100", "house and ball, locked"),
    ),
    "calm islands solved to a part of their motion": Mechanism(
        (Edit(ISLAND_MOTION, "PART_OF_MOTION = 0.25", "PART_OF_MOTION = 0.0"),),
        scenes=("wall 60, comes to rest", "wall 100", "house and ball, locked"),
    ),
    "remembered impulses scaled with the step": Mechanism(
        (Edit("dynamics/stepper.py", "if self.impulse_time > 0.0:", "if self.impulse_time < 0.0:"),),
        scenes=("house and ball, locked", "cubes 125", "jamming tube"),
    ),
    "what is slow stands still": Mechanism((Edit(ISLAND_MOTION, "fastest[first] * least_stretch[first] <= slow:", "False:"),)),
    "steps that are known": Mechanism(
        (Edit("dynamics/pacing/standstill.py", "before == self._situation:", "before == ():"),),
        keeps_bits=True,
    ),
    "what moves aims lower": Mechanism(
        (Edit("solvers/criteria.py", "TARGET, TARGET_OF_TUMBLING = 1e-3, 1e-1", "TARGET, TARGET_OF_TUMBLING = 1e-3, 1e-3"),)
    ),
    "refinements that end early": Mechanism(
        (Edit(NEWTON, "PATIENCE_OF_REFINEMENT = 20", "PATIENCE_OF_REFINEMENT = 10**9"),), ("drum", "card house 5", "wall 60")
    ),
    "projections pass kinks": Mechanism(
        (Edit(PROJECTION, "STALLED_STEPS = 2", "STALLED_STEPS = 1"),), ("breakable wall", "cubes 27, octagons")
    ),
    "factors used again": Mechanism(
        (
            Edit(NEWTON, "REUSE if jointed else 0.0", "0.0"),
            Edit(PROJECTION, "refreshed = not factored or now > 0.1 * before", "refreshed = True"),
        )
    ),
    "rolling": Mechanism(
        (Edit("dynamics/contact/rolling.py", "if not anything_turns(predicted, SLOW_ABOUT_AN_AXIS / step):", "if step > 0.0:"),)
    ),
    "borne": Mechanism(
        (Edit("dynamics/contact/borne.py", "if not anything_moves(speed, fast / BEARABLE):", "if fast >= 0.0:"),)
    ),
    "slip as the step begins": Mechanism(
        (Edit("dynamics/contact/build.py", "beyond.known[k] and i == DYNAMIC", "h < 0.0 and i == DYNAMIC"),)
    ),
    "overlaps parted by first order": Mechanism(
        (Edit("dynamics/solve/separation.py", "-apart.slack.min(), FIRST_ORDER", "-apart.slack.min(), PROJECTION"),)
    ),
    "joints eliminated in separation": Mechanism(
        (Edit("dynamics/solve/separation.py", "if apart.box.shape[0] > 0 and method < COMPROMISE:", "if method < 0:"),),
        ("dolls", "hanging chain"),
    ),
    "look-ahead": Mechanism(
        (Edit("dynamics/stepper.py", "if not self._later.may_matter(solution.twist, h, h / self.step):", "if h > 0.0:"),)
    ),
    # bodies that bend
    "contacts between others left out": Mechanism(
        (Edit(DEFORMATION, "if self._bends is None or not len(contacts):", "if len(contacts) >= 0:"),), OF_BENDS
    ),
    "what bore stays": Mechanism(
        (Edit("dynamics/contact/collide.py", "if memory is not None and whole.any() else None", "if h < 0.0 else None"),),
        OF_BENDS,
    ),
    # changes the height to which flexible bodies bounce, not the unconverged steps (docs/design/large-bends.md)
    "steps cut by bends": Mechanism(
        (
            Edit("dynamics/stepper.py", "if cuts == 0 or not isinstance(begin.bend, LargeBends):", "if begin.h > 0.0:"),
            Edit(STEP_SOLVER, "return may_cut and followed_part(", "return begin.h < 0.0 and followed_part("),
        ),
        ("bunnies, large bends", "dinosaurs, large bends"),
    ),
    # meshes
    "one contact at one point of a curve": Mechanism(
        (Edit(CURVES, "SAME_POINT_RATIO = 1e-4", "SAME_POINT_RATIO = 0.0"),), (*OF_MESHES, "drum")
    ),
    "sides of points that are known": Mechanism(
        (
            Edit(
                DEEPEST,
                "is_known = distance2(centroid(child), center) <",
                "is_known = False and distance2(centroid(child), center) <",
            ),
        ),
        (*OF_MESHES, "bunnies 64"),
        keeps_bits=True,
    ),
    "triangles that keep clear": Mechanism(
        (Edit(IMPACT, "if stays_separated(shapes, triangles,", "if False and stays_separated(shapes, triangles,"),),
        OF_MESHES,
        keeps_bits=True,
    ),
    "one walk a step": Mechanism(
        (Edit(TRIANGLES, "if cache_covers(table, query, walk):", "if limit < 0.0 and cache_covers(table, query, walk):"),),
        OF_MESHES,
        keeps_bits=True,
    ),
    "sides shared along edges": Mechanism(
        (Edit("collision/mesh/deepest_point.py", "e < 0 or search.pierced[first_edge + e]:", "e < 0 or first_edge >= 0:"),),
        OF_MESHES,
        keeps_bits=True,
    ),
}
