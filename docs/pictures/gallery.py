# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of docs/gallery.md: the end of each shipped scene as Stiction has it, and beside it as Bullet has it.

    .venv/bin/python docs/pictures/gallery.py [NAME ...]

Each scene is made by the operator of its *Add* menu with the values, the camera, the lights and the materials that it has
there, baked with the defaults, and drawn by Cycles at the last frame; then Free Bake, and Bullet plays the same file from its
first frame on. Scenes to settle are drawn as they begin, settled, and as Bullet has them at the last frame. Names are those
of the operators. `glued_wall` and `skirt` are scenes of this folder. `house` is the card house for
the README, docs/pictures/house.png.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
# Before bpy is imported: the user's own Blender has no part in this.
RESOURCES = tempfile.TemporaryDirectory(prefix="stiction-gallery-", ignore_cleanup_errors=True)
os.environ["BLENDER_USER_RESOURCES"] = RESOURCES.name
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "numba"))

import bpy  # noqa: E402
import numpy as np  # noqa: E402

if TYPE_CHECKING:
    from stiction.solver_core.scene.spec import SceneSpec

PICTURES = Path(__file__).resolve().parent / "gallery"
SIZE = 400, 280
SIZE_OF_HOUSE = 480, 400
GAP = 8  # pixels of white between the two
SAMPLES = 8
SCENES = (
    "house",
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
    "brick_wall",
    "window",
    "lost_column",
    "falling_chimney",
    "bonded_bridge",
    "ice_on_a_lake",
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
    "conveyor",
    "roly_polies",
    "skirt",
    "table_for_twelve",
    "bin_of_mugs",
    "library_shelf",
)
# Objects of these are dropped until they rest.
SETTLED = ("table_for_twelve", "bin_of_mugs", "library_shelf")
# Frames that are drawn below each other, where the last alone does not show what happens.
MOMENTS = {
    "glued_wall": (26, 36, 97),
    "catenary_arch": (80, 96, 241),
    "diving_board": (15, 28, 78),
    "roly_polies": (1, 145),
    "skirt": (1, 24, 73),
    "falling_chimney": (66, 84, 96),
    "lost_column": (12, 28, 36),
    "window": (3, 6, 49),
    "brick_wall": (3, 16, 73),
    "bonded_bridge": (54, 72, 122),
}
LOW = 320, 152  # pixels, of each of them
HIGH = {"skirt": (320, 240)}  # the same of scenes that are tall
NARROW = 300, 240  # pixels, of each of three beside each other


def set_render(scene: bpy.types.Scene, size_drawn: tuple[int, int]) -> None:
    """Cycles, in a picture so wide and high in pixels."""
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


def size_of(name: str) -> tuple[int, int]:
    """Pixels of each drawing of a scene, from left to right and from below to above."""
    if name == "house":
        return SIZE_OF_HOUSE
    if name in SETTLED:
        return NARROW
    return HIGH.get(name, LOW) if name in MOMENTS else SIZE


def file_of(name: str) -> Path:
    """The picture of a scene."""
    return (PICTURES.parent if name == "house" else PICTURES) / f"{name}.png"


def add(name: str) -> SceneSpec | None:
    """Make the scene in an empty file; returns what it was made of, where it is one of this folder."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    # the camera of a demo suits the size of the picture
    set_render(bpy.context.scene, size_of(name))
    if name == "skirt":
        from skirt import add_skirt

        add_skirt(bpy.context)
        return None
    if name != "glued_wall":
        getattr(bpy.ops.stiction, "add_card_house" if name == "house" else f"add_{name}")()
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
    if name in SETTLED:
        settle(scene, name)
        return
    begin = time.perf_counter()
    bpy.ops.stiction.bake()
    seconds, missed = time.perf_counter() - begin, scene.stiction.bake.missed_steps
    file, moments = file_of(name), MOMENTS.get(name, (scene.frame_end,))
    ours, our_film, _ = play(file, moments, spec)
    bpy.ops.stiction.free_bake()
    bullets, bullets_film, bullets_seconds = play(file, moments, spec)
    white = np.ones((len(ours), GAP, 4), dtype=np.float32)
    write(np.concatenate([ours, white, bullets], axis=1), file)
    print(f"gallery: {file.name}: baked in {seconds:.0f} s, {missed} unconverged, {file.stat().st_size} bytes", flush=True)
    print(f"gallery: {name}: Bullet {bullets_seconds:.1f} s of the processor", flush=True)
    if spec is not None:
        from glued_wall import figures

        print(f"gallery: baked: {figures(spec, our_film)}\ngallery: Bullet: {figures(spec, bullets_film)}", flush=True)


def settle(scene: bpy.types.Scene, name: str) -> None:
    """Draw a scene to settle as it begins, settled, and as Bullet has it at the last frame, side by side."""
    file = file_of(name)
    begin = draw(scene, file)
    bullets, _, seconds = play(file, (scene.frame_end,), None)
    scene.frame_set(scene.frame_start)
    bpy.ops.stiction.settle(whole_world=True)
    white = np.ones((len(begin), GAP, 4), dtype=np.float32)
    write(np.concatenate([begin, white, draw(scene, file), white, bullets], axis=1), file)
    print(f"gallery: {file.name}: settled, {file.stat().st_size} bytes; Bullet {seconds:.1f} s of the processor", flush=True)


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
