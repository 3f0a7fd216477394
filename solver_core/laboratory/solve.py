# SPDX-License-Identifier: GPL-3.0-or-later
"""Entry point of all solvers of contact problems: `solve(problem, method=...)`.

A problem goes through these, one within the other; most problems meet only the first or the last two:

| what                                                    | where                               |
| ------------------------------------------------------- | ----------------------------------- |
| few contacts, and nothing else                          | `laboratory/few_contacts.py`        |
| a rounded matrix that was repaired: corrected           | `laboratory/rounded.py`             |
| mu = inf: coefficients that rise                        | `laboratory/no_slip.py`             |
| a sparse matrix with an island too wide to be dense     | `laboratory/given_as_matrix.py`     |
| a dense matrix: island by island                        | `laboratory/by_islands.py`          |
| a published method                                      | `published/methods.py`              |
| staggered: bilateral constraints eliminated             | `solvers/bilateral.py`              |
| staggered: a matrix without friction is pivoted         | `laboratory/frictionless.py`        |
| staggered: proposals for a matrix                       | `laboratory/given_as_matrix.py`     |
| staggered: the cascade, again at tighter tolerances     | `solvers/coulomb/cascade.py`        |
| outside measure, and proofs that there is no solution   | `confirm`, `solvers/infeasible.py`  |
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.announce import announcer
from ..problem.accuracy import coulomb_error, residuals
from ..problem.arguments import require_limits, require_whole
from ..problem.contact_problem import ContactProblem
from ..problem.given_arrays import finite_array
from ..problem.result import Found, Result, Statistics, Status, together
from ..problem.system import System, relative_velocities
from ..published.methods import LARGEST_IMPULSE, Limits, confirm, solve_energy, solve_lemke, solve_pivot
from ..solvers.bilateral import without_bilateral
from ..solvers.coulomb.cascade import ACCELERATED, VARIANTS, Request, is_large, propose_beforehand, solve_system
from ..solvers.effort import DONE, deadline_timer, effort_of_a_step
from ..solvers.infeasible import proved_infeasible
from ..solvers.kaufman_2008.staggered import into_cones
from .by_islands import apart, solve_apart
from .few_contacts import answer_few, is_few
from .frictionless import is_frictionless_matrix, without_friction
from .given_as_matrix import is_matrix, propose_for_matrix, solve_sparse
from .no_slip import MOST_PIVOTED, has_ties, solve_ties
from .rounded import solve_rounded

__all__ = ["METHODS", "solve"]

Floats = NDArray[np.float64]

STAGGERED_ITERATIONS = 200
TIGHTER = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # tolerances: what is missed at one may be solved on the way to another


def _require_options(problem: ContactProblem, polygon_sides: int, staggering: str) -> None:
    if staggering not in VARIANTS:
        raise ValueError(f"staggering must be one of {', '.join(VARIANTS)}, not {staggering!r}")
    if polygon_sides != 0 and not polygon_sides >= 3:
        raise ValueError(f"polygon_sides must be 0 (disk) or at least 3, not {polygon_sides!r}")
    if problem.slides_along_given.any():
        index = int(np.flatnonzero(problem.slides_along_given)[0])
        raise ValueError(
            f"sliding_direction[{index}] is given, which is a law of forces and accelerations; staggered solves for "
            "impulses and velocities: leave sliding_direction out, or choose method pivot or lemke"
        )


def _solve_staggered(
    problem: ContactProblem, limits: Limits, *, polygon_sides: int = 0, staggering: str = "accelerated"
) -> Result:
    _require_options(problem, polygon_sides, staggering)
    free = without_bilateral(problem)
    max_iterations = STAGGERED_ITERATIONS if limits.max_iterations is None else limits.max_iterations
    deadline = perf_counter() + limits.time_limit

    def left() -> float:
        return max(deadline - perf_counter(), 0.0)

    def confirmed(result: Result, within: Limits) -> Result:
        if problem.bilateral_constraints:
            held = free.bilateral(result.impulse)
            result = replace(result, bilateral=held, body_velocity=problem.velocity_after(result.impulse, held))
        return confirm(result, coulomb_error(problem, result, int(polygon_sides)), within)

    def attempt(tolerance: float) -> Result:
        within = replace(limits, tolerance=tolerance, time_limit=left())
        options = max_iterations, polygon_sides, VARIANTS[staggering]
        return confirmed(_staggered_contacts(free.problem, within, limits.warm_start, *options), within)

    accelerated = VARIANTS[staggering] == ACCELERATED
    if accelerated and limits.warm_start is None and is_frictionless_matrix(free.problem):
        # a linear complementarity problem, whose dense matrix pivoting factorises once and not once a step; where there is no
        # friction, its relative error (28) is none, and the residuals alone decide
        pivoted = without_friction(free.problem, limits.tolerance, left())
        if not problem.is_plain:
            pivoted = confirmed(pivoted, limits)
        if pivoted.status is Status.SOLVED:
            return pivoted
    result = attempt(limits.tolerance)
    if not accelerated or limits.max_iterations is not None:
        return result

    def error_of(result: Result) -> float:
        return coulomb_error(problem, result, int(polygon_sides))

    return _at_other_tolerances(problem, limits.tolerance, result, attempt, error_of)


def _at_other_tolerances(
    problem: ContactProblem,
    tolerance: float,
    result: Result,
    attempt: Callable[[float], Result],
    error_of: Callable[[Result], float],
) -> Result:
    """The result; or, where it is none, that of an attempt at a tighter tolerance: which of several ways leads to a solution
    depends on how far each is gone, and one that keeps to a tighter tolerance keeps to this.

    Where none of these is solved, looser tolerances are tried too, and the answer with the least residual is returned, so that
    who asks for less gets no better answer.
    """
    failed = Status.MAX_ITERATIONS, Status.UNCONFIRMED
    tighter = [one for one in TIGHTER if one < tolerance]
    if result.status not in failed or proved_infeasible(problem, result, tolerance).status not in failed:
        return result
    stats, best, least = result.stats, result, error_of(result)
    for one in (*tighter, *(one for one in TIGHTER if one > tolerance)):
        other = attempt(one)
        if other.status is Status.SOLVED and one < tolerance:
            return replace(other, stats=together(stats, other.stats, other.stats.found))
        if other.status is Status.TIME_LIMIT:
            break
        stats, error = together(stats, other.stats, None), error_of(other)
        if error < least:
            best, least = other, error
    return replace(best, status=result.status, stats=stats)


def _staggered_contacts(
    problem: ContactProblem, limits: Limits, start: Floats | None, max_iterations: int, polygon_sides: int, variant: int
) -> Result:
    system = problem.system
    m, dim = problem.contacts, problem.dim
    impulse = np.zeros((m, 3))
    if start is not None:
        impulse[:, :dim] = start
    history, effort = np.zeros((max_iterations, 3)), effort_of_a_step()
    v = np.empty_like(system.velocity)
    begin = perf_counter()
    request = Request(limits.tolerance, False, max_iterations, int(polygon_sides))
    with deadline_timer(effort, limits.time_limit):
        factorisations, proposed = _propose(system, request, variant, effort, impulse)
        answer = solve_system(system, request, variant, effort, impulse, v, history)
    seconds = perf_counter() - begin
    velocity = relative_velocities(system, v)[:, :dim]
    found = proposed if answer.found == Found.START else answer.found
    return Result(
        status=Status(answer.status),
        impulse=impulse[:, :dim].copy(),
        velocity=velocity,
        body_velocity=v,
        stats=Statistics(
            iterations=answer.iterations,
            factorisations=factorisations + int(effort[DONE]),
            seconds=seconds,
            first_projections=np.array([answer.first_contact, answer.first_friction]),
            relative_error=history[: answer.iterations, 0].copy(),
            residual=history[: answer.iterations, 1].copy(),
            coulomb=history[: answer.iterations, 2].copy(),
            found=Found(found) if answer.status == Status.SOLVED else None,
        ),
        solver="staggered",
    )


def _propose(system: System, request: Request, variant: int, effort: NDArray[np.int64], impulse: Floats) -> tuple[int, Found]:
    """Improve impulses (m, 3) before the cascade, of a large system or a matrix; returns factorisations and what found them."""
    is_accelerated = variant == ACCELERATED and request.sides == 0 and len(impulse) > 0
    if is_accelerated and not is_large(system) and is_matrix(system):
        return propose_for_matrix(system, impulse, request.tolerance, effort)
    return propose_beforehand(system, request, variant, effort, impulse, 1)


METHODS: dict[str, Callable[..., Result]] = {
    "staggered": _solve_staggered,
    "pivot": solve_pivot,
    "energy": solve_energy,
    "lemke": solve_lemke,
}


def solve(
    problem: ContactProblem,
    method: str = "staggered",
    *,
    tolerance: float = 1e-6,
    max_iterations: int | None = None,
    time_limit: float = np.inf,
    warm_start: np.ndarray | None = None,
    **options,
) -> Result:
    """Solve a contact problem.

    tolerance: bound on every relative residual of the law that the method solves (see `residuals`), and on the relative error
    (28) of Kaufman et al. 2008; above it the status is not SOLVED. max_iterations: of staggered iterations (200 when None), of
    pivots (6400 a contact, over all orders of the contacts, when None) or of redistributions of energy (200 when None).
    time_limit: s, after which nothing is begun but what has to be, and the best iterate is returned; staggered ends with a
    whole contact projection, however long that takes, so that contact is intact. A first call compiles for a part of it.
    warm_start: (m, dim) impulses to start from, or from the nearest that contacts may have.

    Options of staggered: polygon_sides: 0 for the friction disk, else the K of the inscribed polygon; staggering: 'accelerated'
    by proposals, 'plain' for Algorithm 1 without them, 'published' for Algorithm 1 with its own stopping rule, (28) alone, and
    its own result, lines 15 to 17: the friction with the smallest residual (29), and the contact projection for it. If its
    residuals are above the tolerance, the status is UNCONFIRMED.
    Option of pivot: guess: whether index sets are guessed by Gauss-Seidel and Newton's method, again and again while the answer
    has (21) of Baraff 1994 but not Coulomb's law. False is the published algorithm from empty sets. If it fails for one order
    of the contacts, it tries other orders, which `stats.restarts` counts. SOLVED claims Baraff's law, which lets friction act
    across the sliding in three dimensions; `residuals(problem, result).coulomb` shows whether it does.
    Option of energy: as_published: the algorithm of Faure 1996, whose law is (1) and (2) of the paper, begun with every contact
    closed (3.2). If Coulomb's law is not within the tolerance, the status is UNCONFIRMED.
    Options of lemke: static_friction: None where nothing may stick, 'creep' or 'signs' (Baraff 1991, sections 8.1 and 8.2). Of
    creep: creep_speed: m/s, below which friction fades; tangential_velocity: (m, dim - 1) m/s, of the bodies now, None for what
    they would have without impulses. SOLVED then claims the law of `creep_problem`, or of `residuals(..., box=True)`, and
    `residuals(problem, result)` measures how far from Coulomb's the answer is.

    Where a matrix that was rounded was mended, SOLVED claims the law with the matrix as it was given (`laboratory/rounded.py`).
    Contacts with mu = inf are for staggered (`laboratory/no_slip.py`).
    A problem whose contact conditions contradict each other, as far as that can be proved, has the status INFEASIBLE.
    The first call on a machine compiles, and says so on standard error after two seconds.
    Raises ValueError that names the argument.
    """
    announcer()
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(sorted(METHODS))}, not {method!r}")
    if not isinstance(problem, ContactProblem):
        raise ValueError(f"problem must be a ContactProblem, not {type(problem).__name__}")
    require_limits(tolerance, 1 if max_iterations is None else max_iterations, time_limit)
    if "polygon_sides" in options:
        require_whole("polygon_sides", options["polygon_sides"])
    if warm_start is not None:
        warm_start = _impulses(warm_start, problem)
    known = _options_of(method)
    for name in options:
        if name not in known:
            raise ValueError(f"{name} is no option of the method {method}, which has {', '.join(known) or 'none'}")
    most = None if max_iterations is None else int(max_iterations)
    limits = Limits(float(tolerance), most, float(time_limit), warm_start)
    if method == "staggered" and not options and most is None and is_few(problem):
        result = answer_few(problem, limits.tolerance, limits.warm_start)
        if result is not None:
            return result
    if problem.rounded is None or options.get("static_friction") == "creep":
        return _solve_parts(problem, method, limits, options)

    def solve_mended(mended: ContactProblem, tolerance: float, time_limit: float, start: Floats | None) -> Result:
        return _solve_parts(mended, method, Limits(tolerance, most, time_limit, start), options)

    def measured(result: Result) -> float:
        found = residuals(problem, result, polygon_sides=options.get("polygon_sides", 0), box="static_friction" in options)
        return found.static_friction if method == "pivot" else found.coulomb

    return solve_rounded(problem, solve_mended, measured, (limits.tolerance, limits.time_limit), warm_start)


@cache
def _options_of(method: str) -> tuple[str, ...]:
    """The names of the options that a method has."""
    parameters = inspect.signature(METHODS[method]).parameters
    return tuple(name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY)


def _solve_tied(problem: ContactProblem, method: str, limits: Limits, options: dict[str, Any]) -> Result:
    """Solve a problem some of whose contacts have mu = inf."""
    if method != "staggered":
        at = int(np.flatnonzero(np.isposinf(problem.system.mu))[0])
        raise ValueError(f"mu[{at}] is inf, which the method {method} does not know; it has the method staggered alone")

    def staggered(bounded: ContactProblem, time_limit: float, start: Floats | None) -> Result:
        return _solve_parts(bounded, method, replace(limits, time_limit=time_limit, warm_start=start), options)

    def pivoted(bounded: ContactProblem, time_limit: float, start: Floats | None) -> Result:
        within = Limits(limits.tolerance, None, time_limit, start)
        return proved_infeasible(bounded, solve_pivot(bounded, within), limits.tolerance)

    def measured(result: Result) -> float:
        return coulomb_error(problem, result, options.get("polygon_sides", 0))

    few = problem.contacts <= MOST_PIVOTED and problem.matrix is None and not options
    ways = [pivoted, staggered] if few else [staggered]
    return solve_ties(problem, ways, measured, (limits.tolerance, limits.time_limit), limits.warm_start)


def _solve_parts(problem: ContactProblem, method: str, limits: Limits, options: dict[str, Any]) -> Result:
    """Solve a problem, what is given as a matrix island by island; options: of the method."""
    if has_ties(problem):
        return _solve_tied(problem, method, limits, options)
    if problem.matrix is not None:
        if method != "staggered" or options or limits.max_iterations is not None or problem.slides_along_given.any():
            rows = problem.contacts * problem.dim
            raise ValueError(
                f"problem is a sparse matrix of {rows} rows, too wide to be made dense: it has the method staggered alone, "
                "without options, max_iterations and sliding_direction; give it by its bodies (from_bodies, GlobalForm)"
            )
        return solve_sparse(problem, limits.tolerance, limits.time_limit, limits.warm_start)
    deadline = perf_counter() + limits.time_limit

    def solve_part(part: ContactProblem, start: Floats | None) -> Result:
        within = replace(limits, warm_start=start, time_limit=max(deadline - perf_counter(), 0.0))
        return proved_infeasible(part, METHODS[method](part, within, **options), limits.tolerance)

    parts = apart(problem)
    # velocities that are given with creep are of all contacts
    if len(parts) == 1 or "tangential_velocity" in options:
        return solve_part(problem, limits.warm_start)
    return solve_apart(problem, parts, limits.warm_start, solve_part)


def _impulses(values: ArrayLike, problem: ContactProblem) -> Floats:
    """Impulses (m, dim) that contacts and joints may have, near some that have rounding in them, or are another problem's."""
    wanted = (problem.contacts, problem.dim)
    array = finite_array("warm_start", values)
    if array.shape != wanted:
        raise ValueError(f"warm_start must have shape {wanted}, not {array.shape}")
    if array.size and np.abs(array).max() > LARGEST_IMPULSE:
        at = tuple(map(int, np.unravel_index(np.argmax(np.abs(array)), array.shape)))
        raise ValueError(
            f"warm_start[{at[0]}, {at[1]}] = {array[at]:.3g} N s: the squares of impulses beyond {LARGEST_IMPULSE:.0e} are not "
            "finite; leave warm_start out"
        )
    impulse = np.zeros((problem.contacts, 3))
    impulse[:, : problem.dim] = array
    into_cones(problem.system, impulse)
    return impulse[:, : problem.dim]
