# SPDX-License-Identifier: GPL-3.0-or-later
"""How a peer is asked, and answers: a problem in a file, a line of JSON for each tolerance, with processor time from outside.

A script that imports this runs in the peer's own Python, where numpy is all that there is of ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import process_time

import numpy as np

__all__ = ["answer"]

TOLERANCES = [1e-3, 1e-5, 1e-7, 1e-9, 1e-11]
REPEATS, SECONDS = 3, 0.05  # until one of both is reached; the least counts


def answer(build: Callable[..., Callable[[float], np.ndarray]]) -> None:
    """Solve the problem named on the command line, and print impulses. build(method, W, q, mu): what solves it to a tolerance,
    in the peer's own terms, cold each time."""
    method, path, limit = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with np.load(path) as given:
        W, q, mu = given["W"], given["q"], given["mu"]
    trivial = np.eye(3), np.array([-1.0, 0.1, 0.0]), np.array([0.5])
    for _ in range(2):  # loaded, compiled
        build(method, *trivial)(1e-4)
    calls = [timed(build(method, *trivial), 1e-4)[0] for _ in range(REPEATS)]
    tell(overhead_s=min(calls))
    start = process_time()
    for tolerance in TOLERANCES:
        if process_time() - start > limit:
            raise SystemExit(f"{limit:g} s were over")
        built, solved, spent, r = [], [], 0.0, np.zeros(0)
        while len(solved) < REPEATS and spent < SECONDS:
            begin = process_time()
            solve = build(method, W, q, mu)
            built.append(process_time() - begin)
            seconds, r = timed(solve, tolerance)
            solved.append(seconds)
            spent += seconds + built[-1]
        tell(tolerance=tolerance, build_s=min(built), solve_s=min(solved), impulse=np.ravel(r).tolist())


def timed(solve: Callable[[float], np.ndarray], tolerance: float) -> tuple[float, np.ndarray]:
    begin = process_time()
    r = solve(tolerance)
    return process_time() - begin, r


def tell(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()
