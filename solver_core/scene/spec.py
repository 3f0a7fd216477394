# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene as pure data: what an extractor writes and what a simulation reads.

Nothing here knows Blender, files or solvers. Lengths are in m, masses in kg, times in s, angles in rad; quaternions are
(w, x, y, z) and turn body coordinates into world coordinates. Scale never appears: it is already in the vertices.
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
    """What moves a body: the solver, nothing, or a given path."""

    ACTIVE = "active"
    PASSIVE = "passive"
    ANIMATED = "animated"


class ShapeKind(Enum):
    """The collision shapes that this version can handle."""

    HULL = "hull"  # convex hull of `vertices`; flat polygons, segments and single points count too
    MESH = "mesh"  # the surface of `triangles`: a solid where it is closed, else a sheet with two sides
    PLANE = "plane"  # the half-space z <= 0 of the body frame
    COMPOUND = "compound"  # all `children` together, compounds among them
    CYLINDER = "cylinder"  # solid cylinder of `radius`; `vertices` are the two ends of its axis
    CONE = "cone"  # solid cone whose base has `radius`; `vertices` are the base's centre and the apex
    NONE = "none"  # nothing that collides: a link of a machine, whose mass, center and inertia are given


class ContactMethod(Enum):
    """The solver that a simulation runs in every step."""

    STAGGERED = "staggered"  # Kaufman et al. 2008
    PIVOT = "pivot"  # Baraff 1994
    ENERGY = "energy"  # Faure 1996


@dataclass(frozen=True)
class MaterialSpec:
    """Surface of a body: coefficients of static and of dynamic friction and of restitution, all dimensionless.

    name: by which the scene's `PairSpec` know it; empty for a surface that is in none. rolling, torsion: m, the largest moment
    against rolling, and against turning about the normal, that a contact bears per unit of normal force. The larger length of
    two surfaces is that of the pair. grain: the direction of mu_static and mu_dynamic, and the coefficients across it; None
    where friction is the same in all directions.
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
        """The material with its coefficients across the grain in all directions; itself where it has no grain."""
        if self.grain is None:
            return self
        return replace(self, mu_static=self.grain.mu_static, mu_dynamic=self.grain.mu_dynamic, grain=None)


@dataclass(frozen=True)
class PairSpec:
    """Friction of two materials, by their names, against each other, the same in all directions; it counts in place of what the
    scene's rule makes of their own coefficients and grains. Both may be the same."""

    a: str
    b: str
    mu_static: float = 0.5
    mu_dynamic: float = 0.5


def pair_friction(pairs: Iterable[PairSpec], rule: FrictionCombine, a: MaterialSpec, b: MaterialSpec) -> tuple[float, float]:
    """The static and the dynamic coefficient of two surfaces: those of their pair, or else what the rule makes of their own.

    A surface with a grain counts with its coefficients along it; `MaterialSpec.across` has those across it.
    """
    for pair in pairs if a.name and b.name else ():
        if {pair.a, pair.b} == {a.name, b.name}:
            return pair.mu_static, pair.mu_dynamic
    return rule.pair(a.mu_static, b.mu_static), rule.pair(a.mu_dynamic, b.mu_dynamic)


