# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a farm job: one machine bakes, and many machines render the result."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FarmJob", "bake_arguments", "render_arguments"]


@dataclass(frozen=True)
class FarmJob:
    """A bake and the rendering after it.

    name: of the job.
    scene: the .blend file. scene_name: one of its scenes. baked: the file that is written and rendered. All paths are valid on
        every machine of the farm.
    first, last, step: frames to render.
    threads: of the bake, 0 for one per processor.
    kernels: shared folder of compiled kernels, "" for none.
    blender: the program.
    """

    name: str
    scene: str
    scene_name: str
    baked: str
    first: int
    last: int
    step: int = 1
    threads: int = 0
    kernels: str = ""
    blender: str = "blender"

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of the bake."""
        return {"NUMBA_CACHE_DIR": self.kernels} if self.kernels else {}


def bake_arguments(scene: str, scene_name: str, baked: str, threads: str) -> list[str]:
    """Return the arguments of Blender for the bake.

    It continues after the frames of an earlier attempt, and unconverged steps do not block the rendering.
    """
    options = ["--scene", scene_name, "--resume", "--accept-unconverged", "--threads", threads]
    return ["-b", scene, "--command", "stiction", "bake", "-o", baked, *options]


def render_arguments(scene_name: str, baked: str, frame: str) -> list[str]:
    """Return the arguments of Blender for one frame, with the output path of the file.

    The extension is not needed, because the bodies have keyframes.
    """
    return ["-b", baked, "-S", scene_name, "-f", frame]
