# SPDX-License-Identifier: GPL-3.0-or-later
"""What sleeping islands cost: stacks at rest beside a ball that rolls.

    python -m tests.bench.sleeping [--stacks 1000]

Stacks of five cubes stand on the ground, a ball rolls along them. Two seconds of film are simulated at 24 frames a second and
10 steps a frame, with sleep and without; compared are the steps of the last half second. Times are the processor's, on one
thread. A step with sleep that costs more than a thirtieth of one without is said to miss its goal. The status is 1 when
something did not sleep that should have, or moved more than a micrometre against where it is without sleep.
"""

from __future__ import annotations

import argparse
import sys
from time import process_time
from typing import Any

import numpy as np

from solver_core.dynamics.simulation import Simulation
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from .records import on_one_thread, write_rows

FPS, SECONDS, MEASURED = 24, 2, 12
HEIGHT, GOAL, SAME = 5, 1.0 / 30.0, 1e-6
ROUGH = MaterialSpec(0.8, 0.8)


def scene(stacks: int) -> SceneSpec:
    side = int(np.ceil(np.sqrt(stacks)))
    cubes = [
        box(f"Cube {stack} {level}", (0.2, 0.2, 0.2), (stack % side, stack // side, 0.1 + 0.2 * level), ROUGH)
        for stack in range(stacks)
        for level in range(HEIGHT)
    ]
    shape = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.1)
    start = {"position": np.array([0.0, -0.5, 0.1]), "velocity": np.array([1.0, 0.0, 0.0])}
    return SceneSpec((ground(ROUGH), BodySpec("Ball", BodyKind.ACTIVE, shape, mass=1.0, material=ROUGH, **start), *cubes))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stacks", type=int, default=1000, help="of five cubes")
    stacks = parser.parse_args().stacks
    on_one_thread()
    spec = scene(stacks)
    for sleeping in (True, False):  # compiled, or loaded, before the clock starts
        Simulation(scene(2), sleeping=sleeping).run(1)
    rows: list[dict[str, Any]] = []
    poses = []
    for sleeping in (True, False):
        simulation = Simulation(spec, sleeping=sleeping)
        for _ in range(FPS * SECONDS - MEASURED):
            simulation.advance()
        begin = process_time()
        frames = [simulation.advance() for _ in range(MEASURED)]
        spent = (process_time() - begin) / (MEASURED * simulation.settings.substeps)
        poses.append(np.array([frame.poses for frame in frames]))
        asleep = int(min(frame.statistics.asleep.min() for frame in frames))
        contacts = int(frames[-1].statistics.contacts[-1])
        rows.append({"sleeping": sleeping, "bodies": len(spec.bodies), "asleep": asleep, "contacts": contacts, "step": spent})
        print(
            f"{'with' if sleeping else 'without'} sleep: {asleep} asleep, {contacts} contacts, {1e3 * spent:.2f} ms a step",
            flush=True,
        )
    apart = float(np.abs(poses[0] - poses[1]).max())
    share = rows[0]["step"] / rows[1]["step"]
    print(f"a step with sleep costs {100.0 * share:.2f} %; poses differ by {apart:.2g} m")
    print(f"raw figures in {write_rows('sleeping', rows)}")
    if rows[0]["asleep"] != stacks * HEIGHT or not apart <= SAME:
        print("FAULT  not all stacks slept, or they are not where they are without sleep")
        return 1
    if share > GOAL:
        print(f"MISSED: {share:.3f} of a step without sleep, wanted {GOAL:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
