# SPDX-License-Identifier: GPL-3.0-or-later
"""What an invented scene has to do and did; sizes, gaps and turns at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.spec import SceneSpec

from ..core.placing import mirrored, turned

G = 9.81
Random = np.random.Generator
Floats = np.ndarray


@dataclass(frozen=True)
class Found:
    """What a scene has to do and did; missed: steps that were not solved."""

    scene: str
    scale: float
    expected: float
    measured: float
    ok: bool
    missed: int


def scale_of(random: Random) -> float:
    """A size in m, as likely in each decade."""
    return float(10.0 ** random.uniform(-3.0, 1.0))


def any_turn(random: Random) -> Rotation:
    """A turn in space, all alike likely."""
    legacy: Any = Rotation.random
    return legacy(random_state=int(random.integers(1 << 31)))


def gap_of(random: Random) -> float:
    """A gap in parts of the size."""
    size = float(10.0 ** random.uniform(-9.0, -4.0))
    return (0.0, size, -size)[random.integers(3)]


def anyhow(spec: SceneSpec, random: Random) -> tuple[SceneSpec, str]:
    """The scene turned in space, or its mirror image, or as it is, and which of these."""
    how = ("as it is", "mirrored", "turned")[random.integers(3)]
    if how == "mirrored":
        spec = mirrored(spec)
    if how == "turned":
        spec = turned(spec, any_turn(random))
    return spec, how


def film(spec: SceneSpec, seconds: float, scale: float = 1.0) -> tuple[list, int]:
    """Frames of ten steps each, a second of which is that of a scene of 1 m, and how many steps were missed."""
    clock = 24.0 / math.sqrt(scale)
    frames = sc.Simulation(replace(spec, fps=clock), substeps=10, threads=1).run(round(24 * seconds))
    return frames, sum(int((frame.statistics.status != sc.Status.SOLVED).sum()) for frame in frames[1:])


def farthest(frames: list, scale: float) -> float:
    """How far the farthest body went from where it began, in sizes of the scene."""
    return float(np.abs(frames[-1].poses[:, :3] - frames[0].poses[:, :3]).max()) / scale
