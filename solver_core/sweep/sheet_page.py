# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a sweep: plots over the varied parameters, and each variation with its picture and its figures.

The page is self-contained, as that of a report: it loads nothing and runs nothing.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

import numpy as np

from ..process.console import one_line
from ..scene.spec import SceneSpec
from ..scene.words import distance, figure
from ..validation.findings import first_few
from .axes import shown
from .drawing import picture, solids_of, view_of
from .folder import BAKES, POSES_TABLE, SHEET_TABLE
from .outcome import Figures, Motion, State
from .plots import plot
from .results import Results

__all__ = ["page"]

# Largest number of poses listed for a variation; the table has those of more bodies.
MOST_POSES = 40

SHEET_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; color: #222 }
h1 { font-size: 22px } h2 { font-size: 16px; margin: 1.6em 0 .4em }
.verdict { padding: .7em 1em; border-left: 6px solid; background: #f4f4f4 }
.good { border-color: #0072b2 } .bad { border-color: #d55e00 }
.plots { display: flex; flex-wrap: wrap; gap: 8px 16px }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(262px, 1fr)); gap: 12px }
.card { border: 1px solid #ddd; padding: 8px; break-inside: avoid } .card b { display: block; overflow-wrap: anywhere }
.card p { margin: .2em 0; overflow-wrap: anywhere } .failed { background: #fdf1ea }
.stands { color: #0072b2 } .fell { color: #b34e00 }
.picture { display: block; max-width: 100%; background: #fbfbfb; margin: 4px 0 }
.poses { display: block; overflow-x: auto; font-size: 11px }
td, th { padding: 0 8px 0 0; text-align: left; white-space: nowrap }
svg text { font: 11px system-ui, sans-serif; fill: #555 } svg .title { font-weight: 600; fill: #222 }
.frame { stroke: #bbb; fill: none } .line { stroke: #0072b2; fill: none; stroke-width: 1.5 }
.dot { fill: #0072b2; fill-opacity: .35 }
"""


def escape(words: str) -> str:
    """Escape text for HTML."""
    return html.escape(one_line(words))


def page(results: Results) -> bytes:
    """Return the page of a sweep."""
    title = f"Sweep over {', '.join(axis.name for axis in results.axes)}"
    parts = [
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Stiction: {escape(title)}</title>",
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<style>{SHEET_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        verdict(results),
        f"<p>A body stands if it is {escape(str(results.bound))}. In the pictures of the last frame standing bodies are "
        "<span class='stands'>blue</span>, fallen ones <span class='fell'>orange</span>. The figures are in "
        f"{SHEET_TABLE}, the last pose of every body in {POSES_TABLE}, the bakes in the folder {BAKES}.</p>",
        *plots(results),
        "<h2>Variations</h2>",
        f"<div class='cards'>{''.join(cards(results))}</div>",
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part).encode()


def verdict(results: Results) -> str:
    bad, missed, number = results.count(State.FAILED), results.count(State.MISSED), len(results.outcomes)
    if not bad and not missed:
        return f"<p class='verdict good'>All {number} variations are baked, every step within its tolerance.</p>"
    texts = [f"{number - bad} of {number} variations are baked"]
    texts += [f"{missed} have unconverged steps"] if missed else []
    texts += [f"{bad} failed, and the same command tries them again"] if bad else []
    return f"<p class='verdict bad'>{'; '.join(texts)}.</p>"


def plots(results: Results) -> Iterable[str]:
    """Return plots of the results over each axis with more than one value."""
    axes, variations, motions = results.axes, results.variations, results.motions
    ends = [outcome.figures for outcome in results.outcomes]
    fallen = [None if motion is None else float(np.count_nonzero(~motion.stands)) for motion in motions]
    depths = [None if end is None or not np.isfinite(end.overlap) else 1e3 * end.overlap for end in ends]
    seconds = [None if end is None else end.seconds for end in ends]
    shown_ones = [("Bodies that fell", fallen), ("Deepest overlap, mm", depths), ("Time of all steps, s", seconds)]
    for place, axis in enumerate(axes):
        if len(axis.values) > 1:
            values = [variation.values[place] for variation in variations]
            drawn = "".join(plot(title, axis, values, heights) for title, heights in shown_ones)
            yield f"<h2>Over {escape(axis.name)}</h2><div class='plots'>{drawn}</div>"


def cards(results: Results) -> Iterable[str]:
    """Return a box for each variation."""
    spec, outcomes = results.spec, results.outcomes
    ends = [outcome.figures for outcome in outcomes if outcome.figures is not None]
    solids = solids_of(spec)
    view = view_of(spec, solids, [poses for end in ends for poses in (end.first, end.last)]) if ends else None
    for number, (variation, outcome, motion) in enumerate(zip(results.variations, outcomes, results.motions, strict=True)):
        values = ", ".join(f"{axis.name} {shown(value)}" for axis, value in zip(variation.axes, variation.values, strict=True))
        head = f"<b>{number + 1}. {escape(values)}</b>"
        if outcome.figures is None or motion is None or view is None:
            yield f"<div class='card failed'>{head}<p>failed: {escape(outcome.said)}</p></div>"
            continue
        stands = np.zeros(len(spec.bodies), dtype=bool)
        stands[motion.body] = motion.stands
        drawn = picture(spec, solids, view, outcome.figures.last, stands.tolist())
        lines = "".join(f"<p>{line}</p>" for line in figure_lines(spec, outcome.figures, motion))
        yield f"<div class='card'>{head}{drawn}{lines}{poses_of(spec, outcome.figures, motion)}</div>"


def figure_lines(spec: SceneSpec, end: Figures, motion: Motion) -> Iterable[str]:
    fallen = [spec.bodies[body].name for body in motion.body[~motion.stands]]
    standing = len(motion.stands) - len(fallen)
    if not fallen:
        yield f"<span class='stands'>all {standing} stand</span>"
    else:
        yield f"{standing} stand, <span class='fell'>{len(fallen)} fell</span>: {escape(first_few(fallen))}"
    if end.pair:
        depth = distance(end.overlap) if np.isfinite(end.overlap) else "not finite"
        yield f"deepest overlap {depth}: {escape(' and '.join(end.pair))}, frame {end.frame}"
    missed = (
        f"{end.missed_steps} step{'s' if end.missed_steps > 1 else ''} did not converge"
        if end.missed_steps
        else "every step converged"
    )
    yield f"{missed}, {figure(end.seconds)} s"


def poses_of(spec: SceneSpec, end: Figures, motion: Motion) -> str:
    if len(motion.body) > MOST_POSES:
        return ""
    rows = []
    for place, body in enumerate(motion.body):
        x, y, z = end.last[body, :3]
        far = f"{distance(float(motion.moved[place]))}, {figure(float(np.degrees(motion.turned[place])))} degrees"
        rows.append(f"<tr><td>{escape(spec.bodies[body].name)}</td><td>{x:.4f}, {y:.4f}, {z:.4f}</td><td>{far}</td></tr>")
    head = "<tr><th>body</th><th>last place, m</th><th>moved, turned</th></tr>"
    return f"<details><summary>last poses</summary><div class='poses'><table>{head}{''.join(rows)}</table></div></details>"
