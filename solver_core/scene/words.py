# SPDX-License-Identifier: GPL-3.0-or-later
"""Display names of scene fields and formats of numbers in messages.

Reports for programs use identifiers and all digits.
"""

from __future__ import annotations

__all__ = ["distance", "duration", "figure", "in_words"]

# In mm.
METRE = 1e3
# In s.
MINUTE, HOUR = 60.0, 3600.0
# Where Blender's interface, and so the user, has another word for it than the code.
WORDS = {
    "mu_static": "static friction",
    "mu_dynamic": "dynamic friction",
    "restitution": "bounciness",
    "rolling": "rolling friction",
    "torsion": "torsional friction",
    "center_of_mass": "center of mass",
    "fps": "frame rate",
    "kinematic": "animated",
    "moving_tolerance": "moving tolerance",
    "max_iterations": "maximum iterations",
    "friction_combine": "combine friction",
    "rigidbody_world": "rigid body world",
    "use_deform": "deforming",
    "matrix_world": "place",
    "time_scale": "speed",
    "speed_path": "animated speed",
    "substeps_per_frame": "substeps",
    "deformable": "flexible",
    "young": "stiffness",
    "poisson": "poisson's ratio",
    "damping_ratio": "damping",
    "resolution": "bricks",
    "pinned": "pin group",
}


def in_words(field: str) -> str:
    """A field, which may be one of another such as shape.margin, in words: mu_static is "static friction"."""
    return " ".join(WORDS.get(part, part.replace("_", " ")) for part in field.split("."))


def distance(metres: float) -> str:
    """A distance as one says it: 12.3 mm, 1.2 m."""
    millimetres = figure(1e3 * metres)
    return f"{figure(metres)} m" if abs(float(millimetres)) >= METRE else f"{millimetres} mm"


def figure(value: float, digits: int = 3) -> str:
    """A number with so many digits that count, without an exponent up to a million: 1520, and not 1.52e+03."""
    return f"{float(f'{value:.{digits}g}'):g}"


def duration(seconds: float) -> str:
    """As hours, minutes and seconds, whichever it has."""
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < HOUR:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"
