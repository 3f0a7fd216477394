# SPDX-License-Identifier: GPL-3.0-or-later
"""A report as an HTML page: the scene, whether the bake reached the requested accuracy, and plots over the frames as SVG.

The page is self-contained: it loads nothing and runs nothing. Names of objects are escaped, whatever they contain.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..dynamics.model.violations import Violation
from ..process.console import one_line
from ..scene.words import distance, figure
from ..validation.findings import first_few
from .report import RESIDUALS
from .violations import NAMES_OF_VIOLATIONS, kind_of

__all__ = ["page"]

WIDTH, HEIGHT = 860, 150
MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 70, 10, 8, 22
BOX_WIDTH, BOX_HEIGHT = WIDTH - MARGIN_LEFT - MARGIN_RIGHT, HEIGHT - MARGIN_TOP - MARGIN_BOTTOM
MOST_ROWS = 100
# Smaller values are drawn as this one; they are below the round-off of double precision.
SMALLEST = 1e-17

STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; max-width: 900px; margin: 2em auto; padding: 0 1em; color: #222 }
h1 { font-size: 22px } h2 { font-size: 16px; margin: 1.6em 0 .4em }
.verdict { padding: .7em 1em; border-left: 6px solid; background: #f4f4f4 }
.good { border-color: #0072b2 } .bad { border-color: #d55e00 }
table { border-collapse: collapse } td, th { padding: 2px 14px 2px 0; text-align: left; vertical-align: top }
th { font-weight: 600 }
svg { display: block } svg text { font: 11px system-ui, sans-serif; fill: #555 }
.frame { stroke: #ccc; fill: none } .line { stroke: #0072b2; fill: none; stroke-width: 1.3 }
.limit { stroke: #d55e00; stroke-dasharray: 5 4 } .broken { fill: #d55e00 }
"""


class Plot(NamedTuple):
    """A plot with one value per frame; None is a number that is not finite. limit: an upper bound, drawn as a line."""

    title: str
    unit: str
    frames: Sequence[int]
    values: Sequence[float | None]
    logarithmic: bool
    limit: float | None = None


def escape(text: str) -> str:
    """Return text escaped for HTML, with invisible characters made visible."""
    return html.escape(one_line(text))


def page(report: dict[str, Any]) -> bytes:
    """Return the page of a report."""
    frames, totals, settings = report["frames"], report["totals"], report["settings"]
    numbers = [row["frame"] for row in frames]
    stepped = [row for row in frames if row["steps"]]
    frame_numbers = [row["frame"] for row in stepped]
    tolerance = settings["tolerance"]
    worst = [None if any(row[name] is None for name in RESIDUALS) else max(row[name] for name in RESIDUALS) for row in stepped]
    depths = [None if row["deepest_overlap"] is None else 1e3 * row["deepest_overlap"] for row in stepped]
    plots = [
        Plot("Largest relative residual", "", frame_numbers, worst, True, tolerance),
        Plot("Iterations", "", frame_numbers, [row["iterations"] for row in stepped], False),
        Plot("Contacts", "", frame_numbers, [row["contacts"] for row in stepped], False),
        Plot("Deepest overlap", "mm", frame_numbers, depths, False),
        Plot("Time", "s", frame_numbers, [row["seconds"] for row in stepped], False),
    ]
    title = f"Frames {numbers[0]} to {numbers[-1]}" if numbers else "No frames"
    parts = [
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Stiction: {title}</title>",
        # A page that is opened from a disk must not do more than display itself.
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<style>{STYLE}</style></head><body>",
        f"<h1>Accuracy of a bake: {title}</h1>",
        verdict(totals, settings),
        "<h2>What was baked</h2>",
        pairs(scene_lines(report)),
        "<h2>How it went</h2>",
        pairs([*total_lines(totals), *joint_lines(report["joints"]), *bending_lines(report["flexible"])]),
        *(f"<h2>{escape(plot.title)}{f' ({plot.unit})' if plot.unit else ''}</h2>{svg(plot)}" for plot in plots),
        missed(report["missed"]),
        violations(report["violations"]),
        warnings(report["warnings"]),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part).encode()


