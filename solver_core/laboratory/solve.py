# SPDX-License-Identifier: GPL-3.0-or-later
"""Entry point of all solvers of contact problems: `solve(problem, method=...)`.

These stages are nested, and a problem passes through those that apply. Most problems meet only the first, or the last two:

| stage                                                   | file                                |
| ------------------------------------------------------- | ----------------------------------- |
| few contacts, and nothing else                          | `laboratory/few_contacts.py`        |
| an inexact matrix that was repaired: corrections        | `laboratory/rounded.py`             |
| mu = inf: increasing coefficients                       | `laboratory/no_slip.py`             |
| a sparse matrix with an island too large to be dense    | `laboratory/given_as_matrix.py`     |
| a dense matrix: island by island                        | `laboratory/by_islands.py`          |
| a published method                                      | `published/methods.py`              |
| staggered: bilateral constraints eliminated             | `solvers/bilateral.py`              |
| staggered: a matrix without friction, by pivoting       | `laboratory/frictionless.py`        |
| staggered: proposals for a matrix                       | `laboratory/given_as_matrix.py`     |
| staggered: the cascade, again at tighter tolerances     | `solvers/coulomb/cascade.py`        |
| residuals of the result, and proofs of infeasibility    | `confirm`, `solvers/infeasible.py`  |
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

STAGGERED_ITERATIONS = 200  # default limit; with a larger one, unsolved problems take longer
TIGHTER = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # tolerances of the retries; a problem may be solved at one of them only


def _require_options(problem: ContactProblem, polygon_sides: int, staggering: str) -> None:
    """Raise ValueError unless the options of 'staggered' are valid and it can solve the problem."""
    if staggering not in VARIANTS:
        raise ValueError(f"staggering must be one of {', '.join(VARIANTS)}, not {staggering!r}")
    if polygon_sides != 0 and not polygon_sides >= 3:
        raise ValueError(f"polygon_sides must be 0 (disk) or at least 3, not {polygon_sides!r}")
    if problem.slides_along_given.any():
        index = int(np.flatnonzero(problem.slides_along_given)[0])
        raise ValueError(
            f"sliding_direction[{index}] prescribes the direction of friction, which the method staggered does not support; "
            "omit sliding_direction, or use the method pivot or lemke"
        )


def _solve_staggered(
    problem: ContactProblem, limits: Limits, *, polygon_sides: int = 0, staggering: str = "accelerated"
) -> Result:
    """Solve a problem by Staggered Projections. The options are those of `solve`."""
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
        # This is a linear complementarity problem. Pivoting factors its dense matrix once, and not in each step. Without
        # friction (28) is zero, so the residuals decide.
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
    """Return the result, or if it failed, that of a retry at another tolerance.

    Which proposal reaches a solution depends on how far each of them is carried, so a tighter tolerance may succeed. If none
    does, looser tolerances are tried too, and the result with the smallest residual is returned. A looser request then never
    gets a better result.

    tolerance: requested tolerance. result: result at that tolerance.
    attempt: solves at another tolerance. error_of: returns the largest relative residual of a result.
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
    """Solve the contacts of a problem by proposals and the cascade.

    start: (m, dim) warm start [N s], or None. variant: value of `VARIANTS`.
    """
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
    """Improve impulses (m, 3) before the cascade if the system is large or a matrix.

    Returns the number of factorizations, and the method that found the impulses.
    """
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

    Parameters
    ----------
    problem : ContactProblem
    method : {'staggered', 'pivot', 'energy', 'lemke'}
        Kaufman et al. 2008, Baraff 1994, Faure 1996, Baraff 1991.
    tolerance : float
        Bound on every relative residual of the law that the method solves (see `residuals`), and on the relative error (28) of
        Kaufman et al. 2008. With larger residuals the status is not SOLVED.
    max_iterations : int, optional
        Limit of staggered iterations (default 200), of pivots over all orders of the contacts (default 6400 per contact for
        'pivot'), or of redistributions of energy (default 200). With None, 'staggered' also retries at other tolerances.
    time_limit : float
        Seconds. After that the best iterate is returned. 'staggered' still finishes a contact projection, so that contacts are
        satisfied. Part of a first call is compilation.
    warm_start : (m, dim) array, optional
        Impulses to start from [N s]. They are moved into the friction cones first.

    Other Parameters
    ----------------
    polygon_sides : int, 'staggered'
        0 for the friction disk, K >= 3 for the inscribed polygon.
    staggering : {'accelerated', 'plain', 'published'}, 'staggered'
        Algorithm 1 with proposals, without them, or as published, with the stopping rule (28) alone and the result of lines 15
        to 17: the friction with the smallest residual (29) and its contact projection. If the residuals of that result exceed
        the tolerance, the status is UNCONFIRMED.
    guess : bool, 'pivot'
        True to guess index sets by Gauss-Seidel and Newton's method, repeatedly while the result satisfies (21) of Baraff 1994
        but not Coulomb's law. False for the published algorithm, from empty sets. If it fails for one order of the contacts, it
        tries others, which `stats.restarts` counts.
    as_published : bool, 'energy'
        True for the algorithm of Faure 1996, whose law is (1) and (2) of the paper, started with every contact closed (3.2). If
        Coulomb's law is not within the tolerance, the status is UNCONFIRMED.
    static_friction : {None, 'creep', 'signs'}, 'lemke'
        None if no contact may stick; sections 8.1 and 8.2 of Baraff 1991.
    creep_speed : float, 'lemke' with 'creep'
        Speed below which friction decreases [m/s].
    tangential_velocity : (m, dim - 1) array, optional, 'lemke' with 'creep'
        Present velocities [m/s]; by default those without impulses.

    Returns
    -------
    Result
        SOLVED claims the law of the method. It is Coulomb's for 'staggered' (or its polygon) and 'energy'. It is Baraff's for
        'pivot', which allows friction at an angle to the sliding in three dimensions. It is that of `creep_problem`, or of
        `residuals(..., box=True)`, for 'lemke' with static friction. `residuals(problem, result).coulomb` measures Coulomb's
        law. If an inexact matrix was repaired, SOLVED claims the law with the original matrix. The status is INFEASIBLE if the
        contact conditions are proved to contradict each other.

    Raises
    ------
    ValueError
        Names the argument, and the index if there is one.

    Notes
    -----
    Contacts with mu = inf need the method 'staggered'. The first call on a machine compiles, and prints that on standard error
    after two seconds.
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
    iteration_limit = None if max_iterations is None else int(max_iterations)
    limits = Limits(float(tolerance), iteration_limit, float(time_limit), warm_start)
    if method == "staggered" and not options and iteration_limit is None and is_few(problem):
        result = answer_few(problem, limits.tolerance, limits.warm_start)
        if result is not None:
            return result
    if problem.rounded is None or options.get("static_friction") == "creep":
        return _solve_parts(problem, method, limits, options)

    def solve_repaired(repaired: ContactProblem, tolerance: float, time_limit: float, start: Floats | None) -> Result:
        return _solve_parts(repaired, method, Limits(tolerance, iteration_limit, time_limit, start), options)

    def measured(result: Result) -> float:
        found = residuals(problem, result, polygon_sides=options.get("polygon_sides", 0), box="static_friction" in options)
        return found.static_friction if method == "pivot" else found.coulomb

    return solve_rounded(problem, solve_repaired, measured, (limits.tolerance, limits.time_limit), warm_start)


