# SPDX-License-Identifier: GPL-3.0-or-later
"""Baraff's pivoting solver: how often it solves, how many drives it needs, and how fast it is.

    python -m tests.bench.pivot [--problems 1000] [--plot docs/drives.svg]

1. Random frictionless problems of up to 150 contacts to 1e-10, and random problems with static friction in two and three
   dimensions to 1e-8; the calls to `drive_to_zero` from empty sets against n, of which the paper says "about linear".
2. The frictionless solve of n contacts against numpy.linalg.solve on the same matrix, and against quadprog (active set), daqp
   (active set) and clarabel (interior point) on the same problem: the least of many interleaved runs, on one thread. Matrices
   are regular (a random J of n degrees of freedom) and of random contacts, which are rank-deficient: there quadprog and
   numpy get the diagonal raised by 1e-9 of the largest entry, and daqp its own regularisation.
3. Whole scenes baked with both methods: seconds a frame over the first half second of film, in which structures settle, and how
   far anything has moved after a second. A structure at rest costs nothing: a step that changes nothing is not computed again.
Goals of speed that are missed are said; the status is 1 where problems are not solved.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import clarabel
import daqp
import numpy as np
import quadprog
import scipy.sparse

import solver_core as sc
from solver_core.published.baraff_1994.lcp import pivot_lcp
from solver_core.scene.spec import SceneSpec
from solver_core.scenes import plain as scenes

from .random_contacts import contact_problem, frictionless_problem
from .records import on_one_thread, write_rows

SCENES = {
    "box on a slope": scenes.slope,
    "card house, 2 levels": lambda: scenes.card_house(levels=2),
    "tower, 10 boxes": scenes.tower,
    "arch, 11 blocks": scenes.arch,
    "card house, 3 levels": lambda: scenes.card_house(levels=3),
    "wall, 20 bricks": scenes.wall,
    "card house, 4 levels": lambda: scenes.card_house(levels=4),
}
SEED = 1994  # plus the number of dimensions where there is friction; of a race the number of contacts
SOLVED_GOAL = 0.999
RATIO_GOAL, FASTER_GOAL = 3.0, 5.0
RUNS = 200


def _frictionless(problems: int) -> tuple[int, list[tuple[int, int]]]:
    """(problems not solved, (n, drives from empty sets) of each)."""
    random, missed, drives = np.random.default_rng(SEED), 0, []
    for _ in range(problems):
        n = int(random.integers(1, 151))
        A, b = frictionless_problem(random, n)
        result = sc.solve_lcp(A, b, "pivot", tolerance=1e-10)
        missed += result.status != sc.Status.SOLVED
        cold = pivot_lcp(A, b, np.zeros(n, dtype=bool), 1e-10, 1_000_000, np.inf)
        drives.append((n, cold.stats.drives))
    return missed, drives


def _static(problems: int, dim: int) -> tuple[int, float, int]:
    """(problems not solved, pivots a contact in the mean, how many took more than one trial)."""
    random, missed, pivots, again = np.random.default_rng(SEED + dim), 0, [], 0
    for _ in range(problems):
        G, g, mu = contact_problem(random, dim)
        result = sc.solve(sc.ContactProblem.from_delassus(G, g, mu, dim=dim), "pivot", tolerance=1e-8)
        missed += result.status != sc.Status.SOLVED
        pivots.append(result.stats.iterations / mu.size)
        again += result.stats.restarts > 0
    return missed, float(np.mean(pivots)), again


def _least_times(calls: list[Callable[[], object]], runs: int) -> list[float]:
    least = [np.inf] * len(calls)
    for _ in range(runs):
        for i, call in enumerate(calls):
            begin = perf_counter()
            call()
            least[i] = min(least[i], perf_counter() - begin)
    return least


def _race(kind: str, n: int) -> dict[str, object]:
    random = np.random.default_rng(n)
    if kind == "regular":
        J = random.normal(size=(n, n))
        A = J @ J.T
        A, b = 0.5 * (A + A.T), A @ random.normal(size=n)
        raised = A
    else:
        A, b = frictionless_problem(random, n)
        raised = A + 1e-9 * np.abs(A).max() * np.eye(n)
    none, above, below, sense = np.zeros((0, n)), np.full(n, 1e30), np.zeros(n), np.zeros(n, np.int32)
    upper, positive, quiet = (
        scipy.sparse.csc_matrix(np.triu(A)),
        scipy.sparse.csc_matrix(-np.eye(n)),
        clarabel.DefaultSettings(),
    )
    quiet.verbose = False
    cones = [clarabel.NonnegativeConeT(n)]

    def by_daqp():
        return daqp.solve(A, b, none, above, below, sense, eps_prox=0.0 if kind == "regular" else -1.0)[0]

    def by_quadprog():
        return quadprog.solve_qp(raised, -b, np.eye(n), np.zeros(n))[0]

    def by_clarabel():
        return np.array(clarabel.DefaultSolver(upper, b, positive, np.zeros(n), cones, quiet).solve().x)

    def by_pivot():
        return sc.solve_lcp(A, b, "pivot").force

    solvers = {"pivot": by_pivot, "daqp": by_daqp, "quadprog": by_quadprog, "clarabel": by_clarabel}
    times = _least_times([lambda: np.linalg.solve(raised, b), *solvers.values()], RUNS)
    row: dict[str, object] = {"kind": kind, "seed": n, "n": n, "numpy_microseconds": 1e6 * times[0]}
    for (name, call), time in zip(solvers.items(), times[1:], strict=True):
        row[f"{name}_microseconds"] = 1e6 * time
        row[f"{name}_residual"] = sc.lcp_residual(A, b, call())
    rivals = [(time, name) for name, time in zip(solvers, times[1:], strict=True) if name != "pivot"]
    row["over_numpy"] = times[1] / times[0]
    row["faster_than_best"] = min(rivals)[0] / times[1]
    row["best"] = min(rivals)[1]
    return row


def _bake(spec: SceneSpec, method: str) -> tuple[int, int, float, float]:
    """(contacts, steps not solved, seconds a frame while it settles, m moved) over a second of film."""
    sc.Simulation(spec, method=method).run(2)  # compiled, or loaded, before the clock starts
    frames = sc.Simulation(spec, method=method).run(25)
    missed = sum(int((frame.statistics.status != sc.Status.SOLVED).sum()) for frame in frames)
    seconds = float(np.mean([frame.statistics.seconds.sum() for frame in frames[1:13]]))
    moved = float(np.abs(frames[-1].poses[:, :3] - frames[0].poses[:, :3]).max())
    return max(int(frame.statistics.contacts.max(initial=0)) for frame in frames), missed, seconds, moved


def _plot(drives: list[tuple[int, int]], slope: float, path: Path) -> None:
    """Drives against n, with the straight line through the origin that fits them."""
    most = max(count for _, count in drives)
    height = lambda count: 260.0 - 240.0 * count / most  # noqa: E731
    dots = "".join(f'<circle cx="{50 + 3 * n}" cy="{height(count):.1f}" r="1.5"/>' for n, count in drives)
    end = min(150.0, most / slope)
    marks = "".join(f'<text x="{50 + 3 * n}" y="278" text-anchor="middle">{n}</text>' for n in range(0, 151, 50)) + "".join(
        f'<text x="44" y="{height(count) + 4:.1f}" text-anchor="end">{count}</text>' for count in (0, most)
    )
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 300" font-family="sans-serif" font-size="12">'
        '<rect width="520" height="300" fill="white"/><path d="M50 15V260H505" fill="none" stroke="black"/>'
        f'<g fill="steelblue" fill-opacity="0.6">{dots}</g>{marks}'
        f'<path d="M50 260L{50 + 3 * end:.1f} {height(slope * end):.1f}" stroke="firebrick"/>'
        '<text x="278" y="296" text-anchor="middle">contacts n</text>'
        f'<text x="60" y="24">calls to drive_to_zero; the line is {slope:.2f} n</text></svg>\n'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure Baraff's pivoting solver")
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--plot", type=Path, default=Path(__file__).resolve().parents[2] / "build" / "bench" / "drives.svg")
    options = parser.parse_args()
    faults: list[str] = []

    missed, drives = _frictionless(options.problems)
    n, count = np.array(drives, dtype=np.float64).T
    slope = float(n @ count / (n @ n))
    power = float(np.polyfit(np.log(n[n >= 10]), np.log(np.maximum(count[n >= 10], 1.0)), 1)[0])
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    _plot(drives, slope, options.plot)
    print(f"frictionless: {missed} of {options.problems} not solved to 1e-10; drives grow like n^{power:.2f}, {slope:.2f} n")
    faults += [f"{missed} frictionless problems are not solved"] if missed else []
    random = [{"seed": SEED, "kind": "frictionless", "number": options.problems, "missed": missed, "drives_a_contact": slope}]
    for dim in (2, 3):
        missed, pivots, again = _static(options.problems, dim)
        print(
            f"static friction, {dim}D: {missed} of {options.problems} not solved to 1e-8, {again} by more than one trial, "
            f"{pivots:.2f} pivots a contact"
        )
        row = {"seed": SEED + dim, "kind": f"static friction, {dim}D", "number": options.problems, "missed": missed}
        random.append(row | {"pivots_a_contact": pivots, "more_than_one_trial": again})
        if missed > (1.0 - SOLVED_GOAL) * options.problems:
            faults.append(f"{missed} problems with static friction in {dim}D are not solved")

    print("\nscene                 contacts  pivot: s a frame, unsolved, moved   staggered: s a frame, unsolved, moved")
    baked: list[dict[str, object]] = []
    for name, make in SCENES.items():
        figures = [_bake(make(), method) for method in ("pivot", "staggered")]
        shown = "   ".join(f"{seconds:9.4f} {missed:3d} {moved:.0e} m" for _, missed, seconds, moved in figures)
        print(f"{name:22s} {figures[0][0]:4d}     {shown}")
        for method, (contacts, missed, seconds, moved) in zip(("pivot", "staggered"), figures, strict=True):
            row = {"scene": name, "contacts": contacts, "method": method, "missed": missed}
            baked.append(row | {"seconds_a_frame": seconds, "moved_m": moved})

    rows = [_race(kind, size) for kind in ("regular", "contacts") for size in (50, 100, 150)]
    print("\nkind       n   numpy us  pivot us  over numpy (goal 3)  best rival  pivot is faster by (goal 5)  residuals")
    for row in rows:
        others = ", ".join(
            f"{name} {row[name + '_microseconds']:.0f} us {row[name + '_residual']:.0e}"
            for name in ("daqp", "quadprog", "clarabel")
        )
        print(
            f"{row['kind']:9s} {row['n']:3d} {row['numpy_microseconds']:9.1f} {row['pivot_microseconds']:9.1f} "
            f"{row['over_numpy']:10.2f} {row['best']:>20s} {row['faster_than_best']:10.2f}       "
            f"pivot {row['pivot_residual']:.0e}; {others}"
        )
    write_rows("pivot_random", random)
    write_rows("pivot_scenes", baked)
    print(f"\nwritten to {write_rows('pivot', rows)} and {options.plot}")
    for row in rows:
        over, faster, where = float(row["over_numpy"]), float(row["faster_than_best"]), f"{row['kind']}, n = {row['n']}"
        if row["kind"] == "regular" and over > RATIO_GOAL:
            print(f"MISSED: {where}: {over:.1f} times numpy, wanted {RATIO_GOAL:g}")
        if faster < FASTER_GOAL:
            print(f"MISSED: {where}: {faster:.1f} times as fast as {row['best']}, wanted {FASTER_GOAL:g}")
    for line in faults:
        print(f"FAULT  {line}")
    return int(bool(faults))


if __name__ == "__main__":
    on_one_thread()
    sys.exit(main())
