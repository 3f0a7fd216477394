# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of README.md and of some pages of docs/ (`PAGES`) from docs/measured/*.csv.

    python -m tests.bench.tables [--check]

What a benchmark wrote to build/bench is shown once it is copied to docs/measured under the name of its table. With --check
nothing is written, and the status is 1 where a page and the files differ.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median

from .csv_tables import Cell, Row, Table, number, page_with_tables, pair, ratio, shown, text

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "docs" / "measured"
PAGES = (
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("measured", "mechanisms", "papers", "rivals", "contact-problems", "flexible", "everyday", "destruction")
    ),
)

BULLET, BULLET_MORE = "Bullet, 10 and 10", "Bullet, 40 and 50"
METHODS = {"published": "plain", "accelerated": "default", "pivot": "pivoting"}
PROJECTIONS = {"published": "Algorithm 1", "accelerated": "default"}
BODIES = {"cubes": "cubes", "hulls": "convex hulls", "dominoes": "dominoes", "wall": "bricks in a wall that is hit"}


def named(name: str, names: dict[str, str]) -> Cell:
    return lambda row: names[row[name]]


def total(values: list[str]) -> float:
    return sum(map(float, values))


def mean(values: list[str]) -> float:
    return total(values) / len(values)


def most(values: list[str]) -> float:
    return max(map(float, values))


def count(values: list[str]) -> float:
    return float(len(values))


def true(values: list[str]) -> float:
    return values.count("True")


def expected(row: Row) -> str:
    """The value or the bound of a row."""
    low, high = float(row["low"]), float(row["high"])
    return shown(high, 4) if low == high else f"at most {shown(high, 4)}"


def first(*names: str) -> Cell:
    """The first of these figures that the row has."""
    return lambda row: next((number(name)(row) for name in names if row[name]), "")


def iterations(start: str) -> Cell:
    """Iterations of a step, "over" their mean where some steps were given up."""
    mean_of = number(f"iterations {start}")
    return lambda row: ("over " if int(row[f"given up {start}"]) else "") + mean_of(row)


def time_of(engine: str) -> Cell:
    """Processor time, "over" what a run took that did not come to the end of the film."""
    seconds = number(f"{engine} processor_s")
    return lambda row: seconds(row) if row[f"{engine} share"] in ("", "1.0") else f"over {seconds(row)}"


def beside_the_papers(ours: str, papers: str) -> Cell:
    """Our figure, and the paper's in brackets where it has one."""
    both = pair(number(ours), number(papers))
    return lambda row: both(row) if row[papers] else number(ours)(row)


def first_part(row: Row) -> str:
    """How much of the film was simulated, where that is not all."""
    return "" if float(row["share"]) == 1.0 else f" ({float(row['share']):.0%} of it)"


def is_awake(row: Row) -> bool:
    return float(row["processor_s"]) > 0.0 and (row["drift_mm"] != "0" or row["energy_at_end_j"] != "0")


def stood(scene: str) -> Cell:
    """How far what has to stand has moved, mm, "fell" where it did."""
    moved = number(f"{scene} moved_mm")
    return lambda row: "fell" if row[f"{scene} fallen"] == "True" else moved(row)


