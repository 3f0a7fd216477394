# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fields of a scene are called when people are told of them; reports for programs have their identifiers."""

from __future__ import annotations

__all__ = ["distance", "in_words"]

# In mm.
METRE = 1e3
# Where Blender's interface, and so the user, has another word for it than the code.
WORDS = {
    "mu_static": "static friction",
    "mu_dynamic": "dynamic friction",
    "restitution": "bounciness",
    "fps": "frame rate",
    "kinematic": "animated",
    "max_iterations": "maximum iterations",
    "friction_combine": "combine friction",
    "rigidbody_world": "rigid body world",
    "use_deform": "deforming",
    "matrix_world": "place",
    "time_scale": "speed",
}


def in_words(field: str) -> str:
    """A field, which may be one of another such as shape.margin, in words: mu_static is "static friction"."""
    return " ".join(WORDS.get(part, part.replace("_", " ")) for part in field.split("."))


def distance(metres: float) -> str:
    """A distance as one says it: 12.3 mm, 1.2 m."""
    millimetres = f"{1e3 * metres:.3g}"
    return f"{metres:.3g} m" if abs(float(millimetres)) >= METRE else f"{millimetres} mm"
