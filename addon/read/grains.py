# SPDX-License-Identifier: GPL-3.0-or-later
"""The grain of an object's surface, in the axes of its body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...solver_core.scene.spec import MaterialSpec

__all__ = ["in_body"]


def in_body(material: MaterialSpec, to_body: NDArray[np.float64]) -> MaterialSpec:
    """The material with its grain in the axes of the body.

    The grain lies in the object's axes and follows its scale, a negative one too, as a texture on its mesh does.

    Parameters
    ----------
    material : MaterialSpec
        With the grain, if any, in the axes of the object.
    to_body : (3, 3)
        Takes these axes, with their scale, into those of the body.
    """
    if material.grain is None:
        return material
    x, y, z = (to_body @ np.array(material.grain.direction)).tolist()
    return replace(material, grain=replace(material.grain, direction=(x, y, z)))
