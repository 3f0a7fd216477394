# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes whose motion is known, in Stiction, in Bullet as Blender runs it, and in MuJoCo: how far each is off.

    python -m tests.bench.known_answers [--only tower] [--limit 120]

What should stand is to stay where it was after the first half second, for ten seconds of film; a box that slides down a slope
is to go as far as g (sin - mu cos) t^2 / 2. `off_mm` is how far the farthest body is from there. All have 24 frames a second
and 10 steps a frame, Bullet also 40 steps with 50 iterations. Slopes are level ground under a gravity that leans.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

import solver_core as sc
from solver_core.scene.spec import BodyKind, SceneSpec
from solver_core.scenes import plain as scenes

from .other_engines import ENGINES, bullet
from .records import on_one_thread, write_rows

FPS, G = 24, 9.81
SETTLING = FPS // 2  # frames
TANGENT = 0.5


def _slope(mu: float) -> SceneSpec:
    angle = math.atan(TANGENT)
    gravity = np.array([G * math.sin(angle), 0.0, -G * math.cos(angle)])
    return replace(scenes.sliding_box(speed=0.0, mu=mu), gravity=gravity)


def slid(mu: float, seconds: float) -> float:
    """m, by the closed form."""
    return 0.5 * G * math.cos(math.atan(TANGENT)) * max(0.0, TANGENT - mu) * seconds**2


# scene, seconds of film, and the friction of the box that slides, where one does
SCENES: dict[str, tuple[Callable[[], SceneSpec], float, float]] = {
    "card house, 40 cards": (scenes.card_house, 10.0, math.nan),
    "masonry arch, 11 blocks": (scenes.arch, 10.0, math.nan),
    "tower of 10, the top one 1,000 times heavier": (scenes.tower, 10.0, math.nan),
    "wall, 20 bricks": (scenes.wall, 10.0, math.nan),
    "box on a slope of 0.5, mu 0.51": (lambda: _slope(0.51), 5.0, math.nan),
    "the same, mu 0.49, slides": (lambda: _slope(0.49), 5.0, 0.49),
}


def stiction(spec: SceneSpec, frames: int) -> tuple[np.ndarray, int]:
    """Positions (frames + 1, bodies, 3), and how many steps missed their tolerance."""
    found = sc.Simulation(replace(spec, frame_end=frames + 1), fps=FPS, substeps=10).run(frames)
    return np.array([f.poses[:, :3] for f in found]), sum(int((f.statistics.status != 0).sum()) for f in found)


def off(positions: np.ndarray, spec: SceneSpec, seconds: float, mu: float) -> float:
    """How far the farthest body is from where it should be, mm."""
    moving = [body.kind is BodyKind.ACTIVE for body in spec.bodies]
    if not math.isnan(mu):
        return 1e3 * abs(float(positions[-1, moving, 0].max() - positions[0, moving, 0].max()) - slid(mu, seconds))
    return 1e3 * float(np.linalg.norm(positions[-1] - positions[SETTLING], axis=1)[moving].max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--limit", type=float, default=120.0)
    arguments = parser.parse_args()
    on_one_thread()
    rivals = {
        "Bullet, 10 and 10": bullet,
        "Bullet, 40 and 50": partial(bullet, substeps=40, iterations=50),
        "MuJoCo": ENGINES["mujoco"],
    }
    rows: list[dict[str, object]] = []
    for name in arguments.only:
        make, seconds, mu = SCENES[name]
        spec, frames = make(), round(FPS * seconds)
        positions, missed = stiction(spec, frames)
        rows.append({"scene": name, "by": "Stiction", "film_s": seconds, "off_mm": off(positions, spec, seconds, mu)})
        rows[-1]["missed"] = missed
        for rival, simulate in rivals.items():
            positions = simulate(replace(spec, fps=float(FPS)), frames, arguments.limit)[0]
            rows.append({"scene": name, "by": rival, "film_s": seconds, "off_mm": off(positions, spec, seconds, mu)})
        for row in rows[-1 - len(rivals) :]:
            print(f"{name:46} {row['by']:18} off by {row['off_mm']:.3g} mm", flush=True)
    print(write_rows("known_answers", rows))


if __name__ == "__main__":
    main()
