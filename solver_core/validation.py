"""Finds everything in a scene that cannot be simulated, before the first step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .geometry.solids import shape_mass_properties
from .geometry.surfaces import TOLERANCE, mesh_surface
from .scene.field_types import mismatches
from .scene.spec import BodyKind, BodySpec, ContactMethod, SceneSpec, SceneWarning, ShapeKind, ShapeSpec, SolverSettings

__all__ = ["SceneError", "SceneProblem", "scene_warnings", "validate", "why_no_inside"]

# What a problem is said to be about when it is about no single object.
SCENE = "Scene"
SETTINGS = "Solver settings"

# An inertia whose smallest principal moment is a smaller fraction of the largest than this cannot be told from zero.
SINGULAR = 1e-12

# How far from 1 the length of an orientation quaternion may be.
UNIT = 1e-6


@dataclass(frozen=True)
class SceneProblem:
    """One thing that is wrong: the object's name, the field's, and a sentence that says what and what to do."""

    object: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.object}: {self.field}: {self.message}"


class SceneError(ValueError):
    """The scene cannot be simulated; `problems` names every object and field that is wrong."""

    def __init__(self, problems: tuple[SceneProblem, ...]):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def validate(spec: SceneSpec, settings: SolverSettings) -> None:
    """Raise SceneError with every problem of the scene and of the settings; return when it can be simulated."""
    # what a value means can be asked once it is what it is declared to be
    problems = [*type_problems(spec, settings)] or [*scene_problems(spec), *settings_problems(settings)]
    if problems:
        raise SceneError(tuple(problems))


def scene_warnings(spec: SceneSpec) -> tuple[SceneWarning, ...]:
    """What is odd in a valid scene and can be simulated all the same.

    A dynamic coefficient above the static one is such: no dry surface has it, but each step is well posed with any pair of
    coefficients, and who animates one of the two sliders should not be stopped by the other.
    """
    return tuple(
        SceneWarning(
            (body.name,),
            "mu_dynamic",
            f"dynamic friction {body.material.mu_dynamic:g} is above static friction {body.material.mu_static:g}: "
            "what begins to slide is gripped harder and may stutter; real surfaces have it the other way round",
        )
        for body in spec.bodies
        if body.material.mu_dynamic > body.material.mu_static
    )


def type_problems(spec: SceneSpec, settings: SolverSettings) -> Iterator[SceneProblem]:
    """What has not the type that it is declared with; fields of a body's shape and material count as the body's."""
    for path, message in mismatches(settings, SolverSettings):
        yield SceneProblem(SETTINGS, ".".join(path) or "settings", message)
    for path, message in mismatches(spec, SceneSpec):
        owner = SCENE
        if path[:1] == ("bodies",) and len(path) > 2:
            name = spec.bodies[int(path[1])].name
            owner, path = name if isinstance(name, str) else f"Body {path[1]}", path[2:]
        parts = [part for part in path[:-1] if part not in ("shape", "material")]
        yield SceneProblem(owner, ".".join([*parts, *path[-1:]]) or "scene", message)


def scene_problems(spec: SceneSpec) -> Iterator[SceneProblem]:
    if not spec.bodies:
        yield SceneProblem(SCENE, "bodies", "there are no rigid bodies; add some and make at least one of them Active")
    elif not any(body.kind is BodyKind.ACTIVE for body in spec.bodies):
        yield SceneProblem(SCENE, "bodies", "no body is active, so nothing would move; make at least one body Active")
    for name, count in Counter(body.name for body in spec.bodies).items():
        if count > 1:
            yield SceneProblem(name, "name", f"{count} bodies have this name; give each its own")
    names = {body.name for body in spec.bodies}
    for pair in spec.excluded:
        if len(pair) != 2 or pair[0] == pair[1]:
            yield SceneProblem(
                SCENE, "excluded", f"{', '.join(map(repr, pair))}: name two different bodies that do not collide"
            )
        for name in sorted(set(pair) - names):
            message = f"{name!r} is no body of the scene; name two of its bodies that do not collide"
            yield SceneProblem(SCENE, "excluded", message)
    if not is_finite(spec.gravity, (3,)):
        yield SceneProblem(SCENE, "gravity", f"is {describe(spec.gravity)}; it must be three finite numbers in m/s^2")
    if spec.frame_end < spec.frame_start:
        message = f"the last frame {spec.frame_end} comes before the first, {spec.frame_start}; choose a later one"
        yield SceneProblem(SCENE, "frame_end", message)
    if not is_positive(spec.fps):
        yield SceneProblem(SCENE, "fps", f"is {spec.fps}; frames per second must be above 0 and finite")
    if not is_positive(spec.time_scale):
        message = f"is {spec.time_scale}; the speed of the simulation must be above 0 and finite"
        yield SceneProblem(SCENE, "time_scale", message)
    for body in spec.bodies:
        yield from body_problems(body, spec)


def settings_problems(settings: SolverSettings) -> Iterator[SceneProblem]:
    if not is_positive(settings.tolerance):
        message = f"is {settings.tolerance}; choose a number above 0, such as 1e-6"
        yield SceneProblem(SETTINGS, "tolerance", message)
    if not settings.max_iterations >= 1:
        yield SceneProblem(SETTINGS, "max_iterations", f"is {settings.max_iterations}; allow at least 1")
    if not settings.substeps >= 1:
        yield SceneProblem(SETTINGS, "substeps", f"is {settings.substeps}; a frame needs at least 1")
    if settings.polygon_sides != 0 and not settings.polygon_sides >= 3:
        message = f"is {settings.polygon_sides}; choose 0 for the exact friction cone, or 3 sides and more"
        yield SceneProblem(SETTINGS, "polygon_sides", message)
    elif settings.polygon_sides != 0 and settings.method is ContactMethod.PIVOT:
        message = f"is {settings.polygon_sides}, and pivoting has the exact friction cone only; choose 0, or the other solver"
        yield SceneProblem(SETTINGS, "polygon_sides", message)
    if not (settings.step_time_limit >= 0.0 and np.isfinite(settings.step_time_limit)):
        message = f"is {settings.step_time_limit}; choose seconds for each step, or 0 for as long as it needs"
        yield SceneProblem(SETTINGS, "step_time_limit", message)
    if not (settings.recovery_speed > 0.0 and np.isfinite(settings.recovery_speed)):
        message = f"is {settings.recovery_speed}; choose a positive number of half sizes a second"
        yield SceneProblem(SETTINGS, "recovery_speed", message)


def body_problems(body: BodySpec, spec: SceneSpec) -> Iterator[SceneProblem]:
    shape = list(shape_findings(body))
    for field, message in (
        *shape,
        *motion_findings(body),
        *material_findings(body),
        *path_findings(body, spec),
        *deformation_findings(body, spec, has_sound_shape=not shape),
        *mass_findings(body, has_sound_shape=not shape),
    ):
        yield SceneProblem(body.name, field, message)


Findings = Iterator[tuple[str, str]]
Array = NDArray[Any]


def shape_findings(body: BodySpec, shape: ShapeSpec | None = None, within: str = "") -> Findings:
    """What is wrong with the body's shape, or with the part of it at `within`, such as "children.1."."""
    shape = body.shape if shape is None else shape
    for field, message in simple_shape_findings(body, shape) if shape.kind is not ShapeKind.COMPOUND else ():
        yield within + field, message
    if shape.kind is not ShapeKind.COMPOUND:
        return
    if not shape.children:
        message = "the compound has no children; parent rigid bodies to the object, or choose another shape for it"
        yield f"{within}children", message
    for number, child in enumerate(shape.children):
        place = f"{within}children.{number}."
        if not is_finite(child.position, (3,)):
            yield f"{place}position", f"is {describe(child.position)}; it must be 3 finite numbers; check the child's transform"
        if not is_finite(child.orientation, (4,)) or abs(np.linalg.norm(child.orientation) - 1.0) > UNIT:
            yield f"{place}orientation", f"is {describe(child.orientation)}; a rotation is 4 finite numbers of length 1"
        yield from shape_findings(body, child.shape, place)


