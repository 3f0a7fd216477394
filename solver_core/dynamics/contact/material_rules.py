# SPDX-License-Identifier: GPL-3.0-or-later
"""The coefficients of two touching materials: combined by a rule, or given for the pair; and the grains of materials."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import leaf_kernel
from ...scene.combine import combine
from ...scene.spec import SceneSpec

__all__ = ["DYNAMIC", "STATIC", "Grains", "Rules", "combine_in_kernels", "rules_of"]

Floats = NDArray[np.float64]

STATIC, DYNAMIC = range(2)  # the columns of coefficients

combine_in_kernels = leaf_kernel(combine)


class Grains(NamedTuple):
    """The grains of a scene's n bodies; no rows in a scene without any.

    direction: (n, 3) unit vectors in the body frames, zero for bodies without a grain. across: (n, 2) the static and the
    dynamic coefficient across it.
    """

    direction: Floats
    across: Floats

    @property
    def are_none(self) -> bool:
        """Whether no body of the scene has a grain."""
        return len(self.direction) == 0


def grains_of(spec: SceneSpec) -> Grains:
    """Return the grains of a valid scene."""
    own = [body.material.grain for body in spec.bodies]
    if not any(own):
        return Grains(np.zeros((0, 3)), np.zeros((0, 2)))
    direction, across = np.zeros((len(own), 3)), np.zeros((len(own), 2))
    for body, grain in enumerate(own):
        if grain is not None:
            # Scale by a power of two first, which is exact, because the square of a length may overflow or underflow.
            along = np.asarray(grain.direction, dtype=np.float64)
            along = np.ldexp(along, -int(np.frexp(np.abs(along).max())[1]))
            direction[body] = along / math.sqrt(along[0] ** 2 + along[1] ** 2 + along[2] ** 2)
            across[body] = grain.mu_static, grain.mu_dynamic
    return Grains(direction, across)


class Rules(NamedTuple):
    """The rules that combine the friction and the restitution of two bodies.

    friction, restitution: codes of the rules. surface: (n,) the row of each body's material in `pairs`; 0 for materials in no
    pair. pairs: (s, s, 2) static and dynamic coefficients that replace the combined ones and those of grains; -1 for none.
    grains: of the bodies.
    """

    friction: int
    restitution: int
    surface: NDArray[np.int64]
    pairs: Floats
    grains: Grains


def rules_of(spec: SceneSpec) -> Rules:
    """Return the rules of a scene as arrays for kernels."""
    names = sorted({name for pair in spec.pairs for name in (pair.a, pair.b)})
    row = {name: index for index, name in enumerate(names, 1)}
    pairs = np.full((len(names) + 1, len(names) + 1, 2), -1.0)
    for pair in spec.pairs:
        i, j = row[pair.a], row[pair.b]
        pairs[i, j] = pairs[j, i] = pair.mu_static, pair.mu_dynamic
    surface = np.array([row.get(body.material.name, 0) for body in spec.bodies], dtype=np.int64)
    return Rules(spec.friction_combine.code, spec.restitution_combine.code, surface, pairs, grains_of(spec))
