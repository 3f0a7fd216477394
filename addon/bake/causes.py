# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes of the solver's findings, such as a hull that fills a hollow, and grouping of similar findings.

The solver sees shapes and reports that two of them overlap. The user must change the settings from which the shapes follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...solver_core.geometry.surfaces import winding_numbers
from ...solver_core.scene.spec import BodySpec, SceneSpec, ShapeKind
from ...solver_core.scene.words import distance
from ..blender.rotations import matrix_of_quaternion
from ..read.containers import points_in_world
from .finding import Finding

__all__ = ["with_causes"]

OVERLAP = "overlap"
DEPTH = re.compile(r" overlap by ([\d.e+-]+) (mm|m) ")
NUMBER = re.compile(r"\d[\d.,e+-]*")
# Fewer findings of a kind are reported separately.
MANY = 4
# Winding number above which a point is inside a closed mesh.
INSIDE = 0.5


@dataclass(frozen=True)
class Overlap:
    """A finding about two overlapping bodies, and the depth of the overlap [m]."""

    finding: Finding
    depth: float

    @property
    def pair(self) -> frozenset[str]:
        """The names of the bodies."""
        return frozenset(self.finding.objects)


def with_causes(spec: SceneSpec, findings: Sequence[Finding]) -> list[Finding]:
    """Findings of the solver in a scene, with causes in place of overlaps where they are known, and one for many of a kind."""
    overlaps, others = [], []
    for finding in findings:
        depth = depth_of(finding)
        if depth is None:
            others.append(finding)
        else:
            overlaps.append(Overlap(finding, depth))
    causes, overlaps = hollows(spec, overlaps)
    joined, overlaps = at_joints(spec, overlaps)
    return [*causes, *joined, *of_overlaps(overlaps), *alike(others)]


def depth_of(finding: Finding) -> float | None:
    """Return the depth of an overlap from a finding about two bodies [m]; None for other findings."""
    match = DEPTH.search(finding.message) if finding.field == OVERLAP and len(finding.objects) == len("ab") else None
    return None if match is None else float(match[1]) * (1e-3 if match[2] == "mm" else 1.0)


def hollows(spec: SceneSpec, overlaps: Sequence[Overlap]) -> tuple[list[Finding], list[Overlap]]:
    """Return a finding for each body whose convex hull fills a hollow with others inside, and the remaining overlaps."""
    bodies = {body.name: body for body in spec.bodies}
    inside: dict[str, list[str]] = {}
    remaining = []
    for overlap in overlaps:
        first, second = overlap.finding.objects
        for name, other in ((first, second), (second, first)):
            if name in bodies and other in bodies and is_in_hollow(bodies[name], bodies[other]):
                inside.setdefault(name, []).append(other)
                break
        else:
            remaining.append(overlap)
    found = []
    for name, others in inside.items():
        count = others[0] if len(others) == 1 else f"{others[0]} and {len(others) - 1} more"
        begin = "starts" if len(others) == 1 else "start"
        message = f"the hull fills the hollow of {name}, in which {count} {begin}: choose the shape Mesh"
        found.append(Finding("WARNING", (name,), "hollow", message))
    return found, remaining


def is_in_hollow(hull: BodySpec, other: BodySpec) -> bool:
    """Return True if a body overlaps a convex hull but not the mesh of the hull."""
    vertices, triangles = hull.shape.vertices, hull.shape.triangles
    if hull.shape.kind is not ShapeKind.HULL or not len(triangles):
        return False
    points = (points_in_world(other) - hull.position) @ matrix_of_quaternion(hull.orientation)
    points = points[((points > vertices.min(axis=0)) & (points < vertices.max(axis=0))).all(axis=1)]
    return len(points) > 0 and bool((np.abs(winding_numbers(vertices, triangles, points)) < INSIDE).all())


def at_joints(spec: SceneSpec, overlaps: Sequence[Overlap]) -> tuple[list[Finding], list[Overlap]]:
    """Return a finding about overlaps of bodies where a constraint connects them, and the remaining overlaps."""
    joints: dict[frozenset[str], list[str]] = {}
    for joint in spec.joints:
        joints.setdefault(frozenset({joint.body_a, joint.body_b}), []).append(joint.name)
    joined = [overlap for overlap in overlaps if overlap.pair in joints]
    if not joined:
        return [], list(overlaps)
    worst = max(joined, key=lambda overlap: overlap.depth)
    names = tuple(dict.fromkeys(name for overlap in joined for name in joints[overlap.pair]))
    one = "a pair of bodies connected by a constraint overlaps"
    count = one if len(joined) == 1 else f"{len(joined)} pairs of connected bodies overlap"
    message = (
        f"{count} at the joint, by up to {distance(worst.depth)} ({' and '.join(worst.finding.objects)}), and are pushed "
        "apart: enable Disable Collisions, or make the bodies shorter"
    )
    remaining = [overlap for overlap in overlaps if overlap.pair not in joints]
    return [Finding("WARNING", names, "joined_overlap", message)], remaining


def of_overlaps(overlaps: Sequence[Overlap]) -> Iterator[Finding]:
    """Yield findings about overlaps, separately or grouped."""
    by_end: dict[str, list[Overlap]] = {}
    for overlap in overlaps:
        # The consequence follows the location in the message.
        by_end.setdefault(overlap.finding.message.partition(" at frame ")[2], []).append(overlap)
    for end, alike_ones in by_end.items():
        if len(alike_ones) < MANY:
            yield from (overlap.finding for overlap in alike_ones)
            continue
        worst = max(alike_ones, key=lambda overlap: overlap.depth)
        names = tuple(dict.fromkeys(name for overlap in alike_ones for name in overlap.finding.objects))
        pair = " and ".join(worst.finding.objects)
        message = f"{len(alike_ones)} pairs of bodies overlap by up to {distance(worst.depth)} ({pair}) at frame {end}"
        yield replace(worst.finding, objects=names, message=message)


def alike(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings one by one, but many that differ only in names and numbers as one, with the words of the first."""
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        text = finding.message
        for name in sorted(finding.objects, key=len, reverse=True):
            text = text.replace(name, "*")
        kinds.setdefault((finding.level, finding.field, NUMBER.sub("#", text)), []).append(finding)
    for same in kinds.values():
        if len(same) < MANY or any(finding.values for finding in same):
            yield from same
            continue
        names = tuple(dict.fromkeys(name for finding in same for name in finding.objects))
        yield replace(same[0], objects=names, message=f"{same[0].message} ({len(same)} such messages)")
