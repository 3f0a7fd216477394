# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene as pure data, which an extractor writes and a simulation reads.

This module does not depend on Blender, files or solvers. Lengths are in m, masses in kg, times in s and angles in rad.
Quaternions are (w, x, y, z) and rotate body coordinates to world coordinates. The vertices include any scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .activation import ActivationSpec
from .combine import FrictionCombine
from .deformable import DeformableSpec
from .fields import AbsorberSpec, FieldSpec
from .grain import Grain
from .joints import JointSpec
from .surface_motion import SurfaceMotion

__all__ = [
    "BodyKind",
    "BodySpec",
    "ChildSpec",
    "ContactMethod",
    "FrictionCombine",
    "Grain",
    "MaterialSpec",
    "PairSpec",
    "SceneSpec",
    "SceneWarning",
    "ShapeKind",
    "ShapeSpec",
    "SolverSettings",
    "Staggering",
    "SurfaceMotion",
    "changed",
    "pair_friction",
    "spans_of",
    "strongest_gravity",
]

Array = NDArray[np.float64]

ALL_COLLECTIONS = (1 << 20) - 1


class BodyKind(Enum):
    """How a body moves: by the solver, not at all, or along a given path."""

    ACTIVE = "active"
    PASSIVE = "passive"
    ANIMATED = "animated"


class ShapeKind(Enum):
    """The supported collision shapes."""

    HULL = "hull"  # convex hull of `vertices`; flat polygons, segments and single points count too
    MESH = "mesh"  # the surface of `triangles`: a solid where it is closed, else a sheet with two sides
    PLANE = "plane"  # the half-space z <= 0 of the body frame
    COMPOUND = "compound"  # all `children` together, compounds among them
    CYLINDER = "cylinder"  # solid cylinder of `radius`; `vertices` are the two ends of its axis
    CONE = "cone"  # solid cone whose base has `radius`; `vertices` are the base's center and the apex
    NONE = "none"  # nothing that collides: a link of a machine, whose mass, center and inertia are given


class ContactMethod(Enum):
    """The solver that a simulation runs in every step."""

    STAGGERED = "staggered"  # Kaufman et al. 2008
    PIVOT = "pivot"  # Baraff 1994
    ENERGY = "energy"  # Faure 1996


@dataclass(frozen=True)
class MaterialSpec:
    """The surface of a body: dimensionless coefficients of static friction, dynamic friction and restitution.

    name: for `PairSpec`; empty for a material in no pair. rolling, torsion: m, the largest moment against rolling, and against
    rotation about the normal, per unit of normal force. A pair uses the larger length of its two materials. grain: the
    direction of mu_static and mu_dynamic, and the coefficients across it; None for isotropic friction.
    """

    mu_static: float = 0.5
    mu_dynamic: float = 0.5
    restitution: float = 0.0
    name: str = ""
    rolling: float = 0.0
    torsion: float = 0.0
    grain: Grain | None = None

    @property
    def across(self) -> MaterialSpec:
        """Return the material with its coefficients across the grain in all directions; itself if it has no grain."""
        if self.grain is None:
            return self
        return replace(self, mu_static=self.grain.mu_static, mu_dynamic=self.grain.mu_dynamic, grain=None)


@dataclass(frozen=True)
class PairSpec:
    """Isotropic friction of two materials, given by name, which may be the same.

    It replaces the result of the scene's rule for their own coefficients and grains.
    """

    a: str
    b: str
    mu_static: float = 0.5
    mu_dynamic: float = 0.5


def pair_friction(pairs: Iterable[PairSpec], rule: FrictionCombine, a: MaterialSpec, b: MaterialSpec) -> tuple[float, float]:
    """Return the static and the dynamic coefficient of two materials: those of their pair, or else the combined ones.

    A material with a grain counts with its coefficients along it; `MaterialSpec.across` returns those across it.
    """
    for pair in pairs if a.name and b.name else ():
        if {pair.a, pair.b} == {a.name, b.name}:
            return pair.mu_static, pair.mu_dynamic
    return rule.pair(a.mu_static, b.mu_static), rule.pair(a.mu_dynamic, b.mu_dynamic)


@dataclass(frozen=True)
class ShapeSpec:
    """Collision shape in the body frame.

    vertices: (n, 3) m; empty for a plane, the two ends of the axis for a cylinder and a cone. triangles: (t, 3) indices,
    counter-clockwise seen from outside, of the surface that determines the mass properties; empty if only the hull is known. A
    mesh collides with these triangles. margin: m, thickness added on all sides. radius: m, of a cylinder or of a cone's base,
    else 0. children: the parts of a compound, which has no vertices and no margin of its own.
    """

    kind: ShapeKind
    vertices: Array = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32))
    margin: float = 0.0
    radius: float = 0.0
    children: tuple[ChildSpec, ...] = ()