def verdict(totals: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the sentence on top of the page: whether all steps are within their tolerances."""
    tolerance, most_moving = settings["tolerance"], totals["most_moving"]
    in_motion = max(tolerance, settings["moving_tolerance"])
    moving = ""
    if most_moving:
        scale = "of their fastest motion, or of ten times the speed that gravity gives in a step if that is larger"
        moving = f", large moving islands of up to {most_moving} bodies within {in_motion:.3g} {scale}"
    if totals["missed_steps"]:
        steps = f"{totals['missed_steps']} of {totals['steps']} time steps"
        text = f"{steps} did not converge to the tolerance of {tolerance:.3g}{moving}"
        return f"<p class='verdict bad'>{text}.</p>"
    against = ", ".join(
        f"{NAMES_OF_VIOLATIONS[which]} {totals['violations'][kind_of(which)]}" for which in kinds(totals["violations"])
    )
    if against:
        text = f"All {totals['steps']} time steps are within the tolerance of {tolerance:.3g}{moving}"
        return f"<p class='verdict bad'>{text}, but the contact law does not explain all motion: {against}.</p>"
    text = f"All {totals['steps']} time steps are within the tolerance of {tolerance:.3g}{moving}"
    return f"<p class='verdict good'>{text}: contact, Coulomb's law and maximal dissipation, measured after each step.</p>"


def scene_lines(report: dict[str, Any]) -> Iterable[tuple[str, str]]:
    scene, settings = report["scene"], report["settings"]
    yield "Bodies", ", ".join(f"{number} {kind}" for kind, number in scene["bodies"].items() if number)
    yield (
        "Frames",
        f"{scene['frame_start']} to {scene['frame_end']} at {scene['fps']:.6g} a second, {scene['substeps']} steps each",
    )
    for part in report["earlier"]:
        yield f"Up to frame {part['last_frame']}", f"another bake, {part['digest'][:8]}, with {', '.join(part['differences'])}"
    yield "Solver", ", ".join(f"{name.replace('_', ' ')} {plain(value)}" for name, value in settings.items())
    yield "Friction of two bodies", f"{scene['friction_combine'].replace('_', ' ')}, {len(scene['pairs'])} pairs of materials"
    if "digest" in report:
        yield "Digest of scene and settings", report["digest"]
    yield "Hash of the result", report["result"]


def total_lines(totals: dict[str, Any]) -> Iterable[tuple[str, str]]:
    yield "Frames, time steps", f"{totals['frames']}, {totals['steps']}"
    yield "Most contacts in a step", str(totals["most_contacts"])
    for name in RESIDUALS:
        yield f"Largest {name.replace('_', ' ')}", number(totals[name])
    for which in kinds(totals["violations"]):
        yield f"Against the contact law: {NAMES_OF_VIOLATIONS[which]}", str(totals["violations"][kind_of(which)])
    if totals["deepest_frame"] is not None:
        where = f"{' and '.join(totals['deepest_pair'])}, frame {totals['deepest_frame']}"
        depth = "not finite" if totals["deepest_overlap"] is None else distance(totals["deepest_overlap"])
        yield "Deepest overlap", f"{depth}: {where}"
    if totals["chosen_frame"] is not None:
        where = f"most between {' and '.join(totals['chosen_pair'])}, frame {totals['chosen_frame']}"
        yield "Most contacts in a step whose normal is a choice", f"{totals['chosen_normals']}: {where}"
    if totals["spinning_frame"] is not None:
        where = f"{totals['spinning_body']}, frame {totals['spinning_frame']}"
        yield "Farthest turn in a step", f"{'not finite' if totals['spin'] is None else figure(totals['spin'])} rad: {where}"
    yield "Iterations", str(totals["iterations"])
    yield "Time of all steps", "not finite" if totals["seconds"] is None else f"{totals['seconds']:.1f} s"


def joint_lines(joints: Sequence[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    """Yield lines about joints whose reactions are not unique."""
    shared = [entry["joint"] for entry in joints if not entry["unique"]]
    if shared:
        yield "Joints whose reactions are not unique", f"{len(shared)} of {len(joints)}: {first_few(shared)}"


def bending_lines(flexible: Sequence[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    """Yield lines about flexible bodies: their frequencies and the largest deflection."""
    alike: dict[str, list[str]] = {}
    for entry in flexible:
        alike.setdefault(f"{entry['words']}, {entry['bricks']} bricks", []).append(entry["body"])
    for words, names in alike.items():
        yield "Flexible", f"{first_few(names)}: {words}"
    entry = max(flexible, key=lambda entry: entry["largest_bend"], default=None)
    if entry is not None and entry["frame"] is not None:
        yield "Largest bend", f"{distance(entry['largest_bend'])}: {entry['body']}, frame {entry['frame']}"
    entry = max(flexible, key=lambda entry: entry.get("largest_stress", 0.0), default=None)
    if entry is not None and entry.get("stress_frame") is not None:
        stress = figure(1e-6 * entry["largest_stress"], 2)
        yield "Largest stress", f"{stress} MPa: {entry['body']}, frame {entry['stress_frame']}"


def missed(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table of unconverged steps; empty if there are none."""
    if not rows:
        return ""
    head = "<tr><th>Frame</th><th>Step</th><th>Ended as</th><th>Worst</th><th>Between</th></tr>"
    body = []
    for row in rows[:MOST_ROWS]:
        above = ", ".join(f"{name.replace('_', ' ')} {number(row[name])}" for name in row["above_tolerance"])
        cells = (row["frame"], row["substep"], row["status"].replace("_", " "), above, " and ".join(row["bodies"]))
        body.append(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>")
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<h2>Unconverged steps</h2><table>{head}{''.join(body)}</table>{more}"


def kinds(counts: dict[str, int]) -> list[Violation]:
    """Return the kinds of violations that occur."""
    return [which for which in Violation if counts[kind_of(which)]]


def violations(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table of the violations of the contact law; empty if there are none."""
    if not rows:
        return ""
    head = "<tr><th>Frame</th><th>Step</th><th>What</th><th>How many</th><th>Between</th></tr>"
    body = []
    for row in rows[:MOST_ROWS]:
        name = NAMES_OF_VIOLATIONS[Violation[row["kind"].upper()]]
        cells = (row["frame"], row["substep"], name, row["count"], " and ".join(row["bodies"]))
        body.append(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>")
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<h2>Motion that the contact law does not explain</h2><table>{head}{''.join(body)}</table>{more}"


def warnings(rows: Sequence[dict[str, Any]]) -> str:
    """Return a list of the warnings; empty if there are none."""
    items = "".join(f"<li>{escape(row['message'])}</li>" for row in rows[:MOST_ROWS])
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<h2>Warnings</h2><ul>{items}</ul>{more}" if items else ""


def pairs(lines: Iterable[tuple[str, str]]) -> str:
    return f"<table>{''.join(f'<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in lines)}</table>"


def plain(value: Any) -> str:
    """Return a setting as text. Values that Blender stores in single precision are rounded accordingly."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def number(value: float | None) -> str:
    return "not finite" if value is None else figure(value)


def svg(plot: Plot) -> str:
    """Return a plot of values over frames. Values that are not finite are marked at the top."""
    low, high = extent([value for value in plot.values if value is not None], plot)
    first, last = (plot.frames[0], plot.frames[-1]) if plot.frames else (0, 1)

    def x(frame: float) -> str:
        return f"{MARGIN_LEFT + BOX_WIDTH * (frame - first) / max(1, last - first):.1f}"

    def y(value: float) -> float:
        """Return the height of a value on the axis."""
        return MARGIN_TOP + BOX_HEIGHT * (high - value) / (high - low)

    parts = [f"<rect class='frame' x='{MARGIN_LEFT}' y='{MARGIN_TOP}' width='{BOX_WIDTH}' height='{BOX_HEIGHT}'/>"]
    if plot.limit is not None:
        level = y(scaled(plot.limit, plot.logarithmic))
        parts.append(f"<line class='limit' x1='{MARGIN_LEFT}' x2='{WIDTH - MARGIN_RIGHT}' y1='{level:.1f}' y2='{level:.1f}'/>")
        parts.append(text_at(str(WIDTH - MARGIN_RIGHT), level - 4, f"tolerance {plot.limit:.3g}", "end"))
    path, pen = [], "M"
    for frame, value in zip(plot.frames, plot.values, strict=True):
        if value is None:
            parts.append(f"<circle class='broken' cx='{x(frame)}' cy='{MARGIN_TOP}' r='3'/>")
            pen = "M"
            continue
        path.append(f"{pen}{x(frame)} {y(scaled(value, plot.logarithmic)):.1f}")
        pen = "L"
    parts.append(f"<path class='line' d='{' '.join(path)}'/>" if path else "")
    for at in (low, high):
        parts.append(text_at(str(MARGIN_LEFT - 6), y(at) + 4, figure(10.0**at if plot.logarithmic else at), "end"))
    parts += [text_at(x(first), HEIGHT - 6, str(first), "middle"), text_at(x(last), HEIGHT - 6, str(last), "end")]
    label = f"role='img' aria-label='{escape(plot.title)} over the frames'"
    return f"<svg width='{WIDTH}' height='{HEIGHT}' {label}>{''.join(parts)}</svg>"


def extent(finite: Sequence[float], plot: Plot) -> tuple[float, float]:
    """Return the lowest and the highest value of the axis, in decades if it is logarithmic."""
    shown = [*finite, *([] if plot.limit is None else [plot.limit])]
    if plot.logarithmic:
        decades = [scaled(value, True) for value in shown] or [0.0]
        low, high = math.floor(min(decades)), math.ceil(max(decades))
        return low, high if high > low else low + 1
    high = max(shown, default=0.0)
    return 0.0, high if high > 0.0 else 1.0


def scaled(value: float, logarithmic: bool) -> float:
    return math.log10(max(value, SMALLEST)) if logarithmic else value


def text_at(x: str, y: float, text: str, anchor: str) -> str:
    return f"<text x='{x}' y='{y:.1f}' text-anchor='{anchor}'>{escape(text)}</text>"
