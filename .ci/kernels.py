"""Compile the kernels that most scenes call, in two processes; with all of them compiled it takes a few seconds.

One process begins with the solvers, the other with collision, and they go through the scenes in opposite order: a kernel that
one of them is compiling, the other waits for (solver_core/compile/kernel_lock.py).
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver_core.scene.spec import SceneSpec

ROOT = Path(__file__).resolve().parent.parent
SHARES = ("solvers", "collision")


def scenes() -> list[SceneSpec]:
    """Small scenes that together have every shape, each on itself, on the others and on a mesh; one body is too fast."""
    import numpy as np

    from solver_core import scenes
    from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

    box, cylinder, cone = scenes.box_shape((0.2, 0.2, 0.2)), scenes.cylinder_shape(0.1, 0.2), scenes.cone_shape(0.1, 0.2)
    wedge = ShapeSpec(ShapeKind.HULL, np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]], dtype=float))
    ball = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.1)
    solid = ShapeSpec(ShapeKind.MESH, box.vertices, box.triangles)
    sheet = np.array([[-3, -3, 0], [3, -3, 0], [3, 3, 0], [-3, 3, 0], [0, 4, 1]], dtype=float)
    ground = ShapeSpec(ShapeKind.MESH, sheet, np.array([[0, 1, 2], [0, 2, 3], [3, 2, 4]], dtype=np.int32))
    pair = ShapeSpec(ShapeKind.COMPOUND, children=(ChildSpec(box), ChildSpec(ball, np.array([0.2, 0.0, 0.0]))))

    def heap(floor: ShapeSpec, *shapes: ShapeSpec) -> SceneSpec:
        """On every shape of those given stands each of them, and into them flies the first one."""
        places = enumerate(itertools.product(shapes, repeat=2))
        bodies = [BodySpec("Floor", BodyKind.PASSIVE, floor)]
        for number, (lower, upper) in places:
            for part, (shape, height) in enumerate(((lower, 0.1), (upper, 0.299))):
                at = np.array([0.5 * (number % 5) - 1.0, 0.5 * (number // 5) - 1.0, height])
                bodies.append(BodySpec(f"{number}.{part}", BodyKind.ACTIVE, shape, position=at, density=500.0))
        at, velocity = np.array([-3.0, 0.0, 0.3]), np.array([90.0, 0.0, 0.0])
        bodies.append(BodySpec("Fast", BodyKind.ACTIVE, shapes[0], at, velocity=velocity, mass=1.0))
        return SceneSpec(tuple(bodies), frame_end=3)

    plane = ShapeSpec(ShapeKind.PLANE)
    return [
        scenes.card_house(levels=2),
        heap(plane, box, wedge, ball, pair),
        heap(plane, cylinder, cone, box, ball, wedge),
        heap(ground, solid, box, ball, wedge, pair),
        heap(ground, cylinder, cone, solid),
    ]


def solve_all() -> None:
    """One small problem by every method."""
    import numpy as np

    import solver_core as sc

    generator = np.random.default_rng(1)
    jacobian = generator.normal(size=(12, 12))
    problem = sc.ContactProblem.from_delassus(jacobian @ jacobian.T, generator.normal(size=12), np.full(4, 0.5))
    for staggering in ("accelerated", "plain", "published"):
        sc.solve(problem, staggering=staggering, max_iterations=20)
    sc.solve(problem, "pivot", max_iterations=20)
    sc.solve(problem, "lemke", static_friction="signs")
    sc.solve(problem, "lemke", static_friction="creep", creep_speed=0.01)


def compile_share(share: str) -> None:
    """Compile, in this process, what its scenes call."""
    from solver_core.compile.kernel_cache import use_kernel_cache

    use_kernel_cache()
    from solver_core import Simulation

    if share == "solvers":
        solve_all()
    for spec in scenes()[:: -1 if share == "solvers" else 1]:
        Simulation(spec, substeps=4, max_iterations=20).run(2)
    Simulation(scenes()[0], method="pivot", substeps=2, max_iterations=20).run(1)


def main() -> None:
    """Compile all shares at the same time."""
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "numba"))
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path}
    begin = time.monotonic()
    running = [subprocess.Popen([sys.executable, __file__, share], cwd=ROOT, env=environment) for share in SHARES]
    if any([process.wait() for process in running]):
        sys.exit("kernels: a process that compiles failed, see above")
    print(f"kernels: compiled, or found compiled, in {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compile_share(sys.argv[1])
    else:
        main()