@dataclass(frozen=True)
class ChildSpec:
    """A part of a compound: position (3,) m and orientation (4,) place the axes of its shape in those of the compound."""

    shape: ShapeSpec
    position: Array = field(default_factory=lambda: np.zeros(3))
    orientation: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))


@dataclass(frozen=True)
class BodySpec:
    """One rigid body.

    Attributes
    ----------
    name : unique in the scene
    position, orientation : (3,) m and (4,), the pose of the body frame in the world at the first frame
    velocity, angular_velocity : (3,) m/s, of the origin of the body frame, and (3,) rad/s, in world axes
    mass, density : kg and kg/m^3; exactly one of them is given for an active body
    center_of_mass : (3,) m in the body frame; None for that of the homogeneous shape. For the shape NONE, None is the origin.
    inertia : (3, 3) kg m^2 about the center of mass in body axes; None for that of the homogeneous shape. A cylinder can thus
        be a hoop. An active body of the shape NONE needs a mass and an inertia.
    path : (frames, 7) poses (position, orientation); at each frame of the scene's range for a kinematic body; at the first few
        for an active body, which follows it and then continues with its velocity
    spans : (first, last) frames, counted from the scene's first, in which an active body follows its path, if it does not do so
        from the start to the end of the path; it is simulated in between
    blend_frames : frames after the first one of such a span in which the body moves from its pose to its path
    teleports : frames, counted from the first, at which the body jumps to its path without a motion from the previous frame. An
        active body whose path ends in a teleport starts with velocity and angular_velocity there.
    deformation : (frames, n, 3) m, the vertices at each frame of a passive or kinematic body with a deforming mesh
    collections : bit mask; two bodies can collide if their masks share a bit
    linear_damping, angular_damping : fractions of velocity lost in one second
    linear_factor, angular_factor : (3,), 0 for a locked world axis and 1 for a free one
    starts_asleep : whether an active body keeps its pose, under any force, until a moving body or a force field wakes it; all
        bodies to which joints connect it must start asleep too, or it does not
    feels_fields : whether force fields act on an active body
    deformable : the deformation model of a flexible active mesh; None for a rigid body
    surface_motion : the velocity of the surface along itself; None for a surface fixed to the body
    """

    name: str
    kind: BodyKind
    shape: ShapeSpec
    position: Array = field(default_factory=lambda: np.zeros(3))
    orientation: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    velocity: Array = field(default_factory=lambda: np.zeros(3))
    angular_velocity: Array = field(default_factory=lambda: np.zeros(3))
    mass: float | None = None
    density: float | None = None
    inertia: Array | None = None
    material: MaterialSpec = MaterialSpec()
    collections: int = ALL_COLLECTIONS
    linear_damping: float = 0.0
    angular_damping: float = 0.0
    linear_factor: Array = field(default_factory=lambda: np.ones(3))
    angular_factor: Array = field(default_factory=lambda: np.ones(3))
    path: Array | None = None
    deformation: Array | None = None
    starts_asleep: bool = False
    feels_fields: bool = True
    deformable: DeformableSpec | None = None
    spans: tuple[tuple[int, int], ...] | None = None
    blend_frames: int = 0
    teleports: tuple[int, ...] | None = None
    center_of_mass: Array | None = None
    surface_motion: SurfaceMotion | None = None


class Staggering(Enum):
    """The variant of Staggered Projections.

    accelerated: with proposals, accepted by the residuals of Coulomb's law. plain: Algorithm 1 of Kaufman et al. 2008, accepted
    by the same residuals. published: Algorithm 1 with its own stopping rule, (28), which allows larger residuals.
    """

    ACCELERATED = "accelerated"
    PLAIN = "plain"
    PUBLISHED = "published"


