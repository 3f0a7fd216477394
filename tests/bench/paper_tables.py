# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the papers with our figures beside theirs.

    python -m tests.bench.paper_tables [--only kaufman decomposition bending baraff faure shipped]
                                       [--steps 100] [--cold 20] [--minutes 2]

Kaufman et al. 2008, tables 1 and 2: the scenes of `published_scenes` with the paper's time steps, at (28) of 1e-1, 1e-4 and
1e-8; bodies, contacts, iterations with and without warm start, time a solve, and the median residual of dissipation, which the
paper's rule does not bound. Published is Algorithm 1 with its own stopping rule, eight sides to the cone as in the paper;
accelerated is what bakes use, the exact disk, each tolerance also a bound on the residuals of Coulomb's law; a step is given up
when it has taken too many iterations or too much work. The same scenes with faces divided into smaller ones, all of whose
contacts are solved, have about as many contacts as the paper's.
Decomposition: table 2, right: the log house and bunnies that fall into a box, at 1e-4 with steps of 0.01 s. A run is left when
it has taken so many minutes of the processor; the row says how many steps of the film it has. The paper gives neither contacts,
iterations nor time steps. Its house without decomposition is one system; ours is always solved by islands,
which are one as long as the house is whole, so that its slide has a row of its own.
Bending: the paper's scenes with bodies that bend, at 1e-4 alone, the first few of these steps; of the dinosaurs' those as they
pile up, with linear modes and with StVK. A step takes a hundred iterations at most.
Baraff 1994, section 7: calls to `drive_to_zero`, from nothing, without friction and with static friction, of single steps of
these scenes; the paper says about n.
Faure 1996, sections 3 and 4: redistributions of energy a step of the bar of figure 4, of the solid on four balls, for which the
paper has one to five, and of stacks, of which it has none.
Shipped: the same figures for the other scenes of the Add menu, of which the papers have none, as bakes solve them: the first
steps of 1/240 s.
Times are the processor's, on one thread. Files are written to build/bench.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

import solver_core as sc
from solver_core.deformable.reduced import ReducedBody
from solver_core.dynamics.model.bending import Bending
from solver_core.dynamics.motion.rotation import matrices
from solver_core.dynamics.solve import system_solver
from solver_core.published.baraff_1994.lcp import pivot_lcp
from solver_core.scene import parts
from solver_core.scene.deformable import Elasticity
from solver_core.scene.spec import BodyKind, SceneSpec
from solver_core.scenes import flexible as flexible_scenes
from solver_core.scenes import jointed as jointed_scenes
from solver_core.scenes import plain as scenes
from solver_core.scenes import published as published_scenes
from solver_core.scenes import published_bending as bending_scenes

from .captured import of_system
from .records import on_one_thread, write_rows
from .scenes import capture

TOLERANCES = (1e-1, 1e-4, 1e-8)
MOST, MOST_OF_BENDING = 2000, 100  # iterations
STEPS_OF_BENDING, COLD_OF_BENDING = 6, 3
CARD_FACES, BLOCK_FACES = (1, 3, 1), (1, 30, 15)  # as many contacts as in the paper, nearly
TABLES = ("kaufman", "decomposition", "bending", "baraff", "faure", "shipped")
Row = dict[str, object]


def house_and_block() -> SceneSpec:
    """The house of 57 cards with a block that lies on its top: 348 degrees of freedom."""
    house = published_scenes.bombarded_card_house(blocks=0)
    card, edge = house.bodies[1], 0.015
    corners = [
        matrices(body.orientation[None])[0] @ body.shape.vertices.T + body.position[:, None] for body in house.bodies[1:]
    ]
    ridge = max(float(places[2].max()) for places in corners)
    block = parts.box("Block", (edge, edge, edge), (0.0, 0.0, ridge + 0.5 * edge), card.material, 1000.0 * edge**3)
    return replace(house, bodies=(*house.bodies, block))


def divided(spec: SceneSpec, begin: str, faces: tuple[int, int, int]) -> SceneSpec:
    """The scene with meshes in place of blocks of eight corners whose names begin so, their faces divided along the axes."""
    bodies = []
    for body in spec.bodies:
        if body.name.startswith(begin):
            cube = flexible_scenes.sheet((1.0, 1.0, 1.0), faces)
            # corner 4 i + 2 j + k is on either side along the axes i, j and k
            share = np.stack([0.5 - cube.vertices, 0.5 + cube.vertices], axis=2)
            corners = body.shape.vertices.reshape(2, 2, 2, 3)
            vertices = np.einsum("ni,nj,nk,ijkx->nx", share[:, 0], share[:, 1], share[:, 2], corners)
            body = replace(body, shape=replace(cube, vertices=vertices))
        bodies.append(body)
    return replace(spec, bodies=tuple(bodies))


