# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the kernels that heaps spend their time in are from what this machine's memory and processor allow.

    python -m tests.bench.roofline FOLDER [--only cubes_125_240 ...] [--seconds 1] [--plot FILE]

FOLDER: contact problems of `captured_phases.py --capture`. First the machine, on one thread: the bandwidth of a triad (McCalpin
1995) over arrays in L1, L2, L3 and memory, and the operations of a product of large matrices (BLAS), of matrices of six by six,
which is what blocks of two rigid bodies can be had for, and of sums that wait for each other. Then, for each problem, an
iteration of the alternating direction method, its two triangular solves, the same without them, a sweep, filling and
factorising the matrix, and measuring the residuals: microseconds, the bytes that each has to move at least once, its
operations, and how much of the roof it reaches, which is the longer of bytes over the bandwidth where they fit and operations
over those of blocks (Williams, Waterman and Patterson 2009, "Roofline: an insightful visual performance model for multicore
architectures").

Of each the shortest of many runs counts, by the processor's time, so that others at work on the machine matter little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from solver_core.linalg.block_cholesky import factorise
from solver_core.linalg.block_triangular import solve_in_place
from solver_core.solvers.block_operator import Operator, State, assemble, measure, operator_of
from solver_core.solvers.coulomb.admm import Workspace, iterate, workspace
from solver_core.solvers.coulomb.gauss_seidel import DelassusBlocks, delassus_blocks, sweep
from solver_core.solvers.coulomb.splitting import split_all, start

from .captured import kept_system
from .heaps_plot import plotted
from .records import on_one_thread, write_rows

ROOT = Path(__file__).resolve().parents[2]

Floats = np.ndarray

PENALTY = 3.0  # as the alternating direction method begins
ITERATIONS = 10
LEAST_RUNS = 5
NUMBER, INDEX = 8, 8  # bytes
# What of a level is filled by the arrays of a triad, and up to which what a kernel moves is said to fit, bytes
LEVELS = {"L1": 24 * 2**10, "L2": 512 * 2**10, "L3": 12 * 2**20, "memory": 400 * 2**20}
FITS = {"L1": 40 * 2**10, "L2": 900 * 2**10, "L3": 24 * 2**20, "memory": np.inf}


class Count(NamedTuple):
    """What a kernel has to do at least: bytes that are moved to the processor or from it, operations on numbers."""

    bytes: float
    operations: float

    def __add__(self, other: tuple[float, float]) -> Count:  # type: ignore[override]
        return Count(self.bytes + other[0], self.operations + other[1])


def shortest(run: Callable[[], object], seconds: float) -> float:
    """The shortest time of a run within so many seconds, or of the first few, s of the processor."""
    run()
    end, least, runs = perf_counter() + seconds, np.inf, 0
    while perf_counter() < end or runs < LEAST_RUNS:
        runs += 1
        begin = process_time()
        run()
        least = min(least, process_time() - begin)
    return least


@njit(error_model="numpy", fastmath=True)
def triad(a, b, c, times):
    """a := b + s c, so many times."""
    for t in range(times):
        s = 1.0 + t
        for i in range(a.size):
            a[i] = b[i] + s * c[i]


@njit(error_model="numpy")
def products_of_six(out, left, right, times):
    """C := C - A B of blocks of six by six, so many times, over some blocks that fit L1, row by row: two vectors each."""
    for _ in range(times):
        for n in range(out.shape[0]):
            a, b, c = left[n], right[n], out[n]
            for i in range(6):
                a0, a1, a2, a3, a4, a5 = a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5]
                for j in range(6):
                    c[i, j] -= a0 * b[0, j] + a1 * b[1, j] + a2 * b[2, j] + a3 * b[3, j] + a4 * b[4, j] + a5 * b[5, j]


@njit(error_model="numpy")
def one_after_the_other(x, y, times):
    """A sum whose every term waits for the one before."""
    for _ in range(times):
        x = x * y + 1.0
    return x