@dataclass(frozen=True)
class SolverSettings:
    """Settings of the solver.

    Attributes
    ----------
    tolerance : relative; bound on the error (28) of Kaufman et al. 2008 and on each relative residual of the method's law
    max_iterations : staggered iterations, pivots per contact, or redistributions of energy
    moving_tolerance : the tolerance of large moving islands (more than 32 bodies that have tumbled, until they sleep) with
        accelerated Staggered Projections, if it is larger than `tolerance`; relative to their fastest motion, and at least
        to ten times the speed that gravity gives in a step
    polygon_sides : 0 for the exact friction disk, else the number of sides of the friction polygon
    substeps : time steps per frame
    sleeping : whether islands at rest within the tolerance are left out of the steps until another body comes near
    staggering : the variant of Staggered Projections
    step_time_limit : s, limit on the time to solve a step, 0 for none; with a limit, a bake may not be reproducible
    recovery_speed : half extents of the smaller body per second, at which overlapping bodies are separated
    """

    method: ContactMethod = ContactMethod.STAGGERED
    tolerance: float = 1e-6
    moving_tolerance: float = 1e-3
    max_iterations: int = 200
    substeps: int = 10
    polygon_sides: int = 0
    warm_start: bool = True
    sleeping: bool = True
    staggering: Staggering = Staggering.ACCELERATED
    step_time_limit: float = 0.0
    recovery_speed: float = 0.2


# Settings of earlier versions: their present names, or why they no longer exist.
FORMER_SETTINGS = {
    "crowd_tolerance": "it is called moving_tolerance now",
    "crowd_limit": "large islands in motion are accepted at moving_tolerance alone",
    "step_accuracy": "every time step is taken by itself",
}


def changed(settings: SolverSettings, changes: Mapping[str, Any]) -> SolverSettings:
    """Return settings with changed fields; enums may also be given by value, as text.

    Raises TypeError for a field that does not exist, and ValueError for an invalid choice.
    """
    known = {field.name: getattr(settings, field.name) for field in fields(settings)}
    values = dict(changes)
    for name, value in values.items():
        if name not in known:
            why = f": {FORMER_SETTINGS[name]}" if name in FORMER_SETTINGS else f"; there are {', '.join(known)}"
            raise TypeError(f"{name!r} is no setting{why}")
        now = known[name]
        if isinstance(now, Enum) and not isinstance(value, type(now)):
            choices = list(type(now))
            chosen = [choice for choice in choices if choice.value == value]
            if not chosen:
                raise ValueError(f"{name} must be one of {', '.join(choice.value for choice in choices)}, not {value!r}")
            values[name] = chosen[0]
    return replace(settings, **values)


@dataclass(frozen=True)
class SceneSpec:
    """A scene, with all data that a bake needs except the settings.

    Attributes
    ----------
    bodies : the bodies
    gravity : (3,) m/s^2
    frame_start, frame_end : the frame range
    fps : frames per second of simulated time
    time_scale : factor on simulated time; a frame lasts time_scale / fps seconds
    speed_path : (frames,) the time scale at each frame, if it changes. The value at a frame acts during the motion to it; 0
        freezes the simulation; time_scale is the largest value.
    friction_combine, restitution_combine : the rules that combine the coefficients of two bodies
    pairs : friction of pairs of materials, in place of the rule
    excluded : pairs of names of bodies that do not collide with each other, whatever their collections
    gravity_path : (frames, 3) m/s^2, gravity at each frame, if it changes. The value at a frame acts during the motion to it.
    joints : the joints
    fields : force fields
    absorbers : meshes that weaken force fields
    activations : conditions that wake bodies and release their bonds
    """

    bodies: tuple[BodySpec, ...]
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    frame_start: int = 1
    frame_end: int = 250
    fps: float = 24.0
    time_scale: float = 1.0
    friction_combine: FrictionCombine = FrictionCombine.PRODUCT
    restitution_combine: FrictionCombine = FrictionCombine.PRODUCT
    excluded: tuple[tuple[str, str], ...] = ()
    pairs: tuple[PairSpec, ...] = ()
    joints: tuple[JointSpec, ...] = ()
    gravity_path: Array | None = None
    speed_path: Array | None = None
    fields: tuple[FieldSpec, ...] = ()
    absorbers: tuple[AbsorberSpec, ...] = ()
    activations: tuple[ActivationSpec, ...] = ()


def spans_of(body: BodySpec) -> tuple[tuple[int, int], ...]:
    """Return the (first, last) frames in which a body follows its path, counted from the scene's first; none without a path."""
    if body.path is None:
        return ()
    return ((0, len(body.path) - 1),) if body.spans is None else body.spans


def strongest_gravity(spec: SceneSpec) -> float:
    """Return the largest magnitude of gravity in a scene, m/s^2."""
    path = spec.gravity if spec.gravity_path is None else spec.gravity_path
    return float(np.linalg.norm(np.atleast_2d(path), axis=1).max())


@dataclass(frozen=True)
class SceneWarning:
    """A warning to the user about objects and a field. The bake continues."""

    objects: tuple[str, ...]
    field: str
    message: str
