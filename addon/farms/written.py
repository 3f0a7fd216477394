# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the job of an open scene for a farm."""

from __future__ import annotations

import tempfile
from pathlib import Path

import bpy
from bpy.types import Scene

from ...solver_core.io.outputs import write_output
from ...solver_core.process.command_line import UsageError
from .farm_job import FarmJob
from .kinds import Farm

__all__ = ["job_of", "surprises_of", "write_job"]


def job_of(
    scene: Scene, *, baked: str | None = None, threads: int = 0, kernels: str | None = None, blender: str = "blender"
) -> FarmJob:
    """Return the job of a scene of the open file. baked: the file with keyframes, by default beside the .blend file.

    Raises UsageError if the file was never saved, or would be overwritten by the bake.
    """
    if not bpy.data.filepath:
        raise UsageError("the file is not saved yet; save it where the farm finds it")
    file = Path(bpy.data.filepath).resolve()
    target = file.with_name(f"{file.stem}_baked.blend") if baked is None else Path(baked).resolve()
    if target == file:
        raise UsageError(f"{target}: a restarted bake needs the original scene; name another file for the baked one")
    return FarmJob(
        name=f"{file.stem}: bake and render",
        scene=str(file),
        scene_name=scene.name,
        baked=str(target),
        first=scene.frame_start,
        last=scene.frame_end,
        step=scene.frame_step,
        threads=threads,
        kernels="" if kernels is None else str(Path(kernels).resolve()),
        blender=blender,
    )


def surprises_of(scene: Scene) -> list[str]:
    """Yield warnings about paths of a scene that are local to each machine of a farm."""
    warnings = []
    for name, folder in (
        ("the cache folder", scene.stiction.cache_directory),
        ("the render output", scene.render.filepath),
    ):
        place = Path(bpy.path.abspath(folder))
        if place.is_relative_to(Path(tempfile.gettempdir())) or place.is_relative_to("/tmp"):
            warnings.append(f"{name} is {place}, which is local to each machine of a farm; choose a shared folder")
    return warnings


def write_job(farm: Farm, job: FarmJob, file: Path) -> None:
    """Write the job to a file. Raises UsageError where a farm could not have it there, PathRefused where something else is, and
    OSError."""
    write_output(file, farm.kind, farm.text(job, file.resolve().parent).encode())
