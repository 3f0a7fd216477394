# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of the demo that run inside Blender: demo_stages.py STAGE OUTCOME [ARGUMENT]; see demo.py.

Each stage begins in a Blender of its own and writes what it found to OUTCOME as its last act.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

MODULE = "bl_ext.user_default.stiction"
HERE = Path.cwd()
BUILT_FILE = HERE / "built.blend"
BAKED_FILE = HERE / "card_house.blend"
REPORT_FILE = HERE / "bake.json"
PICTURES = HERE / "pictures"

BUILT_CORNERS = HERE / "built.npy"
SECONDS = 10.0
SETTLING_SECONDS = 0.5


def install(package: str) -> dict:
    """Install the zip as dropping it on Blender does, and make sure that numba comes from its wheels."""
    bpy.ops.extensions.package_install_files(filepath=package, repo="user_default", enable_on_install=True)
    import numba

    origin = Path(numba.__file__).resolve()
    if not origin.is_relative_to((HERE / "user").resolve()):
        raise RuntimeError(f"numba comes from {origin}, not from the wheels of the extension")
    blender, name = bpy.app.version_string, Path(package).name
    return {
        "said": f"{name} in Blender {blender}, with numba {numba.__version__} from its wheels",
        "blender": blender,
        "python": sys.version.split()[0],
        "numba": str(origin),
    }


def scene() -> dict:
    """Add the card house with the operator of the Add menu, light it, and save the file."""
    enable_extension()
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    bpy.ops.stiction.add_card_house()
    here = bpy.context.scene
    frames = set_length(here)
    np.save(BUILT_CORNERS, corners_of(matrices(body_names(here))[None], body_names(here))[0])
    paint(here)
    light_and_frame(here)
    bpy.ops.wm.save_as_mainfile(filepath=str(BUILT_FILE))
    count = len(active_bodies(here))
    return {
        "said": f"{count} cards, whose pairs have the friction {friction_of(here)}",
        "title": f"Card house of {count} cards",
        "frames": frames,
        "fps": here.render.fps / here.render.fps_base,
    }


def bullet() -> dict:
    """Play the file with Blender's own rigid bodies, then draw and measure it."""
    here = open_scene(BUILT_FILE)
    settings = bullet_settings(here)
    return {"said": f"{settings}, as Blender sets them", **measure_and_draw(here, body_names(here), "bullet")}


def bullet_settings(here: bpy.types.Scene) -> str:
    """Bullet's settings in words."""
    world = here.rigidbody_world
    return f"{world.substeps_per_frame} substeps and {world.solver_iterations} iterations"


def bake() -> dict:
    """Bake with the extension's operators, to keyframes, and save the file."""
    enable_extension()
    here = open_scene(BUILT_FILE)
    here["baked"] = body_names(here)
    bpy.ops.stiction.bake(report_path=str(REPORT_FILE))
    bpy.ops.stiction.bake_to_keyframes()
    bpy.ops.wm.save_as_mainfile(filepath=str(BAKED_FILE))
    totals = json.loads(REPORT_FILE.read_text(encoding="utf-8"))["totals"]
    steps, contacts, seconds = totals["steps"], totals["most_contacts"], totals["seconds"]
    return {"said": f"{steps} time steps with up to {contacts} contacts in {seconds:.1f} s, written as keyframes", **totals}


def measure() -> dict:
    """Measure and draw the keyframes of the baked file in a Blender in which the extension is not even switched on."""
    if MODULE in bpy.context.preferences.addons:
        bpy.ops.preferences.addon_disable(module=MODULE)
    here = open_scene(BAKED_FILE)
    result = measure_and_draw(here, list(here["baked"]), "stiction")
    join_pictures()
    return {"said": f"{here.frame_end - here.frame_start + 1} frames", **result}


def enable_extension() -> None:
    """Switch the extension on where it is not."""
    if MODULE not in bpy.context.preferences.addons:
        bpy.ops.preferences.addon_enable(module=MODULE)