def machine(seconds: float) -> tuple[dict[str, float], dict[str, float]]:
    """Bandwidth by level, bytes/s, and operations a second by kind, on one thread."""
    bandwidth = {}
    for level, size in LEVELS.items():
        a, b, c = np.ones((3, size // (3 * NUMBER)))
        times = max(1, 2**22 // a.size)
        bandwidth[level] = 3 * NUMBER * a.size * times / shortest(partial(triad, a, b, c, times), seconds)
    n = 400
    left, right = np.random.default_rng(0).normal(size=(2, n, n))
    rates = {"large matrices": 2.0 * n**3 / shortest(lambda: left @ right, seconds)}
    out, some, more = np.zeros((3, 32, 6, 6))
    rates["blocks of six"] = 2.0 * 216 * 32 * 2000 / shortest(lambda: products_of_six(out, some, more, 2000), seconds)
    rates["one after the other"] = 2e6 / shortest(lambda: one_after_the_other(1.0, 0.5, 1_000_000), seconds)
    return bandwidth, rates


class Prepared(NamedTuple):
    """A problem's operator, factorised at the first penalty, and what its methods write to."""

    operator: Operator
    work: Workspace
    delassus: DelassusBlocks
    state: State
    right: Floats


@njit(error_model="numpy")
def prepare(system, impulse):
    operator = operator_of(system)
    work, state = workspace(operator), State(impulse, np.empty(system.velocity.size))
    measure(operator, np.inf, state)
    start(system, operator.kappa, PENALTY, impulse, state.v, work.rho, work.x)
    prepared = Prepared(operator, work, delassus_blocks(system), state, np.empty(state.v.size))
    fill_and_factorise(prepared)
    return prepared


@njit(error_model="numpy")
def fill(prepared):
    operator, rho = prepared.operator, prepared.work.rho
    derivative = np.zeros((rho.size, 3, 3))
    for k in range(rho.size):
        derivative[k, 0, 0], derivative[k, 1, 1], derivative[k, 2, 2] = rho[k], rho[k], rho[k]
    assemble(operator, derivative, True)


@njit(error_model="numpy")
def fill_and_factorise(prepared):
    fill(prepared)
    factorise(prepared.operator.blocks.structure, prepared.operator.factor)


@njit(error_model="numpy")
def some_iterations(prepared):
    iterate(prepared.work, ITERATIONS, prepared.right)


@njit(error_model="numpy")
def triangular_solves(prepared, x):
    for _ in range(ITERATIONS):
        x[:] = 1.0  # solved again and again it would come down to numbers that processors are slow with
        solve_in_place(prepared.operator.blocks.structure, prepared.operator.factor, x)


@njit(error_model="numpy")
def two_sweeps(prepared):
    sweep(prepared.operator.system, prepared.delassus, False, prepared.state)
    sweep(prepared.operator.system, prepared.delassus, True, prepared.state)


@njit(error_model="numpy")
def residuals(prepared):
    split_all(prepared.operator.system, prepared.work.rho, prepared.work.x, prepared.state.impulse)
    measure(prepared.operator, np.inf, prepared.state)


def counts(prepared: Any) -> dict[str, Count]:
    """What one of each kernel has to do for a problem, its blocks taken as six by six."""
    system, structure = prepared.operator.system, prepared.operator.blocks.structure
    m, n, bodies, blocks = len(system.body_a), len(system.velocity), len(structure.order), len(structure.row)
    products = len(structure.target)
    of_jacobians = NUMBER * 36 * m
    # each block is read forwards and backwards; half of a diagonal block; for each block its row, place, size and first row
    solves = Count(
        2 * (NUMBER * (36 * blocks + 21 * bodies) + 4 * INDEX * (blocks + bodies) + 2 * NUMBER * n),
        2 * (2 * 36 * blocks + 36 * bodies),
    )
    # J v and J^T y, J read once; x twice, z twice, the offset twice, bias, slack, mu, rho, two bodies
    of_contacts = Count(of_jacobians + (6 + 6 + 2 + 3 + 3 + 2) * NUMBER * m, (72 + 72 + 45) * m)
    # responses as large as J, G_kk and its inverse, what sliding needs, impulses twice, bias, slack, mu, two bodies
    sweep = Count(2 * of_jacobians + (9 + 9 + 6 + 6 + 3 + 2 + 2) * NUMBER * m, (72 + 72 + 18 + 15 + 10) * m)
    both = int(np.count_nonzero((system.body_a >= 0) & (system.body_b >= 0)))
    filled = Count(of_jacobians + NUMBER * 36 * (blocks + 2 * bodies) + 5 * INDEX * m, (2 * 126 + 36) * m + 2 * 108 * both)
    factor = Count(
        2 * NUMBER * (36 * blocks + 21 * bodies) + INDEX * products,
        2.0 * 216 * products + 216 * blocks + 91 * bodies,
    )
    measured = Count(2 * of_jacobians + (6 + 3 + 6 + 4) * NUMBER * m + 3 * NUMBER * n, (72 + 72 + 90) * m)
    return {
        "iteration": solves + of_contacts,
        "of it two triangular solves": solves,
        "of it contacts": of_contacts,
        "sweep": sweep,
        "filling and factorising": filled + factor,
        "of it filling": filled,
        "of it factorising": factor,
        "residuals": measured,
    }


def times(prepared: Any, seconds: float) -> dict[str, float]:
    """How long one of each takes, s."""
    x = np.ones_like(prepared.state.v)
    found = {
        "iteration": shortest(lambda: some_iterations(prepared), seconds) / ITERATIONS,
        "of it two triangular solves": shortest(lambda: triangular_solves(prepared, x), seconds) / ITERATIONS,
        "sweep": shortest(lambda: two_sweeps(prepared), seconds) / 2,
        "of it filling": shortest(lambda: fill(prepared), seconds),
        "filling and factorising": shortest(lambda: fill_and_factorise(prepared), seconds),
        "residuals": shortest(lambda: residuals(prepared), seconds),
    }
    found["of it contacts"] = found["iteration"] - found["of it two triangular solves"]
    found["of it factorising"] = found["filling and factorising"] - found["of it filling"]
    return found


def level_of(size: float) -> str:
    """Where what is moved again and again fits."""
    return next(level for level, most in FITS.items() if size <= most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="PROBLEM")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "bench" / "roofline.svg")
    arguments = parser.parse_args()
    paths = [path for path in sorted(arguments.folder.glob("*.npz")) if not arguments.only or path.stem in arguments.only]
    if not paths:
        parser.error(f"there is no such problem in {arguments.folder}: give a folder of captured_phases.py --capture")
    on_one_thread()
    bandwidth, rates = machine(arguments.seconds)
    print("triad, GB/s:", ", ".join(f"{level} {1e-9 * rate:.0f}" for level, rate in bandwidth.items()))
    print("operations, 1e9/s:", ", ".join(f"{kind} {1e-9 * rate:.1f}" for kind, rate in rates.items()), flush=True)
    rows: list[dict[str, object]] = []
    curves: dict[str, list[tuple[float, float]]] = {}
    for path in paths:
        kept = np.load(path)
        system = kept_system(kept)
        prepared = prepare(system, kept["impulse"])
        structure = prepared.operator.blocks.structure
        of_problem = {"problem": path.stem, "contacts": len(system.body_a), "bodies": len(structure.order)}
        of_problem |= {"blocks": len(structure.row), "products": len(structure.target)}
        measured = times(prepared, arguments.seconds)
        held = counts(prepared)["iteration"].bytes
        for kernel, count in counts(prepared).items():
            level, taken = level_of(held), measured[kernel]
            roof = max(count.bytes / bandwidth[level], count.operations / rates["blocks of six"])
            row = of_problem | {"kernel": kernel, "us": 1e6 * taken, "bytes": count.bytes, "operations": count.operations}
            row |= {"level": level, "GB_s": 1e-9 * count.bytes / taken, "Gop_s": 1e-9 * count.operations / taken}
            row |= {"of_bandwidth": count.bytes / taken / bandwidth[level], "of_roof": roof / taken}
            row |= {"of_large_matrices": count.operations / taken / rates["large matrices"]}
            rows.append(row | {f"triad_{level}": rate for level, rate in bandwidth.items()} | rates)
            curves.setdefault(kernel, []).append((count.operations / count.bytes, 1e-9 * count.operations / taken))
            print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
    intensity = np.geomspace(0.03, 30.0, 40)
    for level in ("L2", "memory"):
        roof = np.minimum(intensity * bandwidth[level], rates["blocks of six"])
        curves[f"roof, {level}"] = list(zip(intensity.tolist(), (1e-9 * roof).tolist(), strict=True))
    print(write_rows("roofline", rows))
    print(plotted(curves, "operations a byte", "1e9 operations a second", arguments.plot))


if __name__ == "__main__":
    main()
