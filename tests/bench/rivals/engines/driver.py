# SPDX-License-Identifier: GPL-3.0-or-later
"""A film in an engine whose script this is called from: SCENE.json POSES.npz HZ OPTION=VALUE ...

Runs in the rivals' own environment, with numpy alone beside the engine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

__all__ = ["run"]

# (scene, steps a second, options) -> what makes a step, and what gives poses
Make = Callable[[Mapping[str, Any], int, Mapping[str, str]], tuple[Callable[[], object], Callable[[], Any]]]


def run(make: Make, limit: float = 300.0) -> None:
    """Simulate the scene, frame by frame, and write its poses and the seconds of the processor that its steps took; a run that
    takes more than `limit` of them ends early."""
    source, target, hz, *given = sys.argv[1:]
    scene = json.loads(Path(source).read_text(encoding="utf-8"))
    options = dict(option.split("=", 1) for option in given)
    step, poses = make(scene, int(hz), options)
    frames, seconds = [np.array(poses(), dtype=float)], 0.0
    while len(frames) <= scene["frames"] and seconds < limit:
        begin = process_time()
        for _ in range(int(hz) // scene["fps"]):
            step()
        seconds += process_time() - begin
        frames.append(np.array(poses(), dtype=float))
    np.savez(target, poses=np.array(frames), seconds=seconds)