def open_scene(file: Path) -> bpy.types.Scene:
    """Open a file of the demo, and return its scene."""
    bpy.ops.wm.open_mainfile(filepath=str(file))
    return bpy.context.scene


def set_length(here: bpy.types.Scene) -> int:
    """Make scene and simulation ten seconds long; returns the number of frames."""
    frames = round(SECONDS * here.render.fps / here.render.fps_base)
    here.frame_start, here.frame_end = 1, 1 + frames
    here.rigidbody_world.point_cache.frame_start, here.rigidbody_world.point_cache.frame_end = 1, 1 + frames
    return frames


def active_bodies(here: bpy.types.Scene) -> list[bpy.types.Object]:
    """The bodies that move, by name."""
    bodies = here.rigidbody_world.collection.objects
    return sorted((thing for thing in bodies if thing.rigid_body.type == "ACTIVE"), key=lambda thing: thing.name)


def body_names(here: bpy.types.Scene) -> list[str]:
    """The names of the bodies that move."""
    return [thing.name for thing in active_bodies(here)]


def friction_of(here: bpy.types.Scene) -> str:
    """Friction between two equal bodies, which is the product of theirs."""
    values = {round(thing.rigid_body.friction**2, 3) for thing in active_bodies(here)}
    return " and ".join(f"{value:g}" for value in sorted(values))


def matrices(names: list[str]) -> np.ndarray:
    """Evaluated world matrices, shape [bodies, 4, 4]."""
    graph = bpy.context.evaluated_depsgraph_get()
    return np.array([bpy.data.objects[name].evaluated_get(graph).matrix_world for name in names])


def corners_of(world: np.ndarray, names: list[str]) -> np.ndarray:
    """Corners of the bodies' bounding boxes in the world, [frames, bodies, 8, 3], from matrices [frames, bodies, 4, 4]."""
    corners = np.array([bpy.data.objects[name].bound_box for name in names])
    return np.einsum("fbij,bcj->fbci", world[..., :3, :3], corners) + world[:, :, None, :3, 3]


def measure_and_draw(here: bpy.types.Scene, names: list[str], label: str) -> dict:
    """Play the scene once; draws its first, middle and last frame and returns how far the bodies move."""
    middle = (here.frame_start + here.frame_end) // 2
    pictures = {here.frame_start: f"{label}_first", middle: f"{label}_middle", here.frame_end: f"{label}_last"}
    return measured(here, play(here, names, pictures), names)


def play(here: bpy.types.Scene, names: list[str], pictures: dict[int, str] | None = None) -> np.ndarray:
    """Go through all frames in order, and draw those named in `pictures`; returns world matrices [frames, bodies, 4, 4]."""
    poses = []
    for frame in range(here.frame_start, here.frame_end + 1):
        here.frame_set(frame)
        poses.append(matrices(names))
        if pictures and frame in pictures:
            draw(here, pictures[frame])
    return np.array(poses)


def measured(here: bpy.types.Scene, world: np.ndarray, names: list[str]) -> dict:
    """How far the bodies move after the first half second, and how far they ever are from where they were built."""
    points = corners_of(world, names)
    settled = round(SETTLING_SECONDS * here.render.fps / here.render.fps_base)
    moved = 1e3 * np.linalg.norm(points[settled:] - points[settled], axis=-1).max(axis=(0, 2))
    return {
        "moved_mm": float(moved.max()),
        "moved_most": names[int(moved.argmax())],
        "median_mm": float(np.median(moved)),
        "cards_moved": int(np.count_nonzero(moved > 1.0)),
        "tilted_degrees": float(tilt(world[settled:]).max()),
        "from_built_mm": 1e3 * float(np.linalg.norm(points - np.load(BUILT_CORNERS), axis=-1).max()),
    }


def tilt(world: np.ndarray) -> np.ndarray:
    """Angle in degrees between each pose and the first, shape [frames, bodies].

    From the chord |R - R0|_F = sqrt(8) sin(angle / 2), which unlike the trace keeps its digits at small angles.
    """
    rotation = world[..., :3, :3] / np.linalg.norm(world[..., :3, :3], axis=-2, keepdims=True)
    chord = np.linalg.norm(rotation - rotation[0], axis=(-2, -1)) / math.sqrt(8.0)
    return np.degrees(2.0 * np.arcsin(np.clip(chord, 0.0, 1.0)))