def simple_shape_findings(body: BodySpec, shape: ShapeSpec) -> Findings:
    """What is wrong with a shape that is no compound."""
    if not is_not_negative(shape.margin):
        yield "margin", f"is {shape.margin}; the collision margin must be 0 or more and finite"
    if shape.kind is ShapeKind.PLANE:
        if body.kind is BodyKind.ACTIVE:
            yield "shape", "an endless plane cannot be active; make the body Passive, or choose Convex Hull as its shape"
        return
    vertices, triangles = np.asarray(shape.vertices), np.asarray(shape.triangles)
    if vertices.size == 0:
        yield "vertices", "the shape has no vertices; give the object a mesh with faces, or remove its rigid body"
    elif vertices.ndim != 2 or vertices.shape[1] != 3:
        yield "vertices", f"have the shape {vertices.shape}; it must be (n, 3)"
    elif not is_finite(vertices, vertices.shape):
        first = int(np.argmin(np.isfinite(vertices).all(axis=1)))
        yield "vertices", f"vertex {first} is {describe(vertices[first])}, not finite; check the mesh, its modifiers and scale"
    elif shape.kind in (ShapeKind.CYLINDER, ShapeKind.CONE):
        yield from round_findings(shape)
    elif triangles.size and (triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu"):
        yield "triangles", f"are {triangles.dtype} of shape {triangles.shape}; they must be (t, 3) integers"
    elif triangles.size and not 0 <= triangles.min() <= triangles.max() < len(vertices):
        yield "triangles", f"refer to vertices {triangles.min()} to {triangles.max()}; there are {len(vertices)}"
    elif shape.kind is ShapeKind.MESH:
        yield from mesh_findings(body, vertices, triangles)


def mesh_findings(body: BodySpec, vertices: Array, triangles: Array) -> Findings:
    """What is wrong with a mesh whose arrays are sound."""
    if triangles.size == 0:
        yield "triangles", "the mesh has no faces; give it some, or take the object out of the rigid body world"
        return
    try:
        volume = mesh_surface(vertices, triangles).volume
    except ValueError:
        yield "triangles", "no face of the mesh has an area; give it a size, or take the object out of the rigid body world"
        return
    if body.kind is BodyKind.ACTIVE and volume == 0.0:
        yield "shape", why_no_inside(vertices, triangles)
    elif body.kind is BodyKind.ACTIVE and volume < 0.0:
        yield "shape", "the normals of the mesh point inwards; flip them, or make the body Passive, as a room"


def why_no_inside(vertices: Array, triangles: Array) -> str:
    """Why an active body has no inside whose mesh encloses no volume, and what to do about it.

    Merging vertices takes closed surfaces to closed ones, where an even number of faces meets at every edge. So a mesh whose
    vertices are merged only where they are equal, and which is closed then, is no open one.
    """
    # zeros of either sign are equal
    _, merged = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    corners = merged.reshape(-1)[triangles]
    edges = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    _, faces = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0, return_counts=True)
    if (faces % 2).any():
        return (
            "the mesh is open, so an active body has no inside; close it (Fill, or a Solidify modifier with the source Final), "
            "choose Convex Hull, or make the body Passive"
        )
    thin = 4e3 * TOLERANCE * np.linalg.norm(np.ptp(vertices[triangles.ravel()], axis=0))
    return (
        f"the mesh is closed, but an active body has no inside where it is thinner than {thin:.2g} mm, or where more than two "
        "faces meet at an edge; give it a thickness there, choose Convex Hull, or make the body Passive"
    )


