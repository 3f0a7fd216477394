# SPDX-License-Identifier: GPL-3.0-or-later
"""An outline of OpenCue: a Python script for `pycuerun`, with a layer that bakes and a layer that renders after it."""

from __future__ import annotations

from pathlib import Path

from .farm_job import FarmJob, bake_arguments, render_arguments

__all__ = ["opencue_outline"]

SCRIPT_OF_OUTLINE = """\
# Stiction: an outline for OpenCue. Launch it with: pycuerun THIS_FILE
# One frame bakes the rigid bodies to keyframes, then every frame is rendered.

from outline.modules.shell import Shell, ShellCommand

environment = {environment!r}
bake = ShellCommand(
    "bake",
    command={bake!r},
    env=environment,
)
render = Shell(
    "render",
    command={render!r},
    range={frames!r},
    chunk=1,
)
render.depend_on(bake)
"""


def opencue_outline(job: FarmJob, _folder: Path) -> str:
    """Return the script; its second layer depends on the first."""
    bake = [job.blender, *bake_arguments(job.scene, job.scene_name, job.baked, str(job.threads))]
    render = [job.blender, *render_arguments(job.scene_name, job.baked, "%{FRAME}")]
    frames = f"{job.first}-{job.last}" + (f"x{job.step}" if job.step > 1 else "")
    return SCRIPT_OF_OUTLINE.format(environment=job.environment, bake=bake, render=render, frames=frames)
