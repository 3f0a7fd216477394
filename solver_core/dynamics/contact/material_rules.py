# SPDX-License-Identifier: GPL-3.0-or-later
"""The coefficients of two materials that touch: a rule that combines those of each, or the pair's own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import leaf_kernel
from ...scene.combine import combine
from ...scene.spec import SceneSpec

__all__ = ["DYNAMIC", "STATIC", "Rules", "combine_in_kernels", "rules_of"]

STATIC, DYNAMIC = range(2)  # the columns of coefficients

combine_in_kernels = leaf_kernel(combine)


class Rules(NamedTuple):
    """How the friction, and the restitution, of two bodies are combined.

    surface: (n,) of bodies, the row of their materials in `pairs`; 0 for those in no pair. pairs: (s, s, 2) static and dynamic
    coefficients that count in place of the combined ones; -1 where there are none.
    """

    friction: int
    restitution: int
    surface: NDArray[np.int64]
    pairs: NDArray[np.float64]


def rules_of(spec: SceneSpec) -> Rules:
    """The rules of a scene as kernels take them."""
    names = sorted({name for pair in spec.pairs for name in (pair.a, pair.b)})
    row = {name: index for index, name in enumerate(names, 1)}
    pairs = np.full((len(names) + 1, len(names) + 1, 2), -1.0)
    for pair in spec.pairs:
        i, j = row[pair.a], row[pair.b]
        pairs[i, j] = pairs[j, i] = pair.mu_static, pair.mu_dynamic
    surface = np.array([row.get(body.material.name, 0) for body in spec.bodies], dtype=np.int64)
    return Rules(spec.friction_combine.code, spec.restitution_combine.code, surface, pairs)
