# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes in which contacts and joints of moving bodies went wrong at commit a8e3c05, by every method.

    python -m tests.bench.moving_contacts              every row by every method
    python -m tests.bench.moving_contacts dice pivot   rows and methods with one of these words in their name

A line and a row of build/bench/moving_contacts-DATE.csv for each run. The values before are those that a8e3c05 gave for every
method, and Bullet's are those of Blender's rigid bodies, with 10 substeps and 10 iterations, as they were reported then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import process_time

import solver_core as sc

from ..core.breaking_scenes import framed_building
from .everyday.catalog import SUBJECTS, find
from .everyday.experiment import Experiment
from .everyday.running import METHODS, USUAL_RATE, film, placement
from .records import on_one_thread, write_rows

__all__ = ["ROWS", "Row", "Seen"]

BUILDING_FRAMES = 22
# A column has two connections of three constraints each.
OF_A_COLUMN = 6


@dataclass(frozen=True)
class Seen:
    """What a run showed.

    Attributes
    ----------
    value : in the unit of its row
    missed : steps that were not solved
    """

    value: float
    missed: int


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes
    ----------
    scene : its name
    measured : what is measured, and its unit
    low, high : between which values physics has it
    margin : how far outside a run may be
    before : what a8e3c05 gave
    bullet : what Blender's own rigid bodies gave, empty where that was not measured
    run : runs the scene by a method
    """

    scene: str
    measured: str
    low: float
    high: float
    margin: float
    before: str
    bullet: str
    run: Callable[[str], Seen]

    def holds(self, value: float) -> bool:
        """Whether a value is as close as it has to be."""
        return self.low - self.margin <= value <= self.high + self.margin


def everyday(scene: str, what: str, before: str, bullet: str = "") -> Row:
    """Return a row that is a claim of an everyday scene, which says where its expected value and its margin come from."""
    (entry,) = (entry for entry in find(SUBJECTS) if entry.name == scene)
    experiment = entry.made()
    claim = next(claim for claim in experiment.claims if claim.what == what)
    unit = f", {claim.unit}" if claim.unit else ""
    run = partial(filmed, experiment, scene, what)
    return Row(scene, what + unit, claim.low, claim.high, claim.margin(1.0 / USUAL_RATE), before, bullet, run)


def filmed(experiment: Experiment, scene: str, what: str, method: str) -> Seen:
    """Run an everyday scene with 240 steps a second and measure its claim."""
    seen = film(experiment, placement("as it is", scene), USUAL_RATE, method)
    claim = next(claim for claim in experiment.claims if claim.what == what)
    return Seen(float(claim.measure(seen)), seen.missed)


def rammed_building(method: str) -> Seen:
    """Run a building whose corner column is rammed; how many of its constraints break."""
    spec = framed_building(storeys=1, counts=(2, 2))
    frames = list(sc.Simulation(spec, substeps=10, method=method, threads=1).frames(BUILDING_FRAMES))
    missed = sum(int((frame.statistics.status != sc.Status.SOLVED).sum()) for frame in frames[1:])
    return Seen(float(frames[-1].broken.sum()), missed)


ROWS = (
    everyday("box over one seam", "way", "1.15, turned over", "2.38 of 2.42"),
    everyday("crate down twelve boards", "way", "1.08 of 2.120", "2.118 of 2.120"),
    everyday("ball over tiles, 5 m/s", "velocity off", "0.76 (28 % of the energy)"),
    everyday("crate over slats, 2 m/s", "velocity off", "2.19 (thrown back)"),
    everyday("box past a ledge at 20 m/s, 0.1 mm", "velocity off", "16.3 (74 % of the speed)"),
    everyday("balls collide at 15 degrees, 1 m/s", "e", "0.00"),
    everyday("balls collide at 30 degrees, 1 m/s", "e", "-0.03"),
    everyday("balls collide at 45 degrees, 1 m/s", "e", "-0.07"),
    everyday("twelve dice", "dice with a wrong e", "8 do not bounce", "first bounce 0.39 m"),
    everyday("cans dropped flat, e 1", "turn", "up to 11 rad/s at 4 of 18 heights"),
    everyday("glued blocks are rammed", "joints broken", "9"),
    everyday("glued blocks are rammed", "impulse passed on", "675"),
    Row(
        "one column of a building is rammed",
        "constraints broken",
        0.0,
        float(OF_A_COLUMN),
        0.0,
        "153 of 156, two stories",
        "only the column",
        rammed_building,
    ),
    everyday("block glued to a still post", "force", "373,000 N s, breaks", "holds"),
)


def chosen(words: list[str]) -> list[tuple[Row, str]]:
    """Rows with methods, of which words choose some."""
    methods = [method for method in METHODS if method in words] or list(METHODS)
    names = [word for word in words if word not in METHODS]
    rows = [row for row in ROWS if not names or any(name in row.scene for name in names)]
    return [(row, method) for row in rows for method in methods]


def main() -> int:
    on_one_thread()
    rows: list[dict[str, object]] = []
    for row, method in chosen(sys.argv[1:]):
        begin = process_time()
        seen = row.run(method)
        is_right = row.holds(seen.value) and seen.missed == 0
        print(f"{'right' if is_right else 'WRONG'} {row.scene}, {method}: {row.measured} {seen.value:.6g}", flush=True)
        rows.append(
            {
                "scene": row.scene,
                "measured": row.measured,
                "low": row.low,
                "high": row.high,
                "margin": row.margin,
                "before": row.before,
                "bullet": row.bullet,
                "method": method,
                "seen": seen.value,
                "right": is_right,
                "missed": seen.missed,
                "processor_s": process_time() - begin,
            }
        )
    print(write_rows("moving_contacts", rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