def arch() -> SceneSpec:
    return published_scenes.catenary_arch(dropped=0, thrown=0)


# scene, h in s, of the paper: solve in s, contacts, iterations warm and cold. Those of meshes keep every contact
KAUFMAN = {
    "card house": (house_and_block, 1e-3, (4.7, 528, 3.2, 57.1)),
    "catenary arch": (arch, 1e-2, (1.2, 2042, 5.6, 133.7)),
    "card house, divided faces": (lambda: divided(house_and_block(), "Card", CARD_FACES), 1e-3, (4.7, 528, 3.2, 57.1)),
    "catenary arch, divided faces": (lambda: divided(arch(), "Voussoir", BLOCK_FACES), 1e-2, (1.2, 2042, 5.6, 133.7)),
}


@contextmanager
def timed_solves(seconds: list[float]) -> Iterator[None]:
    """Within this context the processor time of every solve of a step is added to `seconds`.

    Small islands with joints are solved and corrected by one kernel, which counts as one solve.
    """
    names = "solve_islands", "solve_corrected"
    originals = [getattr(system_solver, name) for name in names]

    def timed(solve):
        def run(*arguments):
            begin = process_time()
            try:
                return solve(*arguments)
            finally:
                seconds.append(process_time() - begin)

        return run

    for name, original in zip(names, originals, strict=True):
        setattr(system_solver, name, timed(original))
    try:
        yield
    finally:
        for name, original in zip(names, originals, strict=True):
            setattr(system_solver, name, original)


def steps_of(
    spec: SceneSpec, h: float, steps: int, begin: dict[str, np.ndarray] | None = None, most: int = MOST, **settings
) -> Row:
    """Means over the steps of a scene from a checkpoint on, each of at most so many iterations, with all contacts of meshes."""
    running = sc.Simulation(spec, fps=1.0 / h, substeps=1, sleeping=False, max_iterations=most, **settings)
    running.every_contact = True
    if begin is not None:
        running.restore(spec.frame_start, begin)
    seconds: list[float] = []
    with timed_solves(seconds):
        frames = running.run(steps)
    statistics = [frame.statistics for frame in frames[1:]]
    moved = np.abs(frames[-1].poses[:, :3] - frames[0].poses[:, :3]).max()
    return {
        "bodies": sum(body.kind is BodyKind.ACTIVE for body in spec.bodies),
        "contacts": float(np.mean([s.contacts[0] for s in statistics])),
        "iterations": float(np.mean([s.iterations[0] for s in statistics])),
        "ms a solve": 1e3 * sum(seconds) / len(seconds),
        "given up": sum(int(s.status[0] == sc.Status.MAX_ITERATIONS) for s in statistics),
        "dissipation": float(np.median([s.dissipation[0] for s in statistics])),
        "moved mm": 1e3 * float(moved),
    }


def kaufman(steps: int, cold: int, tolerances: tuple[float, ...]) -> Iterator[Row]:
    """Tables 1 and 2."""
    for name, (make, h, (solve, contacts, warm, without)) in KAUFMAN.items():
        spec = make()
        for staggering, sides in (("published", 8), ("accelerated", 0)):
            for tolerance in tolerances if "divided" not in name else (1e-4,):
                settings = {"staggering": staggering, "polygon_sides": sides, "tolerance": tolerance}
                steps_of(spec, h, 1, **settings)  # compiled, or loaded, before the clock starts
                with_start = steps_of(spec, h, steps, **settings)
                without_start = steps_of(spec, h, cold, warm_start=False, **settings)
                yield {
                    "scene": name,
                    "rule": staggering,
                    "tolerance": tolerance,
                    "bodies": with_start["bodies"],
                    "contacts": with_start["contacts"],
                    "paper's contacts": contacts,
                    "iterations warm": with_start["iterations"],
                    "paper's warm": warm if tolerance == 1e-4 else "",
                    "iterations cold": without_start["iterations"],
                    "paper's cold": without if tolerance == 1e-4 else "",
                    "ms a solve warm": with_start["ms a solve"],
                    "ms a solve cold": without_start["ms a solve"],
                    "paper's ms": 1e3 * solve if tolerance == 1e-4 else "",
                    "given up warm": with_start["given up"],
                    "given up cold": without_start["given up"],
                    "dissipation warm": with_start["dissipation"],
                    "dissipation cold": without_start["dissipation"],
                    "moved mm": with_start["moved mm"],
                }