def round_findings(shape: ShapeSpec) -> Findings:
    """What is wrong with a cylinder or a cone whose vertices are finite."""
    what = "cylinder" if shape.kind is ShapeKind.CYLINDER else "cone"
    if not is_positive(shape.radius):
        yield (
            "radius",
            f"is {shape.radius}; the radius of a {what} must be above 0 and finite; give the mesh a width across its axis and "
            "check the object's scale",
        )
    if len(shape.vertices) != 2:
        yield "vertices", f"are {len(shape.vertices)}; a {what} has two, the ends of its axis"
    elif not is_positive(float(np.linalg.norm(np.subtract(*shape.vertices)))):
        yield (
            "height",
            f"is not above 0 m: the ends of the {what}'s axis coincide; give the mesh a height and check the object's scale",
        )


def inertia_findings(inertia: Any) -> Findings:
    """What is wrong with a given inertia: any body's principal moments are above 0, and none is more than the others' sum."""
    if not is_finite(inertia, (3, 3)) or not np.allclose(inertia, np.transpose(inertia), rtol=1e-9, atol=0.0):
        yield "inertia", f"is {describe(inertia)}; it must be a symmetric (3, 3) matrix of finite numbers in kg m^2"
        return
    moments = np.linalg.eigvalsh(inertia)
    if not moments[0] > SINGULAR * moments[2]:
        yield "inertia", f"has the principal moments {describe(moments)} kg m^2; all three must be above 0"
    elif moments[0] + moments[1] < moments[2] * (1.0 - 1e-9):
        yield (
            "inertia",
            f"has the principal moments {describe(moments)} kg m^2; no body has one that is more than the sum of the others",
        )


