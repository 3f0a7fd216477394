# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of collision groups and filtered pairs of UsdPhysics as collections and excluded pairs of a scene."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdPhysics

from ..scene.spec import SceneSpec
from .filters import BITS, masks_of
from .usd_read_bodies import rigid_ancestor
from .usd_stage import Opened

__all__ = ["with_filters"]


def with_filters(stage: Opened, spec: SceneSpec, by_path: dict[str, str]) -> SceneSpec:
    """Return a scene with collections for the collision groups, and with the filtered pairs as excluded pairs.

    by_path: names of the bodies, by the paths of their prims.
    """
    excluded = {*spec.excluded, *filtered_pairs(stage, by_path)}
    spec = replace(spec, excluded=tuple(sorted(excluded)))
    groups = [UsdPhysics.CollisionGroup(prim) for prim in stage.stage.Traverse() if prim.IsA(UsdPhysics.CollisionGroup)]
    if not groups:
        return spec
    keys = [group.GetMergeGroupNameAttr().Get() or str(group.GetPath()) for group in groups]
    order = list(dict.fromkeys(keys))
    masks, lost = masks_of(collisions(groups, [order.index(key) for key in keys]))
    if lost:
        message = f"{len(order)} groups need more than the {BITS} collections; some groups do not collide although they should"
        stage.found.odd("stage", "PhysicsCollisionGroup", message)
    queries = [group.GetCollidersCollectionAPI().ComputeMembershipQuery() for group in groups]
    paths = {name: path for path, name in by_path.items()}

    def mask_of(name: str) -> int:
        for prim in prims_below(stage, paths[name]):
            for query, key in zip(queries, keys, strict=True):
                if query.IsPathIncluded(prim.GetPath()):
                    return masks[order.index(key)]
        return masks[-1]

    return replace(spec, bodies=tuple(replace(body, collections=mask_of(body.name)) for body in spec.bodies))


def collisions(groups: list[UsdPhysics.CollisionGroup], numbers: list[int]) -> NDArray[np.bool_]:
    """Return a table (n + 1, n + 1), True for groups that collide. The last one stands for bodies without a group.

    numbers: of the groups, 0 to n - 1; merged groups share one.
    """
    count = max(numbers) + 1
    of_path = {str(group.GetPath()): number for group, number in zip(groups, numbers, strict=True)}
    collides = np.ones((count + 1, count + 1), dtype=bool)
    for group, index in zip(groups, numbers, strict=True):
        targets = group.GetFilteredGroupsRel().GetForwardedTargets()
        others = {of_path[str(path)] for path in targets if str(path) in of_path}
        if group.GetInvertFilteredGroupsAttr().Get():
            others = set(range(count)) - others
        for other in others:
            collides[index, other] = collides[other, index] = False
    return collides


def filtered_pairs(stage: Opened, by_path: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names of the two bodies of each filtered pair."""
    for path, name in by_path.items():
        for prim in prims_below(stage, path):
            if not prim.HasAPI(UsdPhysics.FilteredPairsAPI):
                continue
            for target in UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetForwardedTargets():
                other = stage.stage.GetPrimAtPath(target)
                if not other:
                    stage.found.wrong(str(prim.GetPath()), "filteredPairs", f"there is no prim {target}; remove it there")
                    continue
                second = by_path.get(str((rigid_ancestor(other) or other).GetPath()))
                if second is not None and second != name:
                    yield min(name, second), max(name, second)


def prims_below(stage: Opened, path: str) -> Iterator[Usd.Prim]:
    """Yield the prim at a path and its descendants; nothing for instances, because no collection can name them."""
    prim = None if "[" in path else stage.stage.GetPrimAtPath(path)
    yield from Usd.PrimRange(prim, Usd.TraverseInstanceProxies()) if prim else ()
