# SPDX-License-Identifier: GPL-3.0-or-later
"""Every shipped scene for ten minutes of film, as Kaufman et al. 2008 did: energy, momentum, drift, overlap, missed steps.

    python -m tests.bench.long_and_steady [--frames 14400] [--minutes 30] [--only NAME ...] [--plot docs/pictures/long.svg]

Sleep is on, as a user has it, but for the scenes whose names end in "awake". A scene is left when it has taken so many minutes
of the processor; the table says how far it came. Figures of every second of film go to build/bench/long as they come, one file
a scene, and the pictures and the table are made of all files that are there, so scenes may be run one by one.

Energy is that of the middle of the last step, to which velocities belong, with that of modes. Drift is the furthest that any
body is from where it was a minute after the beginning; bodies that swing or turn drift by what they swing.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

import solver_core as sc
from solver_core.dynamics.model.bending import Bending
from solver_core.dynamics.model.bodies import build_bodies
from solver_core.dynamics.model.frame import Frame
from solver_core.dynamics.motion.rotation import matrices
from solver_core.scene.spec import SceneSpec
from solver_core.scenes import jointed as jointed_scenes
from solver_core.scenes import machines as machine_scenes
from solver_core.scenes import plain as scenes
from solver_core.scenes import published as published_scenes
from solver_core.scenes import published_bending as bending_scenes

from .records import on_one_thread, write_rows

ROOT = Path(__file__).resolve().parents[2]

FOLDER = ROOT / "build" / "bench" / "long"
COLUMNS = ("seconds", "energy", "kinetic", "momentum", "turning", "drift", "overlap", "missed", "asleep", "processor")
FIRST_MINUTE = 60.0
SHOWN = {"energy": "energy, J", "momentum": "momentum, kg m/s", "drift": "drift, mm", "overlap": "overlap, mm"}

# what makes each scene, and its settings where they are not the defaults
SCENES: dict[str, tuple[Callable[[], SceneSpec], dict[str, object]]] = {
    "card house": (scenes.card_house, {}),
    "card house under blocks": (published_scenes.bombarded_card_house, {"tolerance": 1e-4}),
    "masonry arch": (scenes.arch, {}),
    "catenary arch": (published_scenes.catenary_arch, {}),
    "tower": (scenes.tower, {}),
    "wall": (scenes.wall, {}),
    "dominoes": (scenes.dominoes, {}),
    "slope, mu above": (scenes.slope, {}),
    "dropped cube": (scenes.dropped_cube, {}),
    "jamming rod": (scenes.jamming_rod, {}),
    "jamming tube": (published_scenes.jamming_tube, {}),
    "log house": (published_scenes.log_house, {"tolerance": 1e-4}),
    "bar on four feet": (published_scenes.bar_on_four_feet, {}),
    "rods of 1991": (published_scenes.rods_of_1991, {}),
    "breakable wall": (jointed_scenes.breakable_wall, {}),
    "drawbridge": (jointed_scenes.drawbridge, {}),
    "rope bridge": (jointed_scenes.rope_bridge, {"substeps": jointed_scenes.BRIDGE_SUBSTEPS}),
    "chain of rings": (jointed_scenes.chain_of_rings, {}),
    "hanging chain": (jointed_scenes.hanging_chain, {}),
    "Newton's cradle": (jointed_scenes.newtons_cradle, {"substeps": jointed_scenes.CRADLE_SUBSTEPS}),
    "four-ball solid": (jointed_scenes.four_ball_solid, {}),
    "chairs": (published_scenes.chairs, {}),
    "dinosaurs": (bending_scenes.dinosaurs, {"tolerance": 1e-4}),
    "bunnies on arches": (bending_scenes.bunnies_on_arches, {"tolerance": 1e-4}),
    "jamming rubber": (bending_scenes.rubber_jam, {"tolerance": 1e-4}),
    "composites": (bending_scenes.composites, {"tolerance": 1e-4}),
    "block feeder": (machine_scenes.block_feeder, {}),
    "double-action jack": (machine_scenes.double_action_jack, {}),
    "slope, mu above, awake": (scenes.slope, {"sleeping": False}),
    "tower, awake": (scenes.tower, {"sleeping": False}),
    "masonry arch, awake": (scenes.arch, {"sleeping": False}),
    "card house, awake": (scenes.card_house, {"sleeping": False}),
}


class Measure:
    """What is measured of the frames of a scene."""

    def __init__(self, spec: SceneSpec, step: float, omega: np.ndarray) -> None:
        """step: s, of the simulation. omega: (k,) rad/s, of all modes."""
        bodies, _ = build_bodies(spec)
        self._model, self._arm, self._step = bodies.model, bodies.center_of_mass, step
        self._moving, self._omega = bodies.model.dof >= 0, omega
        self._reference: np.ndarray | None = None

    def __call__(self, frame: Frame, seconds: float, modal_velocity: np.ndarray) -> dict[str, float]:
        moving, model = self._moving, self._model
        rotation = matrices(np.ascontiguousarray(frame.poses[:, 3:]))[moving]
        velocity, spin = frame.velocities[moving, :3], frame.velocities[moving, 3:]
        arm = np.einsum("nij,nj->ni", rotation, self._arm[moving])
        velocity = velocity + np.cross(spin, arm)
        place = frame.poses[moving, :3] + arm - 0.5 * self._step * velocity
        mass = model.mass[moving]
        turning = np.einsum("nij,njk,nlk,nl->ni", rotation, model.inertia[moving], rotation, spin)
        kinetic = 0.5 * float((mass * (velocity**2).sum(axis=1)).sum() + (spin * turning).sum())
        kinetic += 0.5 * float(modal_velocity @ modal_velocity)
        bent = self._omega * (frame.modal - 0.5 * self._step * modal_velocity)
        if self._reference is None and seconds >= FIRST_MINUTE:
            self._reference = frame.poses[moving, :3].copy()
        away = 0.0 if self._reference is None else np.linalg.norm(frame.poses[moving, :3] - self._reference, axis=1).max()
        momentum = (mass[:, None] * velocity).sum(axis=0)
        return {
            "energy": kinetic + 0.5 * float(bent @ bent) - float(mass @ (place @ model.gravity)),
            "kinetic": kinetic,
            "momentum": float(np.linalg.norm(momentum)),
            "turning": float(np.linalg.norm((np.cross(place, mass[:, None] * velocity) + turning).sum(axis=0))),
            "drift": 1e3 * float(away),
        }


def run(name: str, frames: int, minutes: float) -> None:
    """Run a scene and write its file."""
    make, settings = SCENES[name]
    spec = replace(make(), frame_end=frames + 1)
    bending = Bending.of_scene(spec)
    modes = dict(zip(bending.body.tolist(), bending.reduced, strict=True))
    running = sc.Simulation(spec, modes=modes, **settings)  # pyright: ignore[reportArgumentType]
    omega = np.concatenate([np.zeros(0), *(body.omega for body in bending.reduced)])
    measure = Measure(spec, spec.time_scale / (spec.fps * running.settings.substeps), omega)
    missed, overlap, begin = 0, 0.0, process_time()
    every = round(spec.fps)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for i in range(1, frames + 1):
            frame = running.advance()
            statistics = frame.statistics
            missed += int((statistics.status != sc.Status.SOLVED).sum())
            overlap = max(overlap, 1e3 * float(statistics.deepest_overlap.max()))
            if i % every:
                continue
            spent, seconds = process_time() - begin, i / spec.fps
            found = measure(frame, seconds, running.checkpoint()["modal_velocity"])
            counts = {"overlap": overlap, "missed": missed, "asleep": int(statistics.asleep[-1])}
            writer.writerow({"seconds": seconds, **found, **counts, "processor": spent})
            file.flush()
            overlap = 0.0
            if spent > 60.0 * minutes:
                break


def read(name: str) -> dict[str, np.ndarray]:
    """The columns of a scene's file, empty where there is none."""
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {column: np.array([float(row[column]) for row in rows]) for column in COLUMNS} if rows else {}