def motion_findings(body: BodySpec) -> Findings:
    for field, size in (
        ("position", 3),
        ("orientation", 4),
        ("velocity", 3),
        ("angular_velocity", 3),
        ("linear_factor", 3),
        ("angular_factor", 3),
    ):
        value = getattr(body, field)
        if not is_finite(value, (size,)):
            yield field, f"is {describe(value)}; it must be {size} finite numbers; check the object's transform and its parents"
    if is_finite(body.orientation, (4,)) and abs(np.linalg.norm(body.orientation) - 1.0) > UNIT:
        yield (
            "orientation",
            f"is {describe(body.orientation)}, of length {np.linalg.norm(body.orientation):g}; a rotation has length 1; check "
            "that no scale of the object or its parents is 0",
        )
    for field in ("linear_factor", "angular_factor"):
        value = getattr(body, field)
        if is_finite(value, (3,)) and not np.isin(value, (0.0, 1.0)).all():
            yield field, f"is {describe(value)}; each axis must be 0 (locked) or 1 (free)"
    for field in ("linear_damping", "angular_damping"):
        value = getattr(body, field)
        if not 0.0 <= value <= 1.0:
            yield field, f"is {value}; it is the fraction of velocity lost in a second, from 0 to 1"


def material_findings(body: BodySpec) -> Findings:
    material = body.material
    for field, what in (("mu_static", "static"), ("mu_dynamic", "dynamic")):
        value = getattr(material, field)
        if not is_not_negative(value):
            yield field, f"is {value}; the coefficient of {what} friction must be 0 or more and finite"
    if not 0.0 <= material.restitution <= 1.0:
        yield "restitution", f"is {material.restitution}; bounciness goes from 0 (no bounce) to 1 (as high as before)"


def path_findings(body: BodySpec, spec: SceneSpec) -> Findings:
    if body.kind is not BodyKind.ANIMATED:
        return
    frames = spec.frame_end - spec.frame_start + 1
    if body.path is None:
        yield "path", "an animated body needs its pose at every frame, and there is none"
    elif np.shape(body.path) != (max(frames, 0), 7):
        yield "path", f"has the shape {np.shape(body.path)}; {frames} frames need ({frames}, 7)"
    elif not is_finite(body.path, (frames, 7)):
        first = spec.frame_start + int(np.argmin(np.isfinite(body.path).all(axis=1)))
        yield "path", f"the pose at frame {first} is not finite; check the object's animation and constraints there"
    else:
        lengths = np.linalg.norm(np.asarray(body.path)[:, 3:], axis=1)
        worst = int(np.argmax(np.abs(lengths - 1.0)))
        if abs(lengths[worst] - 1.0) > UNIT:
            frame = spec.frame_start + worst
            yield "path", f"the rotation at frame {frame} has length {lengths[worst]:g} instead of 1; check the scale there"


