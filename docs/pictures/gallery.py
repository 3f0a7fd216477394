# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of docs/gallery.md: the end of each shipped scene as Stiction bakes it, and beside it as Bullet has it.

    .venv/bin/python docs/pictures/gallery.py [NAME ...]

Each scene is made by the operator of its *Add* menu with the values that it has there, baked with the defaults,
and drawn by Cycles at the last frame; then Free Bake, and Bullet plays the same file from its first frame on. Names
are those of the operators. `glued_wall` is a scene of this folder.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
# Before bpy is imported: the user's own Blender has no part in this.
RESOURCES = tempfile.TemporaryDirectory(prefix="stiction-gallery-", ignore_cleanup_errors=True)
os.environ["BLENDER_USER_RESOURCES"] = RESOURCES.name
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "numba"))

import bpy  # noqa: E402
import numpy as np  # noqa: E402
from mathutils import Vector  # noqa: E402

if TYPE_CHECKING:
    from stiction.solver_core.scene.spec import SceneSpec

PICTURES = Path(__file__).resolve().parent / "gallery"
SIZE = 400, 280
GAP = 8  # pixels of white between the two
SAMPLES = 24
COLOURS = {
    "ACTIVE": (0.85, 0.78, 0.62, 1.0),
    "PASSIVE": (0.03, 0.12, 0.07, 1.0),
    # what others move inside of, which the menu shows as wires
    "WIRE": (0.6, 0.75, 0.9, 0.15),
}
SCENES = (
    "card_house",
    "arch",
    "tower",
    "wall",
    "dominoes",
    "catenary_arch",
    "bombarded_card_house",
    "jamming_tube",
    "hanging_chain",
    "drawbridge",
    "breakable_wall",
    "chain_of_rings",
    "bar_on_four_feet",
    "rods_of_1991",
    "double_action_jack",
    "chairs",
    "bunnies_on_arches",
    "rubber_jam",
    "bookshelf",
    "diving_board",
    "glued_wall",
)
# Frames that are drawn below each other, where the last alone does not show what happens.
MOMENTS = {"glued_wall": (26, 36, 97), "diving_board": (15, 28, 78)}
LOW = 320, 152  # pixels, of each of them


def corners(objects: Iterable[bpy.types.Object]) -> np.ndarray:
    """Corners of the bounding boxes in the world, [n, 3], in m."""
    return np.array([ob.matrix_world @ Vector(corner) for ob in objects for corner in ob.bound_box])


