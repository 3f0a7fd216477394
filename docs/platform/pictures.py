# SPDX-License-Identifier: GPL-3.0-or-later
"""The icon and the featured picture of the extension's page, drawn by Cycles: `.venv/bin/python docs/platform/pictures.py`."""

from __future__ import annotations

import os
import tempfile
from math import cos, pi, sin
from pathlib import Path

# Before bpy is imported: the user's own Blender has no part in this.
RESOURCES = tempfile.TemporaryDirectory(prefix="stiction-platform-", ignore_cleanup_errors=True)
os.environ["BLENDER_USER_RESOURCES"] = RESOURCES.name

import bpy  # noqa: E402
from mathutils import Vector  # noqa: E402

HERE = Path(__file__).resolve().parent
CARD = 0.063, 0.088, 0.0012  # m: width, length, thickness
LEAN = 0.53  # rad from upright, so that flat cards end side by side
SAMPLES = 12
Point = tuple[float, float, float]


def card(name: str, place: Point, turn: float) -> bpy.types.Object:
    """A card that is turned about Y."""
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=place, rotation=(0.0, turn, 0.0))
    ob = bpy.context.object
    ob.name, ob.scale = name, (CARD[2], CARD[0], CARD[1])
    return ob


def material(name: str, colour: Point) -> bpy.types.Material:
    """A dull surface."""
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = 0.55
    return made


def house(levels: int) -> None:
    """Pairs of leaning cards, with flat ones between the levels."""
    paper = material("Card", (0.86, 0.79, 0.64))
    half, high = 0.5 * CARD[1] * sin(LEAN), CARD[1] * cos(LEAN)
    pitch = 4.0 * half + 2.0 * CARD[2]
    for level in range(levels):
        pairs, floor = levels - level, level * (high + CARD[2])
        for pair in range(pairs):
            x = (pair - 0.5 * (pairs - 1)) * pitch
            for side in (-1.0, 1.0):
                card("Leaning", (x + side * half, 0.0, floor + 0.5 * high), -side * LEAN)
            if pair:
                card("Flat", (x - 0.5 * pitch, 0.0, floor + high + 0.5 * CARD[2]), 0.5 * pi)
    for ob in bpy.context.scene.objects:
        ob.data.materials.append(paper)
    bpy.ops.mesh.primitive_plane_add(size=20.0)
    bpy.context.object.data.materials.append(material("Table", (0.018, 0.075, 0.06)))


def look(size: tuple[int, int], at: Point, way: Point, lens: float) -> None:
    """A camera and a light; way: from what is looked at to the camera."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    camera.data.lens, scene.camera = lens, camera
    camera.location = Vector(at) + Vector(way)
    camera.rotation_euler = (-Vector(way)).to_track_quat("-Z", "Y").to_euler()
    lamp = bpy.data.objects.new("Lamp", bpy.data.lights.new("Lamp", "AREA"))
    scene.collection.objects.link(lamp)
    lamp.data.energy, lamp.data.size, lamp.location = 9.0, 0.5, (-0.7, -0.8, 0.9)
    lamp.rotation_euler = (-Vector(lamp.location)).to_track_quat("-Z", "Y").to_euler()
    scene.world = bpy.data.worlds.new("World")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs[0].default_value = (0.16, 0.2, 0.24, 1.0)
    scene.render.resolution_x, scene.render.resolution_y = size
    scene.render.engine, scene.cycles.samples, scene.cycles.use_denoising = "CYCLES", SAMPLES, True
    scene.view_settings.view_transform = "Standard"
    scene.render.image_settings.color_mode, scene.render.image_settings.compression = "RGB", 100


def draw(name: str, levels: int, size: tuple[int, int], at: Point, way: Point, lens: float) -> None:
    """Write a picture of a house."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    house(levels)
    look(size, at, way, lens)
    bpy.context.scene.render.filepath = str(HERE / name)
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    draw("icon.png", 2, (256, 256), (0.0, 0.0, 0.078), (-0.22, -0.55, 0.13), 85.0)
    draw("feature.png", 5, (1920, 1080), (0.0, 0.0, 0.2), (-0.5, -1.15, 0.22), 50.0)