def deformation_findings(body: BodySpec, spec: SceneSpec, has_sound_shape: bool) -> Findings:
    if body.deformation is None:
        return
    frames = max(spec.frame_end - spec.frame_start + 1, 0)
    wanted = (frames, len(body.shape.vertices), 3)
    if body.kind is BodyKind.ACTIVE:
        yield "deformation", "an active body cannot deform; switch Deforming off, or make the body Passive or Animated"
    elif body.shape.kind is not ShapeKind.MESH:
        yield "deformation", "only the shape Mesh can deform; switch Deforming off, or choose the shape Mesh"
    elif np.shape(body.deformation) != wanted:
        yield "deformation", f"has the shape {np.shape(body.deformation)}; {frames} frames of this mesh need {wanted}"
    elif not is_finite(body.deformation, wanted):
        first = spec.frame_start + int(np.argmin(np.isfinite(body.deformation).all(axis=(1, 2))))
        yield "deformation", f"a vertex at frame {first} is not finite; check the mesh's modifiers there"
    elif has_sound_shape:
        triangles = np.asarray(body.shape.triangles)
        widest = triangles[[np.argmax(areas(body.shape.vertices, triangles))]]
        for frame, vertices in enumerate(np.asarray(body.deformation), spec.frame_start):
            # the widest face answers for nearly all frames, however many faces there are
            if not has_area(vertices, widest) and not has_area(vertices, triangles):
                yield "deformation", f"no face of the mesh has an area at frame {frame}; check the mesh's modifiers there"
                return


def mass_findings(body: BodySpec, has_sound_shape: bool) -> Findings:
    if body.kind is not BodyKind.ACTIVE:
        return
    if body.mass is None and body.density is None:
        yield "mass", "an active body needs a mass or a density"
        return
    if body.mass is not None and body.density is not None:
        yield "mass", "both a mass and a density are given; choose one"
        return
    for field, unit in (("mass", "kg"), ("density", "kg/m^3")):
        value = getattr(body, field)
        if value is not None and not is_positive(value):
            yield field, f"is {value:g} {unit}; it must be above 0 and finite"
            return
    if not has_sound_shape:
        return  # there is no solid to integrate over
    given = "mass" if body.density is None else "density"
    try:
        solid = shape_mass_properties(body.shape, mass=body.mass, density=body.density)
    except ValueError as error:
        yield given, f"no inertia can be found: {error}; give the mesh some thickness, or a collision margin"
        return
    if not (math.isfinite(solid.mass) and solid.mass > 0.0 and np.isfinite(solid.inertia).all()):
        yield given, f"gives a mass of {solid.mass:g} kg, which cannot be computed with; check the size of the mesh"
        return
    if body.inertia is not None:
        yield from inertia_findings(body.inertia)
        return
    moments = np.linalg.eigvalsh(solid.inertia)
    if not moments[0] > SINGULAR * moments[2]:
        yield (
            "inertia",
            f"is singular (principal moments {moments[0]:g} to {moments[2]:g} kg m^2): the shape is too thin to turn about "
            "its own axis; give it thickness or a larger collision margin",
        )


def areas(vertices: Array, triangles: Array) -> Array:
    a, b, c = (np.asarray(vertices)[triangles[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def has_area(vertices: Array, triangles: Array) -> bool:
    """Whether any triangle has an area, measured by the size of all."""
    size = np.linalg.norm(np.ptp(vertices[triangles.ravel()], axis=0))
    return bool(2.0 * areas(vertices, triangles).max() > (TOLERANCE * size) ** 2)


def is_finite(value: Any, shape: tuple[int, ...]) -> bool:
    array = np.asarray(value)
    return array.shape == shape and array.dtype.kind in "fiu" and bool(np.isfinite(array).all())


def is_positive(value: float) -> bool:
    return math.isfinite(value) and value > 0.0


def is_not_negative(value: float) -> bool:
    return math.isfinite(value) and value >= 0.0


def describe(value: Any) -> str:
    return np.array2string(np.asarray(value), separator=", ", threshold=8)