@dataclass(frozen=True)
class Film:
    """A scene of table 2, right. seconds: of film. papers: the paper's mean time of a solve in s, empty where it has none."""

    make: Callable[[], SceneSpec]
    seconds: float
    papers: float | str


H_OF_FILMS = 1e-2  # s; that of all scenes of table 1 but two
RULES = {"accelerated": 0, "published": 8}  # sides of the cone
FILMS = {
    "log house, slides": Film(published_scenes.log_house, 0.25, 4.9),
    "log house, film": Film(published_scenes.log_house, 4.0, 0.061),
    "bunny drop of 64": Film(bending_scenes.bunny_drop, 1.5, ""),
    "bunny drop of 512": Film(lambda: bending_scenes.bunny_drop(512), 1.5, ""),
    "bunny drop of 2,046": Film(lambda: bending_scenes.bunny_drop(2046), 1.5, 37.5),
    "bunnies on arches, linear": Film(bending_scenes.bunnies_on_arches, 1.5, ""),
    "bunnies on arches, StVK": Film(lambda: bending_scenes.bunnies_on_arches(kind=Elasticity.STVK), 1.5, ""),
}


def decomposition(minutes: float, chosen: tuple[str, ...], rules: tuple[str, ...]) -> Iterator[Row]:
    """Table 2, right: means over all steps of a film, with the contacts of a bake, or over those that the minutes allow."""
    for name in chosen:
        film = FILMS[name]
        spec = film.make()
        modes = dict(zip(*known_modes(spec), strict=True))
        for staggering in rules:
            settings = {"staggering": staggering, "polygon_sides": RULES[staggering], "tolerance": 1e-4, "modes": modes}
            running = sc.Simulation(spec, fps=1.0 / H_OF_FILMS, substeps=1, sleeping=False, max_iterations=MOST, **settings)
            running.advance()  # compiled, or loaded, before the clock starts
            seconds: list[float] = []
            statistics, wanted, begin = [], round(film.seconds / H_OF_FILMS), process_time()
            with timed_solves(seconds):
                while len(statistics) < wanted and process_time() - begin < 60.0 * minutes:
                    statistics.append(running.advance().statistics)
            steps = len(statistics)
            yield {
                "scene": name,
                "rule": staggering,
                "degrees of freedom": degrees_of_freedom(spec),
                "steps": steps,
                "steps of the film": wanted,
                "contacts": float(np.mean([s.contacts[0] for s in statistics])),
                "most contacts": max(int(s.contacts[0]) for s in statistics),
                "islands": float(np.mean([s.islands[0] for s in statistics])),
                "iterations": float(np.mean([s.iterations[0] for s in statistics])),
                "most iterations": max(int(s.iterations[0]) for s in statistics),
                "factorisations": float(np.mean([s.factorisations[0] for s in statistics])),
                "solves": float(np.mean([s.solves[0] for s in statistics])),
                "ms of solves a step": 1e3 * sum(seconds) / steps,
                "paper's ms": 1e3 * film.papers if isinstance(film.papers, float) else film.papers,
                "ms a step": 1e3 * (process_time() - begin) / steps,
                "missed": sum(int(s.status[0] != sc.Status.SOLVED) for s in statistics),
            }


# scene, h in s, steps before the first that counts; of the paper: solve in s, contacts, iterations warm and cold
BENDING = {
    "composite": (lambda: bending_scenes.composites(mu=(0.5,), young=(1e8,), divisions=4), 3e-3, 3, (0.56, 921, 6.4, 25.8)),
    "40 chairs": (lambda: published_scenes.chairs(40, modes=38), 1e-2, 3, (0.72, 9025, 2.9, 30.9)),
    "dinosaurs": (bending_scenes.dinosaurs, 1e-2, 50, (0.61, 4690, 2.7, 18.3)),
    "dinosaurs, StVK": (
        lambda: bending_scenes.dinosaurs(kind=Elasticity.STVK),
        1e-2,
        50,
        (0.61, 4690, 2.7, 18.3),
    ),
}