def paint(here: bpy.types.Scene) -> None:
    """Ivory cards on green felt."""
    colours = {"ACTIVE": (0.85, 0.78, 0.62, 1.0), "PASSIVE": (0.03, 0.12, 0.07, 1.0)}
    for kind, colour in colours.items():
        material = bpy.data.materials.new(f"Demo {kind.title()}")
        material.diffuse_color = colour
        material.use_nodes = True
        surface = material.node_tree.nodes["Principled BSDF"].inputs
        surface["Base Color"].default_value, surface["Roughness"].default_value = colour, 0.6
        for thing in here.rigidbody_world.collection.objects:
            if thing.rigid_body.type == kind:
                thing.data.materials.clear()
                thing.data.materials.append(material)


def light_and_frame(here: bpy.types.Scene) -> None:
    """Put up a camera that sees the house, a sun and a bright sky."""
    bodies = active_bodies(here)
    corners = np.array([body.matrix_world @ Vector(corner) for body in bodies for corner in body.bound_box])
    low, high = corners.min(axis=0), corners.max(axis=0)
    centre, size = Vector((low + high) / 2), float(np.linalg.norm(high - low))

    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    direction = Vector((0.55, -1.0, 0.5)).normalized()
    camera.location = centre + 1.7 * size * direction
    camera.rotation_euler = direction.to_track_quat("Z", "Y").to_euler()
    camera.data.lens, camera.data.clip_start = 50.0, 0.01 * size
    sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    sun.data.energy, sun.data.angle = 3.0, math.radians(6.0)
    sun.rotation_euler = (math.radians(35.0), math.radians(-25.0), 0.0)
    for thing in (camera, sun):
        here.collection.objects.link(thing)
    here.camera = camera
    here.world = here.world or bpy.data.worlds.new("World")
    here.world.color = (0.6, 0.65, 0.7)
    here.world.use_nodes = True
    background = here.world.node_tree.nodes["Background"].inputs
    background["Color"].default_value, background["Strength"].default_value = (0.6, 0.7, 0.8, 1.0), 0.7

    # Four samples and the denoiser: a picture of sixteen took 9 s of two cores, a third of the demo, and looks the same.
    here.render.engine = "CYCLES"
    here.cycles.device, here.cycles.samples, here.cycles.use_denoising = "CPU", 4, True
    here.render.resolution_x, here.render.resolution_y, here.render.resolution_percentage = 640, 480, 100


def draw(here: bpy.types.Scene, name: str) -> None:
    """Render the current frame to pictures/NAME.png."""
    here.render.image_settings.file_format = "PNG"
    here.render.filepath = str(PICTURES / f"{name}.png")
    bpy.ops.render.render(write_still=True)


def join_pictures() -> None:
    """Put all pictures into one: Stiction above, Bullet below; first, middle and last frame from left to right."""
    rows = []
    for label in ("bullet", "stiction"):
        images = [bpy.data.images.load(str(PICTURES / f"{label}_{name}.png")) for name in ("first", "middle", "last")]
        pixels = [np.array(image.pixels).reshape(image.size[1], image.size[0], 4) for image in images]
        rows.append(np.concatenate(pixels, axis=1))
    pixels = np.concatenate(rows, axis=0)  # Blender counts rows from below
    joined = bpy.data.images.new("all", width=pixels.shape[1], height=pixels.shape[0])
    joined.pixels.foreach_set(pixels.astype(np.float32).ravel())
    joined.filepath_raw, joined.file_format = str(PICTURES / "all.png"), "PNG"
    joined.save()


STAGES = {stage.__name__: stage for stage in (install, scene, bullet, bake, measure)}

if __name__ == "__main__":
    name, outcome, *rest = sys.argv[1:]
    result = STAGES[name](*rest)
    Path(outcome).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
