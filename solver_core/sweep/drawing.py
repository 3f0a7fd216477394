# SPDX-License-Identifier: GPL-3.0-or-later
"""A small picture of bodies at a frame, as SVG: their shapes in parallel projection from the front, right and above.

Fixed bodies are drawn first, then the others from back to front, each with its faces toward the viewer. This is exact for
convex bodies of equal size, and good enough to show at a glance what still stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from ..geometry.body_mass import body_mass_properties, radius_of_link
from ..geometry.compounds import Part, parts
from ..geometry.hulls import convex_hull
from ..scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

__all__ = ["Solid", "View", "picture", "solids_of", "view_of"]

Array = NDArray[np.float64]

PICTURE_WIDTH, PICTURE_HEIGHT = 240, 180
# Free border around the bodies, relative to the width and the height.
BORDER = 0.06
# Bodies that end farther from the center of the initial bodies, in sizes of these, are outside the picture.
FARTHEST_SHOWN = 1.5
# Corners of a circle, and largest number of separately drawn triangles; of a finer mesh, the hull is drawn.
CORNERS_OF_CIRCLE = 20
MOST_TRIANGLES = 200
# Of more bodies than these, only outlines are drawn.
MOST_WITH_FACES = 150
# Smallest cosine between a plane's normal and the view; below it, the plane is seen edge-on.
EDGE_ON = 1e-6

TOWARDS_VIEWER = np.array([0.45, -1.0, 0.5]) / np.linalg.norm([0.45, -1.0, 0.5])
RIGHTWARDS = np.cross([0.0, 0.0, 1.0], TOWARDS_VIEWER) / np.linalg.norm(np.cross([0.0, 0.0, 1.0], TOWARDS_VIEWER))
AXES_OF_VIEW = np.array([RIGHTWARDS, np.cross(TOWARDS_VIEWER, RIGHTWARDS), TOWARDS_VIEWER])
LIGHT = np.array([-0.3, -0.6, 0.9]) / np.linalg.norm([-0.3, -0.6, 0.9])
COLOURS = {"stands": (0, 114, 178), "fell": (213, 94, 0), "fixed": (190, 190, 190), "ground": (236, 236, 232)}


@dataclass(frozen=True)
class Solid:
    """A part of a body, in body axes.

    corners: (n, 3) [m].
    faces: corner indices of each face, counterclockwise from outside.
    radius: thickness added all around [m].
    has_two_sides: True if faces are also visible from behind, as those of a mesh.
    """

    corners: Array
    faces: tuple[NDArray[np.int64], ...]
    radius: float
    has_two_sides: bool


@dataclass(frozen=True)
class View:
    """The visible part of the projection plane.

    middle: (2,) center, to the right and upward [m].
    scale: pixels per meter.
    """

    middle: Array
    scale: float

    def pixels(self, points: Array) -> Array:
        """Convert points (n, 3) [m] to pixels (n, 2), the second coordinate downward."""
        flat = (points @ AXES_OF_VIEW[:2].T - self.middle) * self.scale
        return flat * [1.0, -1.0] + [PICTURE_WIDTH / 2.0, PICTURE_HEIGHT / 2.0]


def solids_of(spec: SceneSpec) -> tuple[tuple[Solid, ...] | None, ...]:
    """Return the drawable parts of each body: None for a plane, and a ball for a moving body without a collider."""
    return tuple(None if body.shape.kind is ShapeKind.PLANE else solids_of_body(body) for body in spec.bodies)


def solids_of_body(body: BodySpec) -> tuple[Solid, ...]:
    """Return the drawable parts of a body that is not a plane."""
    if body.shape.kind is not ShapeKind.NONE:
        return tuple(solid_of(part) for part in parts(body.shape))
    if body.kind is not BodyKind.ACTIVE:
        return ()
    return (Solid(body_mass_properties(body).center_of_mass[None], (), radius_of_link(body), False),)


def solid_of(part: Part) -> Solid:
    shape = part.shape
    is_surface = shape.kind is ShapeKind.MESH and len(shape.triangles) <= MOST_TRIANGLES
    if is_surface:
        points, faces = shape.vertices, tuple(shape.triangles.astype(np.int64))
    else:
        hull = convex_hull(rounded(shape))
        points, faces = hull.vertices, tuple(hull.face(k) for k in range(hull.face_count))
    return Solid(points @ part.rotation.T + part.position, faces, shape.margin, is_surface)


def rounded(shape: ShapeSpec) -> Array:
    """Return the corners of a shape; for a cylinder or a cone, points on its circles."""
    if shape.kind not in (ShapeKind.CYLINDER, ShapeKind.CONE):
        return shape.vertices
    base, top = shape.vertices
    axis = (top - base) / np.linalg.norm(top - base)
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    angle = 2.0 * np.pi * np.arange(CORNERS_OF_CIRCLE) / CORNERS_OF_CIRCLE
    circle = shape.radius * (np.outer(np.cos(angle), across) + np.outer(np.sin(angle), np.cross(axis, across)))
    return np.vstack([base + circle, top + circle if shape.kind is ShapeKind.CYLINDER else top[None]])


def view_of(spec: SceneSpec, solids: Sequence[tuple[Solid, ...] | None], poses: Iterable[Array]) -> View:
    """Return a common view for all pictures, of the active bodies at all given poses (bodies, 7).

    The first poses are the initial ones.
    """
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    moving = [k for k, body in enumerate(spec.bodies) if body.kind is BodyKind.ACTIVE and solids[k] is not None]
    start = None
    for all_poses in poses:
        bounds = np.array([bounds_of(solids[k] or (), all_poses[k]) for k in moving])
        if start is None:
            low, high = bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)
            size = float((high - low).max())
            start = (low + high) / 2.0 - FARTHEST_SHOWN * size, (low + high) / 2.0 + FARTHEST_SHOWN * size
        inside = ((bounds[:, 0] >= start[0]) & (bounds[:, 1] <= start[1])).all(axis=1)
        if inside.any():
            low, high = np.minimum(low, bounds[inside, 0].min(axis=0)), np.maximum(high, bounds[inside, 1].max(axis=0))
    room = np.array([PICTURE_WIDTH, PICTURE_HEIGHT]) * (1.0 - 2.0 * BORDER)
    return View((low + high) / 2.0, float((room / np.maximum(high - low, 1e-9)).min()))


def bounds_of(solids: Sequence[Solid], pose: Array) -> Array:
    """Return the bounds (2, 2) in the projection plane [m]."""
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for solid in solids:
        flat = placed(solid, pose) @ AXES_OF_VIEW[:2].T
        low, high = np.minimum(low, flat.min(axis=0) - solid.radius), np.maximum(high, flat.max(axis=0) + solid.radius)
    return np.array([low, high])


def placed(solid: Solid, pose: Array) -> Array:
    return Rotation.from_quat(np.roll(pose[3:], -1)).apply(solid.corners) + pose[:3]


def picture(
    spec: SceneSpec, solids: Sequence[tuple[Solid, ...] | None], view: View, poses: Array, stands: Sequence[bool]
) -> str:
    """Return the SVG of the bodies at poses (bodies, 7).

    stands: for each body, the state that determines the color of an active body.
    """
    drawn = []
    for number, body in enumerate(spec.bodies):
        parts, pose = solids[number], poses[number]
        if parts is None:
            drawn.append((0, 0.0, plane(view, pose)))
            continue
        if not parts:
            continue
        is_active = body.kind is BodyKind.ACTIVE
        colour = COLOURS[("stands" if stands[number] else "fell") if is_active else "fixed"]
        depth = float(np.mean([placed(solid, pose).mean(axis=0) for solid in parts], axis=0) @ TOWARDS_VIEWER)
        with_faces = len(spec.bodies) <= MOST_WITH_FACES
        drawn.append(
            (2 if is_active else 1, depth, "".join(drawing_of(solid, view, pose, colour, with_faces) for solid in parts))
        )
    inner = "".join(path for _, _, path in sorted(drawn, key=lambda one: one[:2]))
    box = f"width='{PICTURE_WIDTH}' height='{PICTURE_HEIGHT}' viewBox='0 0 {PICTURE_WIDTH} {PICTURE_HEIGHT}'"
    return f"<svg class='picture' {box} role='img' aria-label='the bodies at the last frame'>{inner}</svg>"


def drawing_of(solid: Solid, view: View, pose: Array, colour: tuple[int, int, int], with_faces: bool) -> str:
    points = placed(solid, pose)
    flat = view.pixels(points)
    width = max(0.4, 2.0 * solid.radius * view.scale)
    if not with_faces or not solid.faces or solid.radius > 0.0:
        return path_of(flat[outline(flat)], shade(colour, 0.85), shade(colour, 0.85 if solid.radius else 0.5), width)
    faces = []
    for face in solid.faces:
        normal = np.cross(points[face[1]] - points[face[0]], points[face[2]] - points[face[0]])
        length = float(np.linalg.norm(normal))
        side = 1.0 if normal @ TOWARDS_VIEWER > 0.0 else -1.0
        if length > 0.0 and (side > 0.0 or solid.has_two_sides):
            light = 0.6 + 0.4 * max(0.0, side * float(normal @ LIGHT) / length)
            faces.append(
                (
                    float(points[face].mean(axis=0) @ TOWARDS_VIEWER),
                    path_of(flat[face], shade(colour, light), shade(colour, 0.45), width),
                )
            )
    return "".join(path for _, path in sorted(faces, key=lambda one: one[0]))


def outline(flat: Array) -> NDArray[np.int64]:
    """Return the corners of the convex hull of points in the plane, in order; all points if they are collinear."""
    try:
        return ConvexHull(flat).vertices.astype(np.int64)
    except (QhullError, ValueError):
        return np.arange(len(flat))


def plane(view: View, pose: Array) -> str:
    """Return a part of a plane of about the size of the picture."""
    half = 2.0 * PICTURE_WIDTH / view.scale
    middle = view.middle @ AXES_OF_VIEW[:2]
    turn = Rotation.from_quat(np.roll(pose[3:], -1))
    square = half * np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    normal = turn.apply([0.0, 0.0, 1.0])
    # the center of the view, projected onto the plane
    towards = float(normal @ TOWARDS_VIEWER)
    if abs(towards) > EDGE_ON:
        middle = middle + TOWARDS_VIEWER * float(normal @ (pose[:3] - middle)) / towards
    return path_of(view.pixels(turn.apply(square) + middle), shade(COLOURS["ground"], 1.0), "none", 0.0)


def path_of(flat: Array, fill: str, stroke: str, width: float) -> str:
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in flat)
    return f"<path d='M{corners}Z' fill='{fill}' stroke='{stroke}' stroke-width='{width:.1f}'/>"


def shade(colour: tuple[int, int, int], light: float) -> str:
    return "#" + "".join(f"{round(min(255.0, light * part)):02x}" for part in colour)
