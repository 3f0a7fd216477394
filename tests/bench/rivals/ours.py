# SPDX-License-Identifier: GPL-3.0-or-later
"""The same film by Stiction."""

from __future__ import annotations

from collections.abc import Mapping
from time import process_time

import numpy as np
from numpy.typing import NDArray

import solver_core as sc

from .scenes import BoxScene, box_scene, spec_of

__all__ = ["film", "load_kernels"]


def film(scene: BoxScene, hz: int, options: Mapping[str, str]) -> tuple[NDArray[np.float64], float, int]:
    """Poses of each frame, seconds of the processor and missed steps. options: tolerance, of all that moves too; sleep."""
    spec = spec_of(scene)
    settings: dict[str, object] = {"substeps": hz // round(spec.fps), "sleeping": options.get("sleep") == "yes"}
    if "tolerance" in options:
        settings |= dict.fromkeys(("tolerance", "moving_tolerance"), float(options["tolerance"]))
    simulation = sc.Simulation(spec, **settings)
    poses, missed, begin = [scene.pose], 0, process_time()
    for _ in range(scene.frames):
        frame = simulation.advance()
        poses.append(frame.poses[1:])
        missed += int(np.count_nonzero(frame.statistics.status))
    return np.array(poses), process_time() - begin, missed


def load_kernels() -> None:
    """Compile or load what films call, before a clock starts."""
    for tolerance in ({}, {"tolerance": "1e-6"}):
        film(box_scene("cubes:27"), 240, tolerance)