PAPERS_DEGREES = {"composite": 192, "40 chairs": 1766, "dinosaurs": 315, "dinosaurs, StVK": 315}


def degrees_of_freedom(spec: SceneSpec) -> int:
    active = [body for body in spec.bodies if body.kind is BodyKind.ACTIVE]
    return sum(6 + (body.deformable.modes if body.deformable else 0) for body in active)


def bending(steps: int, cold: int) -> Iterator[Row]:
    """Table 1's scenes with bodies that bend, at the paper's tolerance, all from where bakes have come to."""
    for name, (make, h, before, (solve, contacts, warm, without)) in BENDING.items():
        spec = make()
        modes = dict(zip(*known_modes(spec), strict=True))
        first = sc.Simulation(spec, fps=1.0 / h, substeps=1, sleeping=False, tolerance=1e-4, modes=modes)
        first.run(before)
        begin = first.checkpoint()
        for staggering, sides in (("accelerated", 0), ("published", 8)):
            settings = {"staggering": staggering, "polygon_sides": sides, "tolerance": 1e-4, "modes": modes}
            settings |= {"begin": begin, "most": MOST_OF_BENDING}
            steps_of(spec, h, 1, **settings)  # compiled, or loaded, before the clock starts
            with_start = steps_of(spec, h, min(steps, STEPS_OF_BENDING), **settings)
            without_start = steps_of(spec, h, min(cold, COLD_OF_BENDING), warm_start=False, **settings)
            yield {
                "scene": name,
                "rule": staggering,
                "degrees of freedom": degrees_of_freedom(spec),
                "paper's degrees": PAPERS_DEGREES[name],
                "contacts": with_start["contacts"],
                "paper's contacts": contacts,
                "iterations warm": with_start["iterations"],
                "paper's warm": warm,
                "iterations cold": without_start["iterations"],
                "paper's cold": without,
                "ms a solve warm": with_start["ms a solve"],
                "ms a solve cold": without_start["ms a solve"],
                "paper's ms": 1e3 * solve,
                "given up warm": with_start["given up"],
                "given up cold": without_start["given up"],
            }


def known_modes(spec: SceneSpec) -> tuple[list[int], tuple[ReducedBody, ...]]:
    """Which bodies bend, and their modes, which the clock leaves out."""
    found = Bending.of_scene(spec)
    return found.body.tolist(), found.reduced


# those with a table of their own left out; the rods' paper has figures of one step alone
SHIPPED = {
    "tower": scenes.tower,
    "wall": scenes.wall,
    "arch": scenes.arch,
    "card house of 5 levels": scenes.card_house,
    "dominoes": scenes.dominoes,
    "jamming rod": scenes.jamming_rod,
    "jamming tube": published_scenes.jamming_tube,
    "log house": published_scenes.log_house,
    "rods of 1991": published_scenes.rods_of_1991,
    "bar on four feet": published_scenes.bar_on_four_feet,
    "four-ball solid": jointed_scenes.four_ball_solid,
    "Newton's cradle": jointed_scenes.newtons_cradle,
    "hanging chain": jointed_scenes.hanging_chain,
    "rope bridge": jointed_scenes.rope_bridge,
    "drawbridge": jointed_scenes.drawbridge,
    "breakable wall": jointed_scenes.breakable_wall,
}


def shipped(steps: int, cold: int) -> Iterator[Row]:
    """The other scenes of the Add menu, with and without warm start."""
    for name, make in SHIPPED.items():
        spec = make()
        steps_of(spec, 1.0 / 240.0, 1)  # compiled, or loaded, before the clock starts
        for tolerance in TOLERANCES:
            with_start = steps_of(spec, 1.0 / 240.0, steps, tolerance=tolerance)
            without_start = steps_of(spec, 1.0 / 240.0, cold, warm_start=False, tolerance=tolerance)
            both = [
                (f"{key} {label}", row[key])
                for key in ("iterations", "ms a solve", "given up")
                for label, row in (("warm", with_start), ("cold", without_start))
            ]
            counts = {"bodies": with_start["bodies"], "contacts": with_start["contacts"]}
            yield {"scene": name, "tolerance": tolerance} | counts | dict(both)


SINGLE_STEPS = {
    "card house, 2 levels": lambda: scenes.card_house(levels=2),
    "tower": scenes.tower,
    "arch": scenes.arch,
    "card house, 3 levels": lambda: scenes.card_house(levels=3),
    "catenary arch": lambda: published_scenes.catenary_arch(dropped=0, thrown=0),
    "wall": scenes.wall,
    "card house, 4 levels": lambda: scenes.card_house(levels=4),
}


