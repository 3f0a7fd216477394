# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of the benchmark of heaps, from its rows or out of its files, as SVG.

python -m tests.bench.heaps_plot OUTPUT.svg build/bench/heaps-*.csv
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

__all__ = ["Series", "plot_times", "plotted"]

Series = Mapping[str, Sequence[tuple[float, float]]]

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 30, 50
COLOURS = ("steelblue", "firebrick", "seagreen", "darkorange", "purple", "sienna", "teal", "crimson")


def _scale(values: Sequence[float], begin: float, end: float) -> tuple[Callable[[float], float], list[float]]:
    """What places a value on a logarithmic axis, and the powers of ten on it."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    return lambda v: begin + (end - begin) * (math.log10(v) - low) / (high - low), [10.0**p for p in range(low, high + 1)]


def plotted(series: Series, x_title: str, y_title: str, path: Path) -> Path:
    """Write curves, by their names, on two logarithmic axes; what is not positive is left out."""
    series = {name: sorted(p for p in points if p[0] > 0.0 and p[1] > 0.0) for name, points in series.items()}
    points = [p for curve in series.values() for p in curve]
    if not points:
        raise ValueError(f"there is nothing to draw in {path}: no run has a time")
    x_at, x_ticks = _scale([x for x, _ in points], LEFT, WIDTH - RIGHT)
    y_at, y_ticks = _scale([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    ]
    for x in x_ticks:
        parts.append(f'<path d="M{x_at(x):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{x_at(x):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{x:g}</text>')
    for y in y_ticks:
        parts.append(f'<path d="M{LEFT} {y_at(y):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y_at(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{x_title}</text>')
    parts.append(f'<text x="12" y="{TOP - 12}">{y_title}</text>')
    for i, (name, curve) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        line = " ".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts += [f'<circle cx="{x_at(x):.1f}" cy="{y_at(y):.1f}" r="3" fill="{colour}"/>' for x, y in curve]
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{TOP + 10 + 16 * i}" fill="{colour}">{name}</text>')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>", ""]))
    return path


def plot_times(rows: Sequence[Mapping[str, object]], path: Path) -> Path:
    """Processor time of a second of film over the number of bodies, a curve for each scene, engine and tolerance."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        seconds, share, film = (float(str(row[name])) for name in ("processor_s", "share", "film_s"))
        tolerance = float(str(row["moving_tolerance"]))
        name = f"{row['scene']}, {row['engine']}" + ("" if math.isnan(tolerance) else f", in motion {tolerance:.0e}")
        if share > 0.0:
            series.setdefault(name, []).append((float(str(row["bodies"])), seconds / (share * film)))
    return plotted(series, "bodies", "processor time of a second of film, s", path)


def main() -> None:
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    rows: list[dict[str, str]] = []
    for name in sys.argv[2:]:
        with Path(name).open(newline="") as file:
            rows += csv.DictReader(file)
    print(plot_times(rows, Path(sys.argv[1])))


if __name__ == "__main__":
    main()
