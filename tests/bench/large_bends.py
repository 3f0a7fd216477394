# SPDX-License-Identifier: GPL-3.0-or-later
"""What bodies in large bends keep of their energy and their swing over ten seconds.

    python -m tests.bench.large_bends [--seconds 10]

A slender beam, a thick bar and a cube, of rubber and of foam, are let go in empty space where they are pressed to half of their
length, to four fifths, or stretched by half, as nearly as their shapes can: `radians` is what the fastest of these swings by
in a step. `most` and `end` are their energy at a frame at the most and at the end, by that of the first frame, `missed` the
steps of which no motion was found. Velocities belong to half a step before places, so that `most` of what swings by a radian a
step is above 1. Rows `swing`: a beam that swings by a thousandth, and by a tenth of its length; `amplitude` is what is left.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

import solver_core as sc
from solver_core.deformable.reduced_body import reduced_body
from solver_core.deformable.stvk import energy
from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..core.deformable.beams import BEAM, DENSITY, box, divided
from .records import on_one_thread, write_rows

FPS = 24
BODIES = {"beam": (BEAM, (10, 1, 1), 40), "bar": ((1.0, 0.2, 0.2), (8, 2, 2), 16), "cube": ((0.2, 0.2, 0.2), (3, 3, 3), 4)}
MATERIALS = {"rubber": 1e7, "foam": 1e5}
STRETCHES = 0.5, 0.8, 1.5


def run(shape, reduced, spec, seconds: float, q=(), velocity=()):
    """Modal coordinates and energies of each frame, and how many steps were missed."""
    body = BodySpec("Body", BodyKind.ACTIVE, shape, density=DENSITY, deformable=spec)
    simulation = sc.Simulation(SceneSpec((body,), gravity=np.zeros(3)), fps=FPS, modes={0: reduced})
    state = simulation.checkpoint()
    state["modal"][: len(q)], state["modal_velocity"][: len(velocity)] = q, velocity
    simulation.restore(simulation.first_frame().frame, state)
    places, energies, missed = [state["modal"]], [], 0
    for number in range(round(FPS * seconds) + 1):
        if number:
            frame = simulation.advance()
            missed += int(np.count_nonzero(frame.statistics.status != sc.Status.SOLVED))
            places.append(frame.modal)
        v = simulation.checkpoint()["modal_velocity"]
        energies.append(0.5 * float(v @ v) + energy(reduced.large.gram, places[-1]))
    return np.array(places), np.array(energies), missed


def strained(name: str, material: str, stretch: float, seconds: float) -> dict[str, object]:
    size, cells, resolution = BODIES[name]
    shape, spec = divided(size, cells), DeformableSpec(Elasticity.STVK, MATERIALS[material], 0.3, 20, resolution, 0.0)
    reduced = reduced_body(shape, spec, density=DENSITY)
    wanted = shape.vertices * [stretch - 1.0, 0.0, 0.0]
    q = np.linalg.lstsq(reduced.shapes.reshape(-1, reduced.shapes.shape[2]), wanted.ravel(), rcond=None)[0]
    _, energies, missed = run(shape, reduced, spec, seconds, q)
    radians = reduced.omega[-1] / (10.0 * FPS)
    found = {"most": energies.max() / energies[0], "end": energies[-1] / energies[0], "missed": missed}
    return {"body": name, "material": material, "stretch": stretch, "radians": radians, **found}


def swing(share: float, seconds: float) -> dict[str, object]:
    spec = replace(DeformableSpec(Elasticity.STVK, MATERIALS["rubber"], 0.3, 9, 40), damping_ratio=0.0)
    reduced = reduced_body(box(), spec, density=DENSITY)
    farthest = np.linalg.norm(reduced.shapes[..., 0], axis=1).max()
    places, energies, missed = run(box(), reduced, spec, seconds, velocity=[share * reduced.omega[0] / farthest])
    one, last = np.abs(places[: len(places) // 4, 0]).max(), np.abs(places[-(len(places) // 4) :, 0]).max()
    found = {"most": energies.max() / energies[0], "end": energies[-1] / energies[0], "missed": missed}
    return {"body": "swing", "material": "rubber", "stretch": share, **found, "amplitude": last / one}


def each(seconds: float):
    """The rows, one after the other."""
    for share in (0.001, 0.1):
        yield swing(share, seconds)
    for name in BODIES:
        for material in MATERIALS:
            for stretch in STRETCHES:
                yield strained(name, material, stretch, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    on_one_thread()
    rows: list[dict[str, object]] = []
    for row in each(seconds):
        rows.append(row)
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
    print(write_rows("large_bends", rows))


if __name__ == "__main__":
    main()