def baraff(steps: int) -> Iterator[Row]:
    """Section 7: calls to drive_to_zero from nothing, in the first, a middle and the last of some steps."""
    for name, make in SINGLE_STEPS.items():
        for captured in capture(make(), (0, steps // 2, steps), tolerance=1e-6):
            problem = of_system(captured.system)
            n = captured.system.mu.size
            normal = slice(0, None, 3)
            A = np.ascontiguousarray(problem.delassus[normal, normal])
            b = np.ascontiguousarray(problem.free_velocity[:, 0])
            frictionless = pivot_lcp(A, b, np.zeros(n, dtype=bool), 1e-8, 1_000_000, np.inf)
            begin = process_time()
            result = sc.solve(problem, "pivot", guess=False, tolerance=1e-6)
            yield {
                "scene": name,
                "step": captured.step,
                "contacts n": n,
                "drives without friction": frictionless.stats.drives,
                "the paper's": "about n",
                "drives with friction": result.stats.drives,
                "pivots": result.stats.iterations,
                "ms": 1e3 * (process_time() - begin),
                "status": result.status.name,
            }


# the scene, and the paper's iterations
FAURE = {
    "bar on four feet, its first two steps": (lambda: replace(published_scenes.bar_on_four_feet(), fps=240.0), "3"),
    "four-ball solid": (jointed_scenes.four_ball_solid, "5"),
    "the same at 4 rad/s, sliding": (lambda: jointed_scenes.four_ball_solid(speed=4.0), "1"),
    "stack of 2": (lambda: scenes.tower(boxes=2, heaviest=1.0), ""),
    "stack of 5": (lambda: scenes.tower(boxes=5, heaviest=1.0), ""),
    "stack of 10": (lambda: scenes.tower(boxes=10, heaviest=1.0), ""),
    "stack of 10, the top one 1,000 times heavier": (scenes.tower, ""),
}


def faure(frames: int = 12) -> Iterator[Row]:
    """Section 4: iterations a step."""
    for name, (make, papers) in FAURE.items():
        begin, spec = process_time(), make()
        single = spec.fps > 100.0
        steps = {"substeps": 1} if single else {}
        run = sc.Simulation(spec, method="energy", sleeping=False, **steps).run(2 if single else frames)[1:]
        iterations = np.concatenate([frame.statistics.iterations for frame in run])
        yield {
            "scene": name,
            "contacts": int(run[-1].statistics.contacts[-1]),
            "iterations, median": float(np.median(iterations)),
            "nine tenths at most": float(np.percentile(iterations, 90)),
            "most": int(iterations.max()),
            "the paper's": papers,
            "ms a step": 1e3 * (process_time() - begin) / iterations.size,
            "missed": sum(int((frame.statistics.status != sc.Status.SOLVED).sum()) for frame in run),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--steps", type=int, default=100, help="with warm start")
    parser.add_argument("--cold", type=int, default=20, help="steps without warm start")
    parser.add_argument("--tolerances", nargs="+", type=float, default=TOLERANCES, help="of kaufman, where faces are whole")
    parser.add_argument("--minutes", type=float, default=2.0, help="of the processor, for each film of decomposition")
    parser.add_argument("--films", nargs="+", choices=FILMS, default=tuple(FILMS), metavar="NAME", help="of decomposition")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=tuple(RULES), help="of decomposition")
    arguments = parser.parse_args()
    tables = {
        "kaufman": lambda: kaufman(arguments.steps, arguments.cold, arguments.tolerances),
        "decomposition": lambda: decomposition(arguments.minutes, arguments.films, arguments.rules),
        "bending": lambda: bending(arguments.steps, arguments.cold),
        "baraff": lambda: baraff(arguments.steps),
        "faure": faure,
        "shipped": lambda: shipped(arguments.steps, arguments.cold),
    }
    for name in arguments.only:
        rows = []
        for row in tables[name]():
            rows.append(row)
            if len(rows) == 1:
                print("\n| " + " | ".join(row) + " |\n" + "| --- " * len(row) + "|")
            cells = (f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values())
            print("| " + " | ".join(cells) + " |", flush=True)
        print(write_rows(f"paper_tables_{name}", rows))


if __name__ == "__main__":
    on_one_thread()
    main()
