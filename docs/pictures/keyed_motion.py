# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts of what keyframes do in the middle of a shot: slow motion, a body that returns to its keyframes, a late constraint.

    .venv/bin/python docs/pictures/keyed_motion.py

Each curve is a run of the solver with its default settings, drawn frame by frame as SVG beside this file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import solver_core as sc  # noqa: E402
from solver_core.scene.joints import LOCKED, JointChange, JointSpec  # noqa: E402
from solver_core.scene.parts import ground, pair_material, sphere_shape  # noqa: E402
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec  # noqa: E402

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 50, 150, 30, 40
COLORS = ("steelblue", "firebrick", "seagreen")
LOW = 3.0  # m, of charts with a line every half meter
FRAMES = 61
RADIUS = 0.1  # m
SLOW = (13, 37)  # frames of the timeline, from the first to before the last of which time is slow or stands still
CAUGHT = 25  # the frame at which keyframes take over, or the constraint is enabled
BLEND = 16  # frames
DEFAULT_RECOVERY = sc.SolverSettings().recovery_speed
RECOVERY = 50.0  # lengths of the joint a second, with which the late constraint pulls back

Curve = Sequence[tuple[float, float]]


def ball(**more: object) -> BodySpec:
    """A ball of 1 kg that bounces, 2 m above the ground."""
    body = BodySpec("Ball", BodyKind.ACTIVE, sphere_shape(RADIUS), np.array([0.0, 0.0, 2.0]), mass=1.0)
    return replace(body, material=replace(pair_material(0.5), restitution=0.9), **more)


def followed(spec: SceneSpec, recovery_speed: float = DEFAULT_RECOVERY) -> Curve:
    """The height of the last body in m, at each frame of the timeline, which begins at 1."""
    frames = [frame.poses[-1, 2] for frame in sc.Simulation(spec, recovery_speed=recovery_speed).frames(FRAMES - 1)]
    return [(1.0 + k, float(value)) for k, value in enumerate(frames)]


def slow_motion() -> Mapping[str, Curve]:
    """The height of a ball that bounces, for three courses of Speed."""
    floor = replace(ground(pair_material(0.5)), material=replace(pair_material(0.5), restitution=1.0))
    curves = {}
    for name, speed in (("Speed 1", 1.0), ("keyed to 0.2", 0.2), ("keyed to 0", 0.0)):
        path = np.ones(FRAMES)
        path[SLOW[0] - 1 : SLOW[1] - 1] = speed
        curves[name] = followed(SceneSpec((floor, ball()), frame_end=FRAMES, speed_path=path))
    return curves


def physics_then_keyframes() -> Mapping[str, Curve]:
    """The height of a ball that is let go, and follows its keyframes again, which rise evenly."""
    path = np.zeros((FRAMES, 7))
    path[:, 2], path[:, 3] = 2.0 + 0.02 * np.arange(FRAMES), 1.0
    curves: dict[str, Curve] = {"keyframes": [(1.0 + k, float(z)) for k, z in enumerate(path[:, 2])]}
    spans = ((0, 1), (CAUGHT - 1, FRAMES - 1))
    for name, blend in ((f"Blend {BLEND}", BLEND), ("Blend 0", 0)):
        teleports = None if blend else (CAUGHT - 1,)
        body = ball(path=path, spans=spans, blend_frames=blend, teleports=teleports)
        curves[name] = followed(SceneSpec((body,), frame_end=FRAMES))
    return curves


def late_constraint() -> Mapping[str, Curve]:
    """The height of a ball that falls until a constraint to the world is enabled, for both choices of Hold Bodies."""
    curves = {}
    for name, holds in (("Where Set Up", False), ("Where Enabled", True)):
        fixed = (LOCKED, LOCKED, LOCKED)
        changes = (JointChange(CAUGHT - 1, fixed, fixed, enabled=True),)
        place = np.array([0.0, 0.0, 2.0])
        hold = JointSpec("Hold", "", "Ball", place, enabled=False, changes=changes, holds_where_enabled=holds)
        spec = SceneSpec((ball(),), frame_end=FRAMES, joints=(hold,))
        curves[name] = followed(spec, recovery_speed=RECOVERY)
    return curves


def draw(curves: Mapping[str, Curve], y_title: str, path: Path, marks: Sequence[int]) -> None:
    """Write curves over the frames as SVG, with upright lines at marked frames."""
    values = [y for curve in curves.values() for _, y in curve]
    low, high = min(0.0, *values), max(values)
    low, high = low - 0.03 * (high - low), high + 0.03 * (high - low)

    def at(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - RIGHT) * (x - 1.0) / (FRAMES - 1.0)
        return across, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    ]
    for frame in range(1, FRAMES + 1, 12):
        x, _ = at(frame, low)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#eee"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{frame}</text>')
    step = 0.5 if high - low < LOW else 1.0
    for y in np.arange(np.ceil(low / step), np.floor(high / step) + 1.0) * step:
        _, down = at(1.0, float(y))
        parts.append(f'<path d="M{LEFT} {down:.1f}H{WIDTH - RIGHT}" stroke="#eee"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{down + 4:.1f}" text-anchor="end">{y + 0.0:.1f}</text>')
    for frame in marks:
        x, _ = at(frame, low)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#888" stroke-dasharray="4 3"/>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">frame</text>')
    parts.append(f'<text x="8" y="{TOP - 12}">{y_title}</text>')
    for i, (name, curve) in enumerate(curves.items()):
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in curve))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLORS[i]}" stroke-width="1.8"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 10}" y="{TOP + 12 + 18 * i}" fill="{COLORS[i]}">{name}</text>')
    path.write_text("\n".join([*parts, "</svg>", ""]))


def main() -> None:
    """Make the three charts."""
    folder = Path(__file__).parent
    draw(slow_motion(), "height, m", folder / "slow_motion.svg", SLOW)
    draw(physics_then_keyframes(), "height, m", folder / "physics_then_keyframes.svg", (CAUGHT,))
    draw(late_constraint(), "height, m", folder / "hold_bodies.svg", (CAUGHT,))


if __name__ == "__main__":
    main()
