# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframes for shape keys of flexible baked objects, at the frames that the deformation needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...solver_core.bake.thinning import Deviation
from ...solver_core.io.cache import FrameCacheReader
from ..blender import actions
from ..blender.bend_keys import begin_action, has_keys, path_of, remove_stress
from .channel_tracks import Keys, Samples, Track, in_single_precision, track

__all__ = ["write_bends"]

Array = NDArray[np.float64]

PATH = "key_blocks"


def write_bends(samples: Samples, reader: FrameCacheReader, keys: Keys) -> list[Track]:
    """Write linear keyframes for the shape keys of each flexible object. Return the written numbers. Raises CacheError."""
    rows = reader.modal_rows() if samples.modal.shape[1] else {}
    index = {name: column for column, name in enumerate(reader.info.bodies)}
    tracks = []
    for number, ob in enumerate(samples.objects):
        backup = ob.stiction.backup
        modes = rows.get(index[backup.body])
        if modes is None or not has_keys(ob) or modes.stop - modes.start != len(backup.keys):
            continue
        scales = np.array([item.scale for item in backup.keys])
        values = in_single_precision([samples.modal[:, modes] / scales])
        # It cannot have keyframes and would keep its present shape.
        remove_stress(ob)
        written = track(PATH, [number], values, samples, keys, bend(values, backup.reach))
        tracks.append(written)
        block_keys, action, slot = begin_action(ob, always_new=keys.to_strip)
        times, chosen = samples.times[written.keys[0]], values[0][written.keys[0]]
        for item, row in zip(backup.keys, chosen.T, strict=True):
            actions.write_curve(block_keys, path_of(item.name), 0, times, row)
        if keys.to_strip:
            actions.push_down(block_keys)
            actions.assign(block_keys, action, slot)
            block_keys.animation_data.use_nla = True
    return tracks


def bend(values: Array, reach: float) -> Deviation:
    """Return a bound on the vertex error of values (1, samples, r) of keys that move no vertex by more than reach at 1 [m]."""
    return lambda which, others: reach * np.abs(others - values[0][which]).sum(axis=-1)