TABLES = {
    "rivals": Table(
        {
            "engine": text("engine"),
            "125 cubes, s": number("cubes:125 processor_s"),
            "deepest overlap, mm": number("cubes:125 overlap_mm"),
            "1,000 cubes, s": number("cubes:1000 processor_s"),
            "card house, s": number("house processor_s"),
            "moved, mm": stood("house"),
            "tower moved, mm": stood("tower"),
        },
        by=("engine",),
        across="scene",
        where=lambda row: row["is_default"] == "True",
    ),
    "rivals_settings": Table(
        {
            "engine": text("engine"),
            "setting": text("setting"),
            "s": number("processor_s"),
            "overlap, mm": number("overlap_mm"),
            "at rest, mm": number("rest_overlap_mm"),
            "median drift, mm": number("median_drift_mm"),
        },
        where=lambda row: row["scene"] == "cubes:125",
        file="rivals",
    ),
    "rivals_thresholds": Table(
        {
            "engine": text("engine"),
            "setting": text("setting"),
            "stands from": lambda row: "nowhere" if row["stands_from"] == "nan" else row["stands_from"],
            "still falls at": text("falls_to"),
            "out of order": pair(text("out_of_order"), text("tried"), "{} of {}"),
        }
    ),
    "problems": Table(
        {
            "solver": text("solver"),
            "version": text("version"),
            "build, median, ms": lambda row: f"{1e3 * float(row['build_s']):.2g}",
            "a call on one contact, us": lambda row: f"{1e6 * float(row['overhead_s']):.0f}",
        },
        by=("solver",),
        combine={"build_s": lambda values: median(float(value) for value in values)},
        where=lambda row: row["build_s"] != "",
    ),
    **{
        f"problems_to_{digits}": Table(
            {
                "solver": text("solver"),
                "solved": pair(text("solved"), text("of"), "{} of {}"),
                "time over ours, median": number("over_ours"),
                "of less than ten contacts": number("over_ours_small"),
                "card house, ms": text("card house_ms"),
                "arch": text("arch_ms"),
                "wall": text("wall_ms"),
                "heap": text("heap_ms"),
            },
            where=lambda row, wanted=wanted: row["to"] == wanted,
            file="problems_times",
        )
        for digits, wanted in ((4, "0.0001"), (8, "1e-08"))
    },
    "ablation": Table(
        {
            "switched off": text("switched_off"),
            "scene": text("scene"),
            "times as long, in turns": text("turns"),
            "factorizations": text("factorisations"),
            "missed": pair(text("missed"), text("number"), "{} of {}"),
        },
        where=lambda row: row["turns"] != "" or row["scene"] == "matrices",
    ),
    "known_answers": Table(
        {
            "off by, mm": text("scene"),
            "Stiction": number("Stiction off_mm"),
            "Bullet": number(f"{BULLET} off_mm"),
            "Bullet, 40 and 50": number(f"{BULLET_MORE} off_mm"),
            "MuJoCo": number("MuJoCo off_mm"),
        },
        by=("scene",),
        across="by",
    ),
    "what_touches": Table({"scene": text("scene"), "measured": text("measured"), "right": text("right")}),
    "inventions": Table(
        {
            "scenes at random": text("line"),
            "right": pair(number("ok"), number("scale"), "{} of {}"),
        },
        by=("line",),
        combine={"ok": true, "scale": count},
    ),
    "everyday": Table(
        {
            "everyday scenes": text("variant"),
            "right": pair(number("right"), number("scene"), "{} of {}"),
            "missed steps": number("missed"),
        },
        by=("variant",),
        combine={"right": true, "scene": count, "missed": total},
    ),
    "everyday_subjects": Table(
        {
            "subject": text("subject"),
            "right": pair(number("right"), number("scene"), "{} of {}"),
        },
        by=("subject",),
        combine={"right": true, "scene": count},
        file="everyday",
    ),
    "moving_contacts": Table(
        {
            "scene": text("scene"),
            "measured": text("measured"),
            "expected": expected,
            "before": text("before"),
            "Bullet": text("bullet"),
            "default": number("staggered seen", 3),
            "pivoting": number("pivot seen", 3),
            "energy": number("energy seen", 3),
        },
        by=("scene", "measured", "low", "high", "before", "bullet"),
        across="method",
    ),
    "captured": Table(
        {
            "method": named("method", METHODS),
            "tolerance": number("tolerance"),
            "solved": pair(number("solved"), number("number"), "{} of {}"),
            "seconds": number("seconds"),
        },
        by=("method", "tolerance"),
        combine={"solved": total, "number": total, "seconds": total},
    ),
    "staggered_against_quadprog": Table(
        {
            "s a solve (solved)": lambda row: "mean of 15 steps",
            "quadprog": pair(number("reference_seconds"), number("reference_converged")),
            "same algorithm, our projections": pair(number("published_seconds"), number("published_converged")),
            "our solver, 8 sides": pair(number("polygon_seconds"), number("polygon_converged")),
            "our solver, disk": pair(number("disk_seconds"), number("disk_converged")),
        },
        by=("cap",),
        combine={
            f"{name}_{figure}": combine
            for name in ("reference", "published", "polygon", "disk")
            for figure, combine in (("seconds", mean), ("converged", true))
        },
    ),
    "rates": Table(
        {
            "scene": text("scene"),
            "contacts": text("contacts"),
            "ms a step": number("milliseconds_a_step"),
            "iterations (most)": pair(number("iterations_mean", 3), text("iterations_most")),
            "factorizations": number("factorisations_mean"),
            "contact, cold": pair(number("cold_contact_median"), text("cold_contact_most")),
            "friction, cold": pair(number("cold_friction_median"), text("cold_friction_most")),
        }
    ),
    "paper_tables_kaufman": Table(
        {
            "scene": text("scene"),
            "rule": named("rule", PROJECTIONS),
            "contacts (paper)": pair(number("contacts"), number("paper's contacts")),
            "warm (paper)": pair(number("iterations warm"), text("paper's warm")),
            "cold (paper)": pair(number("iterations cold"), text("paper's cold")),
            "ms warm (paper)": pair(number("ms a solve warm"), number("paper's ms")),
            "moved, mm": number("moved mm"),
        },
        where=lambda row: float(row["tolerance"]) == 1e-4,
    ),
    "paper_tables_decomposition": Table(
        {
            "scene": text("scene"),
            "rule": named("rule", PROJECTIONS),
            "degrees of freedom": number("degrees of freedom"),
            "steps": pair(text("steps"), text("steps of the film"), "{} of {}"),
            "contacts (most)": pair(number("contacts"), number("most contacts")),
            "islands": number("islands"),
            "iterations (most)": pair(number("iterations"), text("most iterations")),
            "ms of solves (paper)": beside_the_papers("ms of solves a step", "paper's ms"),
            "ms a step": number("ms a step"),
            "missed": text("missed"),
        },
    ),
    "paper_tables_bending": Table(
        {
            "scene": text("scene"),
            "rule": named("rule", PROJECTIONS),
            "degrees of freedom": pair(number("degrees of freedom"), number("paper's degrees")),
            "contacts": pair(number("contacts"), number("paper's contacts")),
            "warm": pair(iterations("warm"), text("paper's warm")),
            "cold": pair(iterations("cold"), text("paper's cold")),
            "ms warm": pair(number("ms a solve warm"), number("paper's ms")),
            "ms cold": number("ms a solve cold"),
        },
    ),
    "bending_costs": Table(
        {
            "scene": text("scene"),
            "": text("law"),
            "modes": text("modes"),
            "s for a second": number("seconds"),
            "times the rigid one": number("ratio"),
            "contacts": number("contacts", 3),
            "factorizations": number("factorisations"),
        },
    ),
    "paper_tables_faure": Table(
        {
            "scene": text("scene"),
            "median": number("iterations, median"),
            "most": text("most"),
            "paper": text("the paper's"),
        },
        where=lambda row: row["the paper's"] != "",
    ),
    "heaps": Table(
        {
            "scene": pair(number("bodies"), named("scene", BODIES), "{} {}"),
            "Stiction, s": time_of("stiction"),
            "Bullet, s": time_of("bullet"),
            "MuJoCo, s": time_of("mujoco"),
            "times Bullet": ratio("stiction processor_s", "bullet processor_s"),
            "missed": text("stiction missed"),
            "overlap, mm": number("stiction overlap_mm"),
        },
        by=("scene", "bodies"),
        across="engine",
    ),
    "artist_scenes": Table(
        {
            "scene": pair(text("scene"), first_part, "{}{}"),
            "Stiction, s": number("processor_s"),
            "Bullet, s": number("bullet_s"),
            "overlaps, mm": pair(number("overlap_mm"), number("bullet_overlap_mm"), "{}, {}"),
            "times Bullet": number("times_bullet"),
        }
    ),
    "drift": Table(
        {
            "tolerance": number("tolerance"),
            "farthest, mm": number("farthest_mm"),
            "median, mm": number("median_mm"),
            "fastest slip, mm/s": number("slip_mm_s"),
            "ms a step": number("ms_a_step"),
        }
    ),
    "joints_beside_bullet": Table(
        {
            "scene": text("scene"),
            "joints open, mm": number("Stiction joints open by mm"),
            "Bullet": number(f"{BULLET} joints open by mm"),
            "40 and 50": number(f"{BULLET_MORE} joints open by mm"),
            "other figure": first("Stiction sag m", "Stiction moved by mm", "Stiction period off"),
            "Bullet's": first(f"{BULLET} sag m", f"{BULLET} moved by mm", f"{BULLET} period off"),
            "40 and 50's": first(f"{BULLET_MORE} sag m", f"{BULLET_MORE} moved by mm", f"{BULLET_MORE} period off"),
        },
        by=("scene",),
        across="by",
    ),
    "collision_against_mujoco": Table(
        {
            "bodies": pair(number("bodies"), text("heap"), "{} {}"),
            "pairs": number("ours pairs"),
            "ours, ms": number("ours ms"),
            "MuJoCo, ms": number("mujoco ms"),
            "one contact a pair, ms": number("mujoco single ms"),
        }
    ),
    "contacts_against_oracles": Table(
        {
            "poses": number("poses"),
            "missed, invented, wrong": pair(pair(number("missed"), number("invented"), "{}, {}"), number("wrong"), "{}, {}"),
            "worst distance, m": number("distance"),
            "worst depth, m": number("depth"),
            "as MuJoCo": pair(number("agreed"), number("compared"), "{} of {}"),
        },
        by=(),
        combine={
            **dict.fromkeys(("poses", "missed", "invented", "wrong", "agreed", "compared"), total),
            **dict.fromkeys(("distance", "depth"), most),
        },
    ),
    "tunnelling": Table({"scene": text("scene"), "passed": text("passed"), "overlap": text("overlap")}),
    "sleeping": Table(
        {
            "asleep": number("asleep"),
            "contacts solved": number("contacts"),
            "ms a step": number("step", scale=1e3),
        }
    ),
    "long_and_steady": Table(
        {
            "scene": text("scene"),
            "film, s": number("film_s", 3),
            "relative change of energy": ratio("energy_at_end_j", "energy_j"),
            "drift, mm": number("drift_mm"),
            "missed": text("missed"),
        },
        where=is_awake,
    ),
    "first_frame": Table(
        {"situation": text("situation"), "processor, s": text("processor_s"), "by the clock, s": text("wall_s")}
    ),
    "sizes": Table({"what": text("what"), "size": text("size")}),
    "fuzz": Table({"cases": number("cases"), "findings": text("findings"), "processor, s": number("processor_s")}),
    "interruptions": Table({"kinds": text("kinds"), "interruptions": text("interruptions"), "did harm": text("harm")}),
    "blenders": Table(
        {"Blender": text("blender"), "Python": text("python"), "passed": number("passed"), "failed": text("failed")}
    ),
    "presets": Table(
        {
            "preset": text("preset"),
            "card house": number("house_s"),
            "27 cubes": number("heap_27_s"),
            "wall of 60": number("wall_60_s"),
            "125 cubes": number("heap_125_s"),
        }
    ),
    "pivot_scenes": Table(
        {
            "scene": text("scene"),
            "contacts": text("contacts"),
            "pivoting, s a frame": number("pivot seconds_a_frame"),
            "default": number("staggered seconds_a_frame"),
            "moved with pivoting, m": number("pivot moved_m"),
        },
        by=("scene",),
        across="method",
        where=lambda row: (
            row["scene"] in ("card house, 2 levels", "arch, 11 blocks", "card house, 3 levels", "wall, 20 bricks")
        ),
    ),
    "breaking_loads": Table(
        {
            "structure": text("scene"),
            "pieces": text("pieces"),
            "60 steps/s": number("60 load", 4),
            "240": number("240 load", 4),
            "960": number("960 load", 4),
        },
        by=("scene", "pieces"),
        across="steps a second",
    ),
    "breaking_hits": Table(
        {
            "tension, MPa": number("tension MPa"),
            "bonds": text("bonds"),
            "broken at 60 steps/s": text("60 broken"),
            "240": text("240 broken"),
            "960": text("960 broken"),
            "missed": text("missed"),
            "energy after, J": number("240 energy of motion after J"),
        },
        by=("tension MPa",),
        across="steps a second",
        combine={"missed": lambda values: float(sum(map(int, values)))},
    ),
    "breaking_pieces": Table(
        {
            "by": text("by"),
            "standing, s a frame": number("before s"),
            "the hit": number("hit s"),
            "after it": number("after s"),
            "at rest": number("at rest s"),
        }
    ),
    "energy_scenes": Table(
        {
            "scene": text("scene"),
            "energy, ms a step": number("energy_ms"),
            "default": number("staggered_ms"),
        }
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; the status is 1 where a page differs")
    check = parser.parse_args().check
    different = []
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = page_with_tables(before, TABLES, FILES)
        if after != before:
            different.append(page.name)
            if not check:
                page.write_text(after, encoding="utf-8")
    print(f"{'different from docs/measured/' if check else 'written'}: {', '.join(different) or 'none'}")
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main())