def moving(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The bodies that the scene is about."""
    return [ob for ob in scene.rigidbody_world.collection.objects if ob.rigid_body.type == "ACTIVE"]


def paint(scene: bpy.types.Scene) -> None:
    """Ivory on green felt."""
    made = {}
    for name, colour in COLOURS.items():
        made[name] = bpy.data.materials.new(name)
        made[name].use_nodes = True
        surface = made[name].node_tree.nodes["Principled BSDF"].inputs
        surface["Base Color"].default_value, surface["Roughness"].default_value = colour, 0.6
        surface["Alpha"].default_value = colour[3]
    for ob in scene.rigidbody_world.collection.objects:
        if ob.type == "MESH":
            ob.data.materials.clear()
            ob.data.materials.append(made["WIRE" if ob.display_type == "WIRE" else ob.rigid_body.type])


def light_and_frame(scene: bpy.types.Scene, points: np.ndarray, size_drawn: tuple[int, int]) -> None:
    """A camera that sees these points (n, 3) in a picture so wide and high in pixels, a sun and a bright sky."""
    low, high = points.min(axis=0), points.max(axis=0)
    centre, size = Vector((low + high) / 2), float(np.linalg.norm(high - low))
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    direction = Vector((0.55, -1.0, 0.5)).normalized()
    camera.location = centre + 2.05 * size * direction
    camera.rotation_euler = direction.to_track_quat("Z", "Y").to_euler()
    camera.data.lens, camera.data.clip_start, camera.data.clip_end = 50.0, 0.01 * size, 100.0 * size
    sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    sun.data.energy, sun.data.angle, sun.rotation_euler = 3.0, 0.1, (0.6, -0.4, 0.0)
    for ob in (camera, sun):
        scene.collection.objects.link(ob)
    scene.camera = camera
    scene.world = scene.world or bpy.data.worlds.new("World")
    scene.world.use_nodes = True
    sky = scene.world.node_tree.nodes["Background"].inputs
    sky["Color"].default_value, sky["Strength"].default_value = (0.6, 0.7, 0.8, 1.0), 0.7
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples, scene.cycles.use_denoising = "CPU", SAMPLES, True
    scene.render.resolution_x, scene.render.resolution_y = size_drawn


def draw(scene: bpy.types.Scene, file: Path) -> np.ndarray:
    """Render the current frame; returns its pixels [rows, columns, 4], the lowest row first."""
    scene.render.filepath = str(file)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(file))
    pixels = np.array(image.pixels, dtype=np.float32).reshape(image.size[1], image.size[0], 4)
    file.unlink()
    return pixels


def write(pixels: np.ndarray, file: Path) -> None:
    """Pixels [rows, columns, 4] as a small PNG without an alpha channel."""
    image = bpy.data.images.new(file.stem, width=pixels.shape[1], height=pixels.shape[0])
    image.pixels.foreach_set(pixels.ravel())
    settings = bpy.context.scene.render.image_settings
    settings.file_format, settings.color_mode, settings.compression = "PNG", "RGB", 100
    # as the pixels are: they have been through the view transform already
    bpy.context.scene.view_settings.view_transform = "Standard"
    image.save_render(str(file))


def add(name: str) -> SceneSpec | None:
    """Make the scene in an empty file; returns what it was made of, where it is one of this folder."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if name != "glued_wall":
        getattr(bpy.ops.stiction, f"add_{name}")()
        return None
    from glued_wall import glued_wall

    from stiction.addon.demos.demo_scene import build_scene

    spec = glued_wall()
    build_scene(bpy.context, spec, "Glued Wall")
    return spec


def poses(spec: SceneSpec) -> list[np.ndarray]:
    """World matrices (4, 4) of the bodies at the current frame."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return [np.array(bpy.data.objects[body.name].evaluated_get(depsgraph).matrix_world) for body in spec.bodies]


def play(file: Path, moments: tuple[int, ...], spec: SceneSpec | None) -> tuple[np.ndarray, np.ndarray, float]:
    """Play the scene from its first frame on: moments below each other, poses [frames, bodies, 4, 4], s of the processor."""
    scene, rows, film, seconds = bpy.context.scene, [], [], 0.0
    white = np.ones((GAP, scene.render.resolution_x, 4), dtype=np.float32)
    for frame in range(scene.frame_start, scene.frame_end + 1):
        begin = time.process_time()
        scene.frame_set(frame)
        seconds += time.process_time() - begin
        if spec is not None:
            film.append(poses(spec))
        if frame in moments:
            rows = [draw(scene, file), *([white] if rows else []), *rows]
    return np.concatenate(rows), np.array(film), seconds


def make(name: str) -> None:
    """Bake, draw, free, play with Bullet, draw, and put both side by side."""
    spec = add(name)
    scene = bpy.context.scene
    scene.stiction.cache_directory = str(Path(RESOURCES.name) / "cache")
    # a ball that rolls away is no part of what is framed
    bodies = [ob for ob in moving(scene) if spec is None or ob.name != "Ball"]
    points = [corners(bodies)]
    paint(scene)
    begin = time.perf_counter()
    bpy.ops.stiction.bake()
    seconds, missed = time.perf_counter() - begin, scene.stiction.bake.missed_steps
    scene.frame_set(scene.frame_end)
    points.append(corners(bodies))
    light_and_frame(scene, np.concatenate(points), LOW if name in MOMENTS else SIZE)
    file, moments = PICTURES / f"{name}.png", MOMENTS.get(name, (scene.frame_end,))
    ours, our_film, _ = play(file, moments, spec)
    bpy.ops.stiction.free_bake()
    bullets, bullets_film, bullets_seconds = play(file, moments, spec)
    white = np.ones((len(ours), GAP, 4), dtype=np.float32)
    write(np.concatenate([ours, white, bullets], axis=1), file)
    print(f"gallery: {file.name}: baked in {seconds:.0f} s, {missed} steps missed, {file.stat().st_size} bytes", flush=True)
    print(f"gallery: {name}: Bullet {bullets_seconds:.1f} s of the processor", flush=True)
    if spec is not None:
        from glued_wall import figures

        print(f"gallery: baked: {figures(spec, our_film)}\ngallery: Bullet: {figures(spec, bullets_film)}", flush=True)


def main() -> None:
    """Make the pictures that are named, or all."""
    sys.path.insert(0, str(ROOT / "tests" / "addon"))
    from loading import load_extension

    extension = load_extension()
    PICTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or SCENES:
        extension.register()
        make(name)
        # the process that baked ends with it, and its time is known
        before = os.times()
        extension.unregister()
        after = os.times()
        baked = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"gallery: {name}: baked in {baked:.1f} s of the processor", flush=True)


if __name__ == "__main__":
    main()