@cache
def _options_of(method: str) -> tuple[str, ...]:
    """Return the names of the options of a method."""
    parameters = inspect.signature(METHODS[method]).parameters
    return tuple(name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY)


def _solve_tied(problem: ContactProblem, method: str, limits: Limits, options: dict[str, Any]) -> Result:
    """Solve a problem with contacts that have mu = inf."""
    if method != "staggered":
        first = int(np.flatnonzero(np.isposinf(problem.system.mu))[0])
        raise ValueError(f"mu[{first}] is inf, which the method {method} does not support; use the method staggered")

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
    """Solve a problem with an exact matrix, or without one; a matrix island by island. options: options of the method."""
    if has_ties(problem):
        return _solve_tied(problem, method, limits, options)
    if problem.matrix is not None:
        if method != "staggered" or options or limits.max_iterations is not None or problem.slides_along_given.any():
            rows = problem.contacts * problem.dim
            raise ValueError(
                f"problem is a sparse matrix of {rows} rows, which is too large to be made dense; use the method staggered "
                "without options, max_iterations and sliding_direction, or give the problem by its bodies "
                "(from_bodies, GlobalForm)"
            )
        return solve_sparse(problem, limits.tolerance, limits.time_limit, limits.warm_start)
    deadline = perf_counter() + limits.time_limit

    def solve_part(part: ContactProblem, start: Floats | None) -> Result:
        within = replace(limits, warm_start=start, time_limit=max(deadline - perf_counter(), 0.0))
        return proved_infeasible(part, METHODS[method](part, within, **options), limits.tolerance)

    parts = apart(problem)
    # The tangential velocities of creep are those of all contacts.
    if len(parts) == 1 or "tangential_velocity" in options:
        return solve_part(problem, limits.warm_start)
    return solve_apart(problem, parts, limits.warm_start, solve_part)


def _impulses(values: ArrayLike, problem: ContactProblem) -> Floats:
    """Return a warm start (m, dim) moved into the friction cones and the bounds of the joints.

    It may violate them, because it contains round-off or comes from another problem. Raises ValueError for a wrong shape or for
    entries that are too large.
    """
    wanted = (problem.contacts, problem.dim)
    array = finite_array("warm_start", values)
    if array.shape != wanted:
        raise ValueError(f"warm_start must have shape {wanted}, not {array.shape}")
    if array.size and np.abs(array).max() > LARGEST_IMPULSE:
        row, column = np.unravel_index(np.argmax(np.abs(array)), array.shape)
        raise ValueError(
            f"warm_start[{row}, {column}] = {array[row, column]:.3g} N s: the squares of impulses beyond {LARGEST_IMPULSE:.0e} "
            "are not finite; leave warm_start out"
        )
    impulse = np.zeros((problem.contacts, 3))
    impulse[:, : problem.dim] = array
    into_cones(problem.system, impulse)
    return impulse[:, : problem.dim]
