# SPDX-License-Identifier: GPL-3.0-or-later
"""How the time of the collision step grows with the number of bodies.

    python -m tests.bench.collision [--most 20000]

A pile: cubes of 1 m, turned every way, on a grid of 0.95 m from which they are moved by up to 0.1 m, so that each overlaps or
touches its neighbours. A mixed pile: the same places, cubes of 1 m, 50 mm and 10 mm in turn, and a ground of 1 km under them.
Times are the processor's, on one thread, the best of several. Where the time for a body grows by more than two from 1,000 to
8,000 bodies, a goal is missed, which is said.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.collision.broad_phase import candidate_pairs
from solver_core.collision.detect import NO_PAIRS, detect
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ShapeKind, ShapeSpec

from .records import on_one_thread, write_rows

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
COUNTS = (100, 1000, 8000, 20000)
FACTOR = 2.0
# Weyl's sequence: multiples of these, without their whole parts, fill the unit cube evenly
IRRATIONAL = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0])


def pile(count: int, sizes: tuple[float, ...], with_ground: bool) -> tuple[Any, ...]:
    """What `detect` takes."""
    side = int(np.ceil(count ** (1.0 / 3.0)))
    places = np.array(list(itertools.islice(itertools.product(range(side), repeat=3), count)), dtype=float)
    even = np.modf(np.arange(1, count + 1)[:, None] * IRRATIONAL)[0]
    position = 0.95 * places + 0.2 * even[:, :3] - 0.1
    rotation = Rotation.from_quat(2.0 * even[:, 3:] - 1.0).as_matrix()
    specs = [ShapeSpec(ShapeKind.HULL, CUBE * size) for _, size in zip(range(count), itertools.cycle(sizes), strict=False)]
    if with_ground:
        specs[0], position[0], rotation[0] = ShapeSpec(ShapeKind.HULL, CUBE * (1e3, 1e3, 1.0)), (0.0, 0.0, -1.5), np.eye(3)
    reach, collections = np.full(count, 0.02), np.ones(count, dtype=np.int64)
    return build_shapes(specs), position, np.ascontiguousarray(rotation), reach, collections, np.ones(count, dtype=bool)


def best(work: Callable[[], Any], times: int) -> float:
    """Processor time in s of the fastest run, after one that compiles."""
    work()
    spent = []
    for _ in range(times):
        begin = process_time()
        work()
        spent.append(process_time() - begin)
    return min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=COUNTS[-1], help="bodies")
    most = parser.parse_args().most
    on_one_thread()
    rows: list[dict[str, Any]] = []
    missed = []
    for name, sizes, with_ground in (("pile", (1.0,), False), ("mixed pile", (1.0, 0.05, 0.01), True)):
        a_body = {}
        for count in (count for count in COUNTS if count <= most):
            arguments = pile(count, sizes, with_ground)
            arguments_of_pairs = (*arguments, NO_PAIRS, np.zeros_like(arguments[1]))
            pairs, contacts = candidate_pairs(*arguments_of_pairs), detect(*arguments)
            broad = best(lambda given=arguments_of_pairs: candidate_pairs(*given), 7)
            whole = best(lambda given=arguments: detect(*given), 3)
            a_body[count] = whole / count
            rows.append(
                {
                    "scene": name,
                    "bodies": count,
                    "pairs": len(pairs),
                    "contacts": len(contacts),
                    "broad_phase_seconds": broad,
                    "collision_seconds": whole,
                }
            )
            print(
                f"{name}, {count} bodies: {len(pairs)} pairs, {len(contacts)} contacts; broad phase {1e3 * broad:.2f} ms"
                f" ({1e6 * broad / count:.2f} us a body), all {1e3 * whole:.1f} ms ({1e6 * whole / count:.1f} us a body)",
                flush=True,
            )
        if {1000, 8000} <= a_body.keys() and a_body[8000] > FACTOR * a_body[1000]:
            missed.append(f"{name}: a body of 8,000 costs {a_body[8000] / a_body[1000]:.2f} times one of 1,000")
    print(f"\nraw figures in {write_rows('collision', rows)}")
    for line in missed:
        print(f"MISSED: {line}")


if __name__ == "__main__":
    main()
