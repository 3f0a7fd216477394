# SPDX-License-Identifier: GPL-3.0-or-later
"""The grain of a surface, as pure data: wood, brushed metal, the blade of a skate."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Grain"]


@dataclass(frozen=True)
class Grain:
    """A direction along which a surface has the coefficients of its material, and the coefficients across it.

    direction: (3,) in the body frame, of any length above 0; its opposite is the same grain. mu_static, mu_dynamic: the
    coefficients of static and of dynamic friction across it, in every direction at a right angle to it.
    """

    direction: tuple[float, float, float] = (1.0, 0.0, 0.0)
    mu_static: float = 0.5
    mu_dynamic: float = 0.5
