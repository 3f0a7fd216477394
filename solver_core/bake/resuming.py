# SPDX-License-Identifier: GPL-3.0-or-later
"""Resuming of a bake: the state of the simulation at the end of its cache, and the statistics of the existing frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics.model.checkpoints import checkpoint_problem, missing_in, of_this_version
from ..dynamics.model.frame import Frame
from ..io.cache import CacheError, FrameCacheReader
from ..io.cache_writer import FrameCacheWriter
from ..scene.spec import SceneSpec, SceneWarning
from .joints import broken_joints
from .report import frame_summary

if TYPE_CHECKING:
    from ..dynamics.simulation import Simulation

__all__ = ["came_out_otherwise", "go_on", "is_same_motion", "told_so_far"]

Arrays = Mapping[str, NDArray[Any]]


def go_on(simulation: Simulation, writer: FrameCacheWriter, there: FrameCacheReader) -> tuple[int, Sequence[SceneWarning]]:
    """Bring a simulation to the newest checkpoint of the cache, or to the end of its frames from other bakes.

    Returns the number of the next frame, which may be in the cache already, and warnings if the bake continues after frames of
    another bake. Raises CacheError if the checkpoint is invalid.
    """
    last = writer.last
    if last is None:
        return writer.info.frame_start, ()
    part = writer.info.earlier[-1].last_frame if writer.info.earlier else None
    whole = None if last.checkpoint is None else of_this_version(last.checkpoint.arrays)
    refuse_odd_checkpoint(whole, last.seam, simulation, there.path)
    if whole is not None and last.checkpoint is not None and (part is None or last.checkpoint.frame > part):
        simulation.restore(last.checkpoint.frame, whole)
        return last.checkpoint.frame + 1, ()
    if part is None or last.seam is None:
        return writer.info.frame_start, ()
    return part + 1, simulation.take_up(there.read(part), last.seam)


def refuse_odd_checkpoint(whole: Arrays | None, seam: Arrays | None, simulation: Simulation, path: str) -> None:
    """Raise CacheError if the checkpoint is invalid, because kernels do not check it."""
    like = simulation.checkpoint()
    missing = [] if whole is None else missing_in(whole, like)
    problem = f"it has no {missing[0]!r}" if missing else ""
    # The scene may no longer have joints that record joint frames when they are enabled.
    handed_over = {name: array for name, array in (seam or {}).items() if name in like or name != "joint_attached"}
    for arrays in (whole or {}, handed_over):
        problem = problem or checkpoint_problem(arrays, like)
    if problem:
        raise CacheError(f"{path}: its checkpoint is invalid: {problem}; bake anew")


def told_so_far(there: FrameCacheReader, frames: Iterable[int], spec: SceneSpec) -> tuple[int, tuple[str, ...], set[str]]:
    """Return the number of unconverged steps of frames in the cache, and the joints that were broken or had errors."""
    missed, broken, gave_way = 0, tuple[str, ...](), set[str]()
    for frame in map(there.read, frames):
        missed += frame_summary(frame.statistics)["missed_steps"]
        broken = broken_joints(frame, spec)
        gave_way |= {spec.joints[k].name for k in np.flatnonzero(frame.giving_way)}
    return missed, broken, gave_way


def is_same_motion(a: Frame, b: Frame) -> bool:
    """Return whether two frames are identical bit for bit."""
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in ("poses", "velocities", "modal"))


def came_out_otherwise(number: int, cache: str) -> SceneWarning:
    """Return the warning about a frame that differs from the one in the cache."""
    message = (
        f"frame {number} came out different when it was simulated again, so it and later frames are baked anew; "
        "another processor or another version of Stiction baked them"
    )
    return SceneWarning((cache,), "cache", message)
