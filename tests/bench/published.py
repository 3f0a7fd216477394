# SPDX-License-Identifier: GPL-3.0-or-later
"""Algorithm 1 as published, with its own stopping rule, in the sizes of Kaufman et al. 2008: iterations a step, cold and warm.

    python -m tests.bench.published [--steps 100]

The paper's house of cards has 342 degrees of freedom and its arch 162 (section 8.2, tables 1 and 2); both are stopped by (28)
at 1e-4. Contacts differ: the paper's collision detection finds more of them. Beside the iterations stands what the rule leaves
of Coulomb's law.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

import solver_core as sc

from .records import on_one_thread, write_rows

# scene, h in s, iterations in the paper: (warm, cold)
SCENES = {
    "card house of 6 levels": (sc.scenes.card_house(levels=6), 1e-3, (3.2, 57.1)),
    "arch of 27 blocks": (sc.scenes.arch(blocks=27), 1e-2, (5.6, 133.7)),
}


def run(spec: sc.SceneSpec, h: float, steps: int, warm: bool, sides: int) -> dict[str, float]:
    """Means over the steps of a standing scene."""
    simulation = sc.Simulation(
        spec,
        fps=1.0 / h,
        substeps=1,
        tolerance=1e-4,
        max_iterations=2000,
        staggering="published",
        polygon_sides=sides,
        warm_start=warm,
        sleeping=False,
    )
    begin = process_time()
    frames = simulation.run(steps)[1:]
    statistics = [frame.statistics for frame in frames]
    moved = np.abs(frames[-1].poses[:, :3] - frames[0].poses[:, :3]).max()
    return {
        "iterations": float(np.mean([s.iterations[0] for s in statistics])),
        "contacts": float(np.mean([s.contacts[0] for s in statistics])),
        "dissipation": float(np.median([s.dissipation[0] for s in statistics])),
        "moved_mm": 1e3 * float(moved),
        "ms": 1e3 * (process_time() - begin) / steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    on_one_thread()
    rows: list[dict[str, object]] = []
    for name, (spec, h, paper) in SCENES.items():
        degrees = 6 * (len(spec.bodies) - 1)
        for warm, theirs in zip((True, False), paper, strict=True):
            for sides in (0, 8):
                run(spec, h, 1, warm, sides)  # compiled, or loaded, before the clock starts
                row = run(spec, h, arguments.steps, warm, sides)
                start, cone = "warm" if warm else "cold", "disk" if sides == 0 else f"K = {sides}"
                rows.append({"scene": name, "degrees": degrees, "start": start, "cone": cone, "paper": theirs, **row})
                print(
                    f"{name}, {degrees} degrees of freedom, {row['contacts']:.0f} contacts, {start}, {cone}: "
                    f"{row['iterations']:.2f} iterations a step (paper {theirs}), dissipation {row['dissipation']:.0e}, "
                    f"moved {row['moved_mm']:.2f} mm, {row['ms']:.1f} ms a step",
                    flush=True,
                )
    print(write_rows("published", rows))


if __name__ == "__main__":
    main()
