# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots of results over a varied parameter, as SVG: a dot for each variation, and a line through the means."""

from __future__ import annotations

import html
import math
from collections import defaultdict
from collections.abc import Sequence

from ..process.console import one_line
from ..scene.words import figure
from .axes import Axis, Value, shown

__all__ = ["plot"]

PLOT_WIDTH, PLOT_HEIGHT = 300, 190
PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, PLOT_BOTTOM = 52, 12, 22, 34
# Largest number of labels below the axis that do not overlap.
MOST_LABELS = 6


def plot(title: str, axis: Axis, values: Sequence[Value], heights: Sequence[float | None]) -> str:
    """Return the plot of one result of the variations over their values of an axis.

    None values, from failed variations, are not drawn.
    """
    there = [height for height in heights if height is not None]
    top = max(there, default=0.0) or 1.0
    places = places_of(axis)
    low, high = min(places.values()), max(places.values())

    def x(value: Value) -> float:
        share = 0.5 if high == low else (places[value] - low) / (high - low)
        return PLOT_LEFT + 8 + (PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT - 16) * share

    def y(height: float) -> float:
        return PLOT_HEIGHT - PLOT_BOTTOM - (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM) * height / top

    heights_at = defaultdict[Value, list[float]](list)
    for value, height in zip(values, heights, strict=True):
        if height is not None:
            heights_at[value].append(height)
    parts = [text(PLOT_WIDTH / 2, 13, title, "middle", "title")]
    bottom = PLOT_HEIGHT - PLOT_BOTTOM
    parts.append(f"<path class='frame' d='M{PLOT_LEFT} {PLOT_TOP}V{bottom}H{PLOT_WIDTH - PLOT_RIGHT}'/>")
    parts += [text(PLOT_LEFT - 5, y(height) + 4, figure(height), "end") for height in (0.0, top)]
    parts += [
        f"<circle class='dot' cx='{x(value):.1f}' cy='{y(height):.1f}' r='3'/>"
        for value in heights_at
        for height in heights_at[value]
    ]
    means = [(x(value), y(sum(heights_at[value]) / len(heights_at[value]))) for value in axis.values if value in heights_at]
    if is_numeric(axis):
        means.sort()
        line = "L".join(f"{across:.1f} {up:.1f}" for across, up in means)
        parts.append(f"<path class='line' d='M{line}'/>" if means else "")
    else:
        parts += [f"<path class='line' d='M{across - 9:.1f} {up:.1f}h18'/>" for across, up in means]
    every = math.ceil(len(axis.values) / MOST_LABELS)
    parts += [text(x(value), bottom + 14, shown(value), "middle") for value in axis.values[::every]]
    parts.append(text(PLOT_WIDTH / 2, PLOT_HEIGHT - 5, axis.name, "middle"))
    label = f"{html.escape(one_line(title))} over {html.escape(one_line(axis.name))}"
    return f"<svg width='{PLOT_WIDTH}' height='{PLOT_HEIGHT}' role='img' aria-label='{label}'>{''.join(parts)}</svg>"


def is_numeric(axis: Axis) -> bool:
    return not any(isinstance(value, str) for value in axis.values)


def places_of(axis: Axis) -> dict[Value, float]:
    """Return the position of each value along the axis: numbers to scale, words equally spaced."""
    if is_numeric(axis):
        return {value: float(value) for value in axis.values}
    return {value: float(place) for place, value in enumerate(axis.values)}


def text(x: float, y: float, words: str, anchor: str, kind: str = "label") -> str:
    escaped = html.escape(one_line(words))
    return f"<text class='{kind}' x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{escaped}</text>"
