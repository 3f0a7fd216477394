# SPDX-License-Identifier: GPL-3.0-or-later
"""What a first bake waits for: processor time of compiling, and which kernels it goes to.

    python -m tests.bench.first_bake [SCENE ...] [--slowest 12]

Two frames of each scene are baked in a process of its own that finds nothing compiled, and again in one that finds it all. The
time of a kernel is its own, without the kernels that are compiled for it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import process_time
from typing import Any

from .records import write_rows

SCENES = ("card house", "card house, pivot", "card house and a cylinder", "card house on a mesh")


def scene(name: str):
    """(spec, method) of a scene by its name."""
    from dataclasses import replace

    import numpy as np

    from solver_core.scene.parts import cylinder_shape
    from solver_core.scene.spec import BodyKind, BodySpec, ShapeKind, ShapeSpec
    from solver_core.scenes.plain import card_house

    spec = card_house(levels=3)
    if name == "card house and a cylinder":
        drum = BodySpec("Drum", BodyKind.ACTIVE, cylinder_shape(0.1, 0.2), position=np.array([1.0, 0.0, 0.1]), mass=1.0)
        spec = replace(spec, bodies=(*spec.bodies, drum))
    if name == "card house on a mesh":
        corners = np.array([[-2.0, -2.0, 0.0], [2.0, -2.0, 0.0], [2.0, 2.0, 0.0], [-2.0, 2.0, 0.0], [0.0, 3.0, 1.0]])
        shape = ShapeSpec(ShapeKind.MESH, corners, np.array([[0, 1, 2], [0, 2, 3], [3, 2, 4]], dtype=np.int32))
        ground = BodySpec("Ground", BodyKind.PASSIVE, shape, material=spec.bodies[0].material)
        spec = replace(spec, bodies=(ground, *(body for body in spec.bodies if body.kind is BodyKind.ACTIVE)))
    return spec, "pivot" if name.endswith("pivot") else "staggered"


def bake(name: str) -> None:
    """Bake in this process; print processor time, the number of compiled kernels and each one's own time as JSON."""
    from numba.core import event

    own: Counter[str] = Counter()
    running: list[list[Any]] = []

    class Listener(event.Listener):
        def on_start(self, event: event.Event) -> None:
            function = event.data["dispatcher"].py_func
            running.append([f"{function.__module__.rpartition('.')[2]}.{function.__name__}", process_time(), 0.0])

        def on_end(self, event: event.Event) -> None:
            kernel, begin, inner = running.pop()
            spent = process_time() - begin
            own[kernel] += spent - inner
            counts[0] += 1
            if running:
                running[-1][2] += spent

    counts = [0]
    event.register("numba:compile", Listener())
    from solver_core.dynamics.simulation import Simulation

    spec, method = scene(name)
    Simulation(spec, method=method).run(2)
    print(json.dumps({"seconds": process_time(), "kernels": counts[0], "own": dict(own)}))


def measured(name: str, cache: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.first_bake", "--within", name]
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenes", nargs="*", metavar="SCENE", default=SCENES, help=f"of {', '.join(SCENES)}")
    parser.add_argument("--slowest", type=int, default=12, help="kernels to name")
    parser.add_argument("--within", metavar="SCENE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.within:
        bake(arguments.within)
        return 0
    rows: list[dict[str, Any]] = []
    for name in arguments.scenes:
        with tempfile.TemporaryDirectory() as cache:
            first, again = measured(name, cache), measured(name, cache)
        print(
            f"{name}: {first['seconds']:.0f} s, {first['kernels']} kernels; once compiled {again['seconds']:.1f} s", flush=True
        )
        for kernel, seconds in Counter(first["own"]).most_common(arguments.slowest):
            print(f"    {seconds:6.2f} s  {kernel}")
        rows.append({"scene": name, "first": first["seconds"], "again": again["seconds"], "kernels": first["kernels"]})
    print(f"raw figures in {write_rows('first-bake', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