def row(name: str, found: dict[str, np.ndarray]) -> dict[str, object]:
    """The scene's row: energies are relative to that of the first minute, or second, that was simulated."""
    late = found["seconds"] >= FIRST_MINUTE
    energy = found["energy"][late] if late.any() else found["energy"]
    return {
        "scene": name,
        "film_s": found["seconds"][-1],
        "energy_j": energy[0],
        "energy_at_end_j": energy[-1] - energy[0],
        "energy_at_most_j": max(0.0, float(energy.max() - energy[0])),
        "drift_mm": found["drift"].max() if late.any() else "",
        "overlap_mm": found["overlap"].max(),
        "missed": int(found["missed"][-1]),
        "processor_s": found["processor"][-1],
    }


def summary(name: str, found: dict[str, np.ndarray]) -> str:
    """The scene's line of the table."""
    late = found["seconds"] >= FIRST_MINUTE
    energy = found["energy"][late] if late.any() else found["energy"]
    change = f"{energy[-1] - energy[0]:+.1e} of {energy[0]:.3g}"
    end = f"{found['seconds'][-1]:.0f} s"
    drift = f"{found['drift'].max():.1e}" if late.any() else ""
    return (
        f"| {name} | {end} | {change} | {found['kinetic'][-1]:.1e} | {drift} | {found['overlap'].max():.1e} "
        f"| {found['missed'][-1]:.0f} | {found['processor'][-1]:.0f} |"
    )


