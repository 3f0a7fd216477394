# SPDX-License-Identifier: GPL-3.0-or-later
"""Descriptions of the differences between two scenes and their settings: values, with the bodies that have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np

from .spec import BodySpec, MaterialSpec, SceneSpec, SolverSettings
from .words import in_words

__all__ = ["differences"]

MOST_NAMED = 2
# Longer arrays are described by their names only.
MOST_NUMBERS = 4


def differences(before: tuple[SceneSpec, SolverSettings], now: tuple[SceneSpec, SolverSettings]) -> tuple[str, ...]:
    """Return the values of `before` that differ from those of `now`, such as "static friction 0.4 of Box".

    Bodies and joints are compared in order. The last frame does not count, because no frame depends on it.
    """
    found = [told(name, value) for name, value in changed_fields(before[1], now[1])]
    scene = changed_fields(before[0], now[0])
    found += [told(name, value) for name, value in scene if name not in ("bodies", "joints", "frame_end")]
    owners: dict[str, list[str]] = {}
    for body, other in zip(before[0].bodies, now[0].bodies, strict=True):
        for field in of_body(body, other):
            owners.setdefault(field, []).append(body.name)
    for joint, other_joint in zip(before[0].joints, now[0].joints, strict=True):
        if any(changed_fields(joint, other_joint)):
            owners.setdefault("joint", []).append(joint.name)
    return (*found, *(f"{field} of {some(names)}" for field, names in owners.items()))


def of_body(body: BodySpec, other: BodySpec) -> Iterator[str]:
    for name, value in changed_fields(body, other):
        if name == "material":
            yield from of_material(body.material, other.material)
        else:
            yield told(name, value)


def of_material(material: MaterialSpec, other: MaterialSpec) -> Iterator[str]:
    changed = dict(changed_fields(material, other))
    # Name a single coefficient only once.
    if {"mu_static", "mu_dynamic"} <= changed.keys() and material.mu_static == material.mu_dynamic:
        del changed["mu_dynamic"]
        changed = {"friction": changed.pop("mu_static")} | changed
    yield from (told(name, kept) for name, kept in changed.items())


def changed_fields(before: Any, now: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a dataclass that differ in another instance, with their values in the first."""
    for field in dataclasses.fields(before):
        value = getattr(before, field.name)
        if not same(value, getattr(now, field.name)):
            yield field.name, value


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and bool(np.array_equal(a, b))
    if dataclasses.is_dataclass(a):
        return not any(changed_fields(a, b))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def told(name: str, value: Any) -> str:
    """Return the name of a field, with its value if that is short."""
    name = in_words(name)
    if isinstance(value, Enum):
        return f"{name} {value.value}"
    if isinstance(value, np.ndarray):
        numbers = ", ".join(f"{number:.4g}" for number in value.ravel())
        return f"{name} ({numbers})" if value.size <= MOST_NUMBERS else name
    if isinstance(value, float):
        return f"{name} {value:.4g}"
    return f"{name} {value}" if isinstance(value, (bool, int, str)) else name


def some(names: list[str]) -> str:
    named = ", ".join(names[:MOST_NAMED])
    return named if len(names) <= MOST_NAMED else f"{named} and {len(names) - MOST_NAMED} more"
