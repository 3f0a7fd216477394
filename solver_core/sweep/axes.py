# SPDX-License-Identifier: GPL-3.0-or-later
"""The axes of a sweep with their values, their notation, and the variations that are their product."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..process.command_line import UsageError
from ..scene.spec import ContactMethod

__all__ = ["BODY_FIELDS", "SCENE_FIELDS", "Axis", "Value", "Variation", "parse_axes", "variations"]

# Fields of the whole scene; fields of one body or, without a name, of all bodies that have them.
SCENE_FIELDS = ("substeps", "tolerance", "moving_tolerance", "max_iterations", "recovery_speed", "method", "seed")
BODY_FIELDS = (
    *("friction", "mu_static", "mu_dynamic", "restitution"),
    *("mass", "density", "linear_damping", "angular_damping"),
)
WHOLE_NUMBERS = ("substeps", "max_iterations", "seed")
# A sheet with more variations would not open.
MOST_VARIATIONS = 10_000
# Digits of a value as written, so that 0.3 is not 0.30000000000000004.
DIGITS_OF_VALUES = 12

Value = float | int | str


@dataclass(frozen=True)
class Axis:
    """One varied parameter.

    body: name of a body; "" for the scene or for all bodies.
    field: one of `SCENE_FIELDS` or `BODY_FIELDS`.
    values: in the given order.
    """

    body: str
    field: str
    values: tuple[Value, ...]

    @property
    def name(self) -> str:
        """The notation of the axis before its values."""
        return f"{self.body}:{self.field}" if self.body else self.field


@dataclass(frozen=True)
class Variation:
    """One value of each axis, in the order of the axes."""

    axes: tuple[Axis, ...]
    values: tuple[Value, ...]

    @property
    def name(self) -> str:
        """The name of the variation, such as friction=0.2, Ground:friction=0.3."""
        return ", ".join(f"{axis.name}={shown(value)}" for axis, value in zip(self.axes, self.values, strict=True))


def shown(value: Value) -> str:
    """Format a value."""
    return f"{value:.{DIGITS_OF_VALUES}g}" if isinstance(value, float) else str(value)


def parse_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Return the axes from their notations, each [OBJECT:]FIELD=VALUES. Raises UsageError."""
    axes = tuple(map(parse_axis, texts))
    if not axes:
        raise UsageError("nothing is varied; name an axis, such as --vary friction=0.2:0.8:7")
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--vary: {name!r} is varied twice; give all of its values at once")
    return axes


def parse_axis(text: str) -> Axis:
    """Return one axis from its notation.

    VALUES are values separated by commas; FIRST:LAST:N, N equidistant values; or FIRST:LAST, all integers between them. An
    object's name may contain colons and equals signs. Raises UsageError.
    """
    label = f"--vary {text!r}"
    name, equals, values = text.rpartition("=")
    if not equals:
        raise UsageError(f"{label}: must look like FIELD=VALUES or OBJECT:FIELD=VALUES")
    body, _, field = name.rpartition(":")
    if field not in (*SCENE_FIELDS, *BODY_FIELDS):
        there = f"of the scene {', '.join(SCENE_FIELDS)}; of a body, or of all, {', '.join(BODY_FIELDS)}"
        raise UsageError(f"{label}: {field!r} cannot be varied; these can: {there}")
    if body and field in SCENE_FIELDS:
        raise UsageError(f"{label}: {field} belongs to the whole scene, not to an object; write {field}={values}")
    found = parse_values(values, field, label)
    for value in found:
        if found.count(value) > 1:
            raise UsageError(f"{label}: {shown(value)} occurs twice")
    return Axis(body, field, found)


def parse_values(text: str, field: str, label: str) -> tuple[Value, ...]:
    if not text.strip():
        raise UsageError(f"{label}: it has no values; separate them by commas, or write FIRST:LAST:N")
    if field == "method":
        return tuple(method(word.strip(), label) for word in text.split(","))
    bounds = text.split(":")
    if len(bounds) == 1:
        return tuple(number(word, field, label) for word in text.split(","))
    if len(bounds) == 2:
        first, last = (whole(word, label) for word in bounds)
        if last < first:
            raise UsageError(f"{label}: {last} is before {first}, so there are no values")
        refuse_too_many(last - first + 1, label)
        return tuple(number(str(value), field, label) for value in range(first, last + 1))
    if len(bounds) != 3:
        raise UsageError(f"{label}: a range is FIRST:LAST:N, and this has {len(bounds)} parts")
    low, high, count = number(bounds[0], "", label), number(bounds[1], "", label), whole(bounds[2], label)
    if count < 1:
        raise UsageError(f"{label}: {count} values are none; a range is FIRST:LAST:N")
    refuse_too_many(count, label)
    steps = [low + (high - low) * k / max(count - 1, 1) for k in range(count)]
    return tuple(number(f"{value:.{DIGITS_OF_VALUES}g}", field, label) for value in steps)


def number(word: str, field: str, label: str) -> float | int:
    """Return a finite number, an integer for an integer field."""
    if field in WHOLE_NUMBERS:
        return whole(word, f"{label}: {field} is counted")
    try:
        value = float(word)
    except ValueError:
        raise UsageError(f"{label}: {word.strip()!r} is not a number") from None
    if not math.isfinite(value):
        raise UsageError(f"{label}: {word.strip()} is not finite")
    return value


def whole(word: str, label: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise UsageError(f"{label}: {word.strip()!r} is not a whole number") from None


def method(word: str, label: str) -> str:
    choices = [one.value for one in ContactMethod]
    if word not in choices:
        raise UsageError(f"{label}: {word!r} is not a method; choose from {', '.join(choices)}")
    return word


def refuse_too_many(count: int, label: str) -> None:
    if count > MOST_VARIATIONS:
        raise UsageError(f"{label}: {count} variations are more than {MOST_VARIATIONS}; vary less at once")


def variations(axes: tuple[Axis, ...]) -> tuple[Variation, ...]:
    """Return all combinations of the values, in which the last axis varies fastest. Raises UsageError if there are too many."""
    refuse_too_many(math.prod(len(axis.values) for axis in axes), "--vary")
    return tuple(Variation(axes, values) for values in itertools.product(*(axis.values for axis in axes)))