def panel(x: float, y: float, seconds: np.ndarray, values: np.ndarray) -> str:
    """A curve over ten minutes in a box of 150 by 40, with its least and largest value."""
    low, high = float(values.min()), float(values.max())
    points = np.unique(np.linspace(0, len(values) - 1, 150).astype(int))
    span = high - low or 1.0
    curve = " ".join(f"{x + seconds[i] / 4.0:.1f},{y + 38.0 - 36.0 * (values[i] - low) / span:.1f}" for i in points)
    return (
        f'<path d="M{x} {y}V{y + 40}H{x + 150}" fill="none" stroke="#999"/>'
        f'<polyline points="{curve}" fill="none" stroke="steelblue"/>'
        f'<text x="{x + 152}" y="{y + 8}">{high:.3g}</text><text x="{x + 152}" y="{y + 40}">{low:.3g}</text>'
    )


def plot(results: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """One row a scene, one column a figure."""
    height = 60 * len(results) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 {height}" font-family="sans-serif" font-size="10">'
        f'<rect width="1000" height="{height}" fill="white"/>'
    ]
    for column, title in enumerate(SHOWN.values()):
        parts.append(f'<text x="{150 + 212 * column}" y="16" font-weight="bold">{title}, over 600 s</text>')
    for row, (name, found) in enumerate(results.items()):
        y = 28 + 60 * row
        parts.append(f'<text x="6" y="{y + 20}">{name}</text>')
        parts.append(f'<text x="6" y="{y + 33}" fill="#666">{found["missed"][-1]:.0f} steps missed</text>')
        parts += [panel(150 + 212 * k, y, found["seconds"], found[column]) for k, column in enumerate(SHOWN)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>", ""]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=14400)
    parser.add_argument("--minutes", type=float, default=30.0, help="of the processor, that a scene may take")
    parser.add_argument("--only", nargs="*", choices=SCENES, default=list(SCENES))
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "bench" / "long.svg")
    arguments = parser.parse_args()
    for name in arguments.only:
        run(name, arguments.frames, arguments.minutes)
        print(summary(name, read(name)), flush=True)
    results = {name: found for name in SCENES if (found := read(name))}
    print(
        "\n| scene | film | energy after the first minute, J | kinetic at the end, J | drift after the first minute, mm "
        "| deepest overlap, mm | missed | processor, s |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    print("\n".join(summary(name, found) for name, found in results.items()))
    print(write_rows("long_and_steady", [row(name, found) for name, found in results.items()]))
    plot(results, arguments.plot)
    print(arguments.plot)


if __name__ == "__main__":
    on_one_thread()
    main()
