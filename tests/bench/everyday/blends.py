# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments built with Blender's own objects, saved as .blend files, and baked by `stiction bake` in another process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from solver_core.dynamics.model.frame import Frame
from solver_core.io.cache import FrameCacheReader
from solver_core.io.snapshot import read_snapshot, write_snapshot
from solver_core.scene.spec import BodyKind, SceneSpec, SolverSettings

from ...addon.loading import ROOT, load_extension
from ...core.placing import Placement
from .experiment import FPS, Experiment, Film
from .running import film_of, prepared

__all__ = ["baked", "save_blend"]

CONSOLE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("stiction", {root!r} + "/__init__.py", submodule_search_locations=[{root!r}])
sys.modules["stiction"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["stiction"])
from stiction.addon.command.console import main
sys.exit(main())
"""


def baked(experiment: Experiment, rate: int) -> Film:
    """Save the experiment as a .blend file, bake it with so many steps a second, and read its cache.

    Raises RuntimeError with what the bake said if it fails; steps that missed the tolerance are counted in the film.
    """
    spec = prepared(experiment.spec, experiment.seconds)
    with tempfile.TemporaryDirectory(prefix="stiction-everyday-") as folder:
        source, cache = Path(folder) / "scene.blend", Path(folder) / "cache"
        save_blend(spec, rate // FPS, source)
        command = [sys.executable, "-c", CONSOLE.format(root=str(ROOT)), "bake", str(source)]
        command += ["-o", str(Path(folder) / "baked.blend"), "--cache", str(cache), "--accept-unconverged", "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), cwd=folder, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"stiction bake ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        frames, names = read_cache(cache)
    order = [names.index(body.name) for body in spec.bodies]
    pictures = [reordered(frame, order) for frame in frames]
    return film_of(spec, pictures, pictures[1:], Placement(), (1.0 / FPS, 1.0 / rate))


def read_cache(folder: Path) -> tuple[list[Frame], list[str]]:
    """All frames of the one bake in a folder, and the names of its bodies in their order."""
    snapshots = sorted(folder.rglob("*.snapshot"))
    caches = sorted(folder.rglob("*.cache"))
    if len(snapshots) != 1 or len(caches) != 1:
        raise RuntimeError(f"{folder} has {[str(path) for path in folder.rglob('*')]}: no bake or several")
    return list(FrameCacheReader(caches[0])), [body.name for body in read_snapshot(snapshots[0])[0].bodies]


def reordered(frame: Frame, order: list[int]) -> Frame:
    """The frame with its bodies in another order."""
    return replace(frame, poses=frame.poses[order], velocities=frame.velocities[order])


def save_blend(spec: SceneSpec, substeps: int, path: Path) -> None:
    """Build the scene in an empty file and save it."""
    load_extension()
    import bpy

    import stiction
    from stiction.addon.demos.demo_scene import build_scene
    from stiction.solver_core.io.snapshot import read_snapshot as read_there

    if not hasattr(bpy.types.Scene, "stiction"):
        stiction.register()
    # the add-on has classes of its own for what a scene consists of
    handed = path.with_suffix(".handed")
    write_snapshot(handed, spec, SolverSettings())
    there = read_there(handed)[0]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    build_scene(bpy.context, there, "Everyday")
    bpy.context.scene.rigidbody_world.substeps_per_frame = substeps
    for body in spec.bodies:
        if body.kind is BodyKind.ANIMATED:
            assert body.path is not None
            key_path(bpy.data.objects[body.name], body.path, spec.frame_start)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))


def key_path(ob: Any, path: np.ndarray, start: int) -> None:
    """Keys of an animated body at every frame of its path."""
    from stiction.addon.blender import actions

    ob.rigid_body.kinematic = True
    for number, pose in enumerate(path):
        ob.location, ob.rotation_quaternion = pose[:3].tolist(), pose[3:].tolist()
        for channel in ("location", "rotation_quaternion"):
            ob.keyframe_insert(channel, frame=start + number)
    for curve in actions.curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