@dataclass(frozen=True)
class ShapeSpec:
    """Collision shape in the body frame.

    vertices: (n, 3) m, empty for a plane, the two ends of the axis for a cylinder and a cone. triangles: (t, 3) indices of the
    surface that the mass properties are taken from, outward counter-clockwise; empty when only the hull is known; of a mesh
    they are what collides. margin: m, thickness added all around. radius: m, of a cylinder or of a cone's base, else 0.
    children: what a compound is made of; a compound has no vertices and no margin of its own.
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

    position (3,) m and orientation (4,) place the body frame in the world at the first frame; velocity (3,) m/s is that of the
    body frame's origin, angular_velocity (3,) rad/s, both in world axes. Exactly one of mass (kg) and density (kg/m^3) is given
    for an active body. center_of_mass: (3,) m in the body frame; None stands for that of the homogeneous shape. inertia: (3, 3)
    kg m^2 about the center of mass in body axes; None stands for that of the homogeneous shape about that point, so a cylinder
    can be made a hoop. An active body of the shape NONE has a mass and an inertia, and its center of mass is its origin unless
    one is given. path: (frames, 7) pose (position, orientation) at each frame of the scene's range
    for an animated body, at the first few for an active one, which follows it and then goes on with its velocity. spans: from
    which frame to which an active body follows its path, (first, last) counted from the scene's first frame, where it does not
    do so from the begin and up to the path's end; it is simulated in between. blend_frames: how many frames after the first
    one of such a span it takes to come to its path from where it is. teleports: frames, counted from the first, at which it
    appears where its path has it without a motion from the frame before. An active body whose path ends in a teleport begins
    with velocity and angular_velocity there. deformation:
    (frames, n, 3) m, the vertices at each frame of a passive or animated body whose shape is a mesh that deforms. Two bodies
    can touch if their `collections` bit masks share a bit. linear_damping and angular_damping are the fractions of velocity
    lost in one second. linear_factor and angular_factor (3,) are 0 for a locked world axis and 1 for a free one. An active body
    that starts_asleep stays where it is, whatever pulls at it, until one that moves comes to it; joints tie it to bodies that
    do so as well, or it does not. Force fields wake it. feels_fields: whether they act on it at all, if it is active.
    deformable: how an active mesh bends, None for a rigid one. surface_motion: how the surface moves along itself, None for a
    surface that is fixed to its body.
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
    """How Staggered Projections go about it.

    accelerated: with proposals, accepted by the residuals of Coulomb's law. plain: Algorithm 1 of Kaufman et al. 2008,
    accepted by these residuals. published: Algorithm 1, stopped by its own rule, (28) alone, which allows larger residuals.
    """

    ACCELERATED = "accelerated"
    PLAIN = "plain"
    PUBLISHED = "published"


@dataclass(frozen=True)
class SolverSettings:
    """How a scene is solved.

    tolerance is both the relative error (28) of Kaufman et al. 2008 and the bound on each relative residual of the method's
    law.
    max_iterations: staggered iterations, pivots a contact, or redistributions of energy.
    moving_tolerance: the same for islands of more than 32 bodies that have tumbled, until they sleep, of Staggered Projections
    with proposals, where it is the larger one.
    polygon_sides is 0 for the exact friction disk, else the K of the K-sided polygon. substeps: time steps a frame. sleeping:
    leave islands that are at rest to within the tolerance out of the steps until something comes near.
    staggering: how Staggered Projections go about it. step_time_limit: s that solving a step may take, 0 for as long as it
    needs; a bake with one need not come out the same twice. recovery_speed: half extents of the smaller body a second, at which
    bodies that overlap are parted.
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


# What settings of earlier versions are called now, or why they are none any more.
FORMER_SETTINGS = {
    "crowd_tolerance": "it is called moving_tolerance now",
    "crowd_limit": "large islands in motion are accepted at moving_tolerance alone",
    "step_accuracy": "every time step is taken by itself",
}


def changed(settings: SolverSettings, changes: Mapping[str, Any]) -> SolverSettings:
    """The settings with other values in some fields, choices also by their values as text. Raises TypeError that names a field
    that does not exist, and ValueError that names a choice that is none."""
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
    """Everything a bake needs: bodies, gravity (3,) m/s^2, the frame range, and frames a second of simulated time.

    time_scale multiplies simulated time: a frame lasts time_scale / fps seconds. speed_path: (frames,) the time scale at each
    frame, where it changes; that of a frame acts on the way to it, 0 freezes the simulation, and time_scale is the largest of
    them. friction_combine and restitution_combine make
    a pair's coefficients out of its bodies', but for the friction of those materials that `pairs` names. excluded: pairs of
    names of bodies that do not collide with each other, whatever their collections, as joined bodies whose collisions are
    disabled. gravity_path: (frames, 3) m/s^2, gravity at each frame, where it changes; that of a frame acts on the way to it.
    fields: what else pushes bodies; absorbers: what they have to pass where they are absorbed. activations: what wakes bodies
    and releases their bonds.
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
    """From which frame to which a body follows its path, counted from the scene's first; none of one that has no path."""
    if body.path is None:
        return ()
    return ((0, len(body.path) - 1),) if body.spans is None else body.spans


def strongest_gravity(spec: SceneSpec) -> float:
    """The largest that gravity is in a scene, m/s^2."""
    path = spec.gravity if spec.gravity_path is None else spec.gravity_path
    return float(np.linalg.norm(np.atleast_2d(path), axis=1).max())


@dataclass(frozen=True)
class SceneWarning:
    """Something the user should know, with the object (or both) and the field it is about; the bake goes on."""

    objects: tuple[str, ...]
    field: str
    message: str
