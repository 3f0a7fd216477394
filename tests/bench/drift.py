# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the cubes of a settled heap drift, by the tolerance that it is solved to, and what each tolerance costs.

    python -m tests.bench.drift [--cubes 27 125] [--tolerances 1e-2 1e-3 1e-4 1e-5 1e-6 1e-8] [--settle 5] [--seconds 10]

A heap of `heap_scenes.py` falls and settles for --settle seconds at the defaults, but that nothing sleeps; from there it is
gone on with for --seconds to each tolerance, in motion or not, and without sleep. `farthest` and
`median` say how far cubes are from where they were, mm, after the first half second, in which the change of tolerance wears
off; `turned` by how much the one that turned most, mrad; `slip` is the fastest of contacts that bear, `mean_slip` their mean
weighed by their force, mm/s, over all frames; `sank` how far the mean of all is lower, mm; `fastest` what the fastest cube
moved at, mm/s, at the end of a frame. `still_at` is the speed below which it counts as at rest, mm/s. Then, once more from the
start at each tolerance, when the last cube of the heap falls asleep, s; empty where that is not within twice --settle.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

import solver_core as sc
from solver_core.dynamics.model.island_motion import AT_REST
from solver_core.scene.spec import SceneSpec

from .heap_scenes import FPS, SEED, heap_of_cubes
from .heaps import SUBSTEPS
from .records import on_one_thread, write_rows

WEARS_OFF = FPS // 2  # frames


def settled(spec: SceneSpec, seconds: float):
    """(frame, checkpoint) of a heap after so many seconds at the defaults, none asleep."""
    simulation = sc.Simulation(spec, substeps=SUBSTEPS, sleeping=False)
    frame = simulation.first_frame()
    for _ in range(round(FPS * seconds)):
        frame = simulation.advance()
    return frame.frame, simulation.checkpoint()


def gone_on(spec: SceneSpec, begin, tolerance: float, seconds: float) -> dict[str, object]:
    """A row: what a settled heap does at one tolerance."""
    to = dict.fromkeys(("tolerance", "moving_tolerance"), tolerance)
    simulation = sc.Simulation(spec, substeps=SUBSTEPS, sleeping=False, keep_contacts=True, **to)
    simulation.restore(*begin)
    frames, taken = [], process_time()
    for _ in range(WEARS_OFF + round(FPS * seconds)):
        frames.append(simulation.advance())
    taken = process_time() - taken
    first, last = frames[WEARS_OFF - 1].poses[1:], frames[-1].poses[1:]
    away = np.linalg.norm(last[:, :3] - first[:, :3], axis=1)
    # of the two quaternions of an orientation the nearer one; twice their distance is the angle where that is small
    nearer = last[:, 3:] * np.sign((last[:, 3:] * first[:, 3:]).sum(axis=1))[:, None]
    turned = 2.0 * np.linalg.norm(nearer - first[:, 3:], axis=1)
    slips, means, speeds = [], [], []
    for frame in frames[WEARS_OFF:]:
        bearing = frame.contacts.force > 0.0
        slip, force = np.linalg.norm(frame.contacts.slip[bearing], axis=1), frame.contacts.force[bearing]
        slips.append(slip.max(initial=0.0))
        means.append(float(slip @ force / force.sum()) if force.size else 0.0)
        speeds.append(np.linalg.norm(frame.velocities[1:, :3], axis=1).max())
    rows = [frame.statistics for frame in frames]
    return {
        "farthest_mm": 1e3 * away.max(),
        "median_mm": 1e3 * float(np.median(away)),
        "turned_mrad": 1e3 * turned.max(),
        "slip_mm_s": 1e3 * max(slips),
        "mean_slip_mm_s": 1e3 * float(np.mean(means)),
        "sank_mm": 1e3 * float((first[:, 2] - last[:, 2]).mean()),
        "fastest_mm_s": 1e3 * max(speeds),
        "overlap_mm": 1e3 * max(row.deepest_overlap.max() for row in rows),
        "missed": sum(int(np.count_nonzero(row.status)) for row in rows),
        "ms_a_step": 1e3 * taken / (SUBSTEPS * len(frames)),
        "factorisations_a_step": float(np.mean([row.factorisations.mean() for row in rows])),
        "contacts": int(rows[-1].contacts[-1]),
    }


def falls_asleep(spec: SceneSpec, tolerance: float, seconds: float) -> dict[str, object]:
    """When all of a heap sleep, and what it took until then."""
    to = dict.fromkeys(("tolerance", "moving_tolerance"), tolerance)
    simulation, taken = sc.Simulation(spec, substeps=SUBSTEPS, **to), process_time()
    for number in range(1, round(FPS * seconds) + 1):
        if simulation.advance().statistics.asleep[-1] == len(spec.bodies) - 1:
            return {"asleep_s": number / FPS, "until_asleep_s": process_time() - taken}
    return {"asleep_s": "", "until_asleep_s": process_time() - taken}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cubes", type=int, nargs="+", default=[27, 125])
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8])
    parser.add_argument("--settle", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--no-sleep", action="store_true", help="leave out when they fall asleep")
    arguments = parser.parse_args()
    on_one_thread()
    sc.Simulation(heap_of_cubes(8), substeps=SUBSTEPS).run(20)  # compiled, or loaded, before the clock starts
    rows: list[dict[str, object]] = []
    for cubes in arguments.cubes:
        spec = heap_of_cubes(cubes)
        begin = settled(spec, arguments.settle)
        for tolerance in arguments.tolerances:
            row = {"cubes": cubes, "tolerance": tolerance, "seed": SEED, **gone_on(spec, begin, tolerance, arguments.seconds)}
            row["still_at_mm_s"] = 1e3 * AT_REST * tolerance * 9.81 / (FPS * SUBSTEPS)
            if not arguments.no_sleep:
                row |= falls_asleep(spec, tolerance, 2.0 * arguments.settle)
            rows.append(row)
            print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
    print(write_rows("drift", rows))


if __name__ == "__main__":
    main()
