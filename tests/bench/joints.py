# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints: how far they open, what pendulums and springs are off, what a bridge bears, and random jointed problems.

    python -m tests.bench.joints [--seconds 60] [--problems 500] [--only chain ring bridge pendulum random scenes]

A chain of 100 links that swings, a ring of 20 that is closed, a bridge of 50 planks of 1 kg with a load of 1,000 kg, at 24
frames a second and 10 steps a frame without sleep; a physical pendulum let go horizontally, at 60 to 960 steps a second; and
random problems of bodies that touch and are joined by every kind of row, trees, loops and redundant ones among them, solved to
1e-8 by both methods. And as many random scenes of joined boxes, simulated for a frame: each step's answer is measured from
outside, and its last problem is solved to 1e-8 by both methods, with its friction and without, where velocities are unique.
Times are the processor's.
"""

from __future__ import annotations

import argparse
import math
import sys
from time import process_time

import numpy as np
from scipy.special import ellipk

import solver_core as sc
from solver_core.scene.joints import FREE_AXIS, LOCKED, JointSpec
from solver_core.scene.parts import box
from solver_core.scene.spec import MaterialSpec, SceneSpec

from ..core.bodies import gaps
from ..core.jointed_problems import HELD, random_joined
from ..core.jointed_runs import box_moments, energies
from ..core.random_joints import answers_seen, random_jointed_scene
from .records import on_one_thread, write_rows

G = 9.81


def moving(name: str, spec: SceneSpec, seconds: float) -> dict[str, object]:
    """How far joints of a scene open in some seconds of film."""
    simulation = sc.Simulation(spec, sleeping=False)
    frames = [simulation.first_frame(), simulation.advance()]
    begin = process_time()
    first, widest, missed, low = frames[0], 0.0, 0, 0.0
    count = round(24 * seconds)
    for _ in range(count):
        frame = simulation.advance()
        widest = max(widest, float(gaps([first, frame], spec)[:, 1].max()))
        missed += int((frame.statistics.status != sc.Status.SOLVED).sum())
        low = min(low, float(frame.poses[:, 2].min()))
    return {
        "scene": name,
        "seconds": seconds,
        "ms a step": 1e3 * (process_time() - begin) / (10 * count),
        "widest gap mm": 1e3 * widest,
        "missed": missed,
        "lowest m": low,
    }


def pendulum(rate: float) -> dict[str, object]:
    """A rod on a hinge, from the horizontal: its period, and the energy that it loses in ten seconds."""
    size = (1.0, 0.1, 0.05)
    rod = box("Rod", size, (0.5, 0.0, 0.0), MaterialSpec())
    nail = JointSpec("Nail", "", "Rod", angular=(LOCKED, FREE_AXIS, LOCKED))
    frames = sc.Simulation(SceneSpec((rod,), joints=(nail,), fps=rate, frame_end=10**6), substeps=1).run(round(10 * rate))
    turns = np.array([frame.poses[0, 3:] for frame in frames])
    angle = np.unwrap(2.0 * np.arctan2(turns[:, 2], turns[:, 0])) - 0.5 * math.pi
    at = np.flatnonzero(angle[:-1] * angle[1:] < 0.0)
    times = (at + angle[at] / (angle[at] - angle[at + 1])) / rate
    period = 4.0 * math.sqrt((box_moments(size, 1.0)[1] + 0.25) / (G * 0.5)) * ellipk(0.5)
    energy = energies(frames, 1.0, box_moments(size, 1.0))
    tenth = len(energy) // 10
    drift = abs(energy[-tenth:].mean() - energy[:tenth].mean())
    return {
        "steps a second": rate,
        "period off": abs(2.0 * np.diff(times).mean() / period - 1.0),
        "energy lost": drift / (G * 0.5),
        "widest gap mm": 1e3 * float(gaps(frames, SceneSpec((rod,), joints=(nail,))).max()),
    }


def random_problems(count: int) -> list[dict[str, object]]:
    """How many are solved, and how many that are called so are not."""
    rows = []
    for method in ("staggered", "pivot"):
        solved = false = 0
        begin, worst = process_time(), 0.0
        for seed in range(count):
            kinds = {"kinds": (HELD,)} if seed % 5 == 0 else {}
            problem = random_joined(seed, contacts=seed % 9, bodies=2 + seed % 7, triples=1 + seed % 8, **kinds)
            result = sc.solve(problem, method, tolerance=1e-8)
            if result.status == sc.Status.SOLVED:
                found = sc.residuals(problem, result)
                measured = found.coulomb if method == "staggered" else found.static_friction
                solved, worst = solved + 1, max(worst, measured)
                false += not measured <= 1e-8
        time = process_time() - begin
        rows.append(
            {
                "method": method,
                "seed": f"0 to {count - 1}",
                "problems": count,
                "solved": solved,
                "false": false,
                "worst": worst,
                "s": time,
            }
        )
    return rows


def random_scenes(count: int) -> list[dict[str, object]]:
    """Steps of random scenes: how many are called solved and are not; and how far both methods are apart in their last ones."""
    steps = solved = false = 0
    worst, begin = 0.0, process_time()
    of_method = {"staggered": 0, "pivot": 0, "staggered, no friction": 0, "pivot, no friction": 0}
    apart: dict[str, list[float]] = {"": [], ", no friction": []}
    for seed in range(count):
        seen: list[tuple[sc.ContactProblem, sc.Result]] = []
        with answers_seen(lambda problem, result, seen=seen: seen.append((problem, result))):
            sc.Simulation(random_jointed_scene(seed), sleeping=False).run(1)
        for problem, result in seen:
            steps += 1
            if result.status == sc.Status.SOLVED:
                found = sc.residuals(problem, result)
                measured = max(found.coulomb, found.consistency.relative)
                solved, worst, false = solved + 1, max(worst, measured), false + (not measured <= 1e-6)
        system = seen[-1][0].system
        for kind, mu in (("", system.mu), (", no friction", np.zeros_like(system.mu))):
            problem = sc.ContactProblem.of_system(system._replace(mu=mu))
            results = {method: sc.solve(problem, method, tolerance=1e-8) for method in ("staggered", "pivot")}
            for method, result in results.items():
                of_method[method + kind] += result.status == sc.Status.SOLVED
            if all(result.status == sc.Status.SOLVED for result in results.values()):
                between = np.abs(results["pivot"].body_velocity - results["staggered"].body_velocity).max()
                apart[kind].append(float(between / np.abs(system.velocity).max()))
    found = {f"apart{kind}, {share:g}": float(np.quantile(ones, share)) for kind, ones in apart.items() for share in (0.9, 1.0)}
    counts = {"scenes": count, "seed": f"0 to {count - 1}", "steps": steps, "solved": solved, "false": false, "worst": worst}
    return [counts | {f"to 1e-8, {name}": number for name, number in of_method.items()} | found | {"s": process_time() - begin}]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--only", nargs="+", default=["chain", "ring", "bridge", "pendulum", "random", "scenes"])
    arguments = parser.parse_args()
    scenes = {
        "chain": lambda: sc.scenes.chain(100),
        "ring": lambda: sc.scenes.ring(20),
        "bridge": lambda: sc.scenes.bridge(50, load=1000.0),
    }
    for name in arguments.only:
        if name in scenes:
            found = [moving(name, scenes[name](), arguments.seconds)]
        elif name == "pendulum":
            found = [pendulum(rate) for rate in (60.0, 240.0, 960.0)]
        elif name == "scenes":
            found = random_scenes(arguments.problems)
        else:
            found = random_problems(arguments.problems)
        for row in found:
            print(
                "  ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
            )
        write_rows(f"joints_{name}", found)
    return 0


if __name__ == "__main__":
    on_one_thread()
    sys.exit(main())
