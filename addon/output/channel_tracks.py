# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of the samples of channels that become keys, and the resulting errors.

All keys are linear, so Blender's interpolation is known: each number is interpolated linearly and then read as a rotation.
Errors of locations are measured in the world, and errors of rotations as angles, for any rotation mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from bpy.types import Object
from numpy.typing import NDArray

from ...solver_core.bake.thinning import Deviation, interpolated, keys_within
from ..blender import rotations
from ..blender.placement import Channels, inverse

__all__ = ["Keys", "Samples", "Tolerance", "Track", "in_single_precision", "track", "tracks_of"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Tolerance(NamedTuple):
    """Largest errors of keyframes relative to the cache: locations [m], rotations [rad]."""

    place: float
    rotation: float


@dataclass(frozen=True)
class Keys:
    """The requested keys.

    step: key every step-th frame and the last one.
    a_frame: samples per frame.
    tolerance: keep only the samples needed for this tolerance; step is then 1.
    to_strip: write to an NLA strip instead of the action.
    """

    step: int = 1
    a_frame: int = 1
    tolerance: Tolerance | None = None
    to_strip: bool = False

    @property
    def are_all(self) -> bool:
        """True if every sample becomes a key."""
        return self.step == 1 and self.tolerance is None


@dataclass(frozen=True, eq=False)
class Samples:
    """The motion of objects: world matrices (samples, objects, 4, 4) at times (samples,) in frames, whether a body is hit
    around then (objects, samples), and the modal coordinates of flexible bodies (samples, k)."""

    objects: list[Object]
    times: Array
    worlds: Array
    hit: Flags
    modal: Array


@dataclass(frozen=True, eq=False)
class Track:
    """A channel of the objects with these indices, by its data path.

    values: (k, samples, channels).
    keys: (k, samples).
    errors: (k, samples) of Blender's interpolation [m or rad].
    """

    path: str
    indices: list[int]
    values: Array
    keys: Flags
    errors: Array

    @property
    def is_place(self) -> bool:
        """True for locations, whose errors are in m."""
        return is_place(self.path)


def is_place(path: str) -> bool:
    """Return True if errors of the channel with this data path are in m."""
    return not path.startswith("rotation")


def tracks_of(samples: Samples, basis: Array, channels: Sequence[Channels], keys: Keys) -> list[Track]:
    """Return the tracks of all objects with basis matrices (samples, objects, 4, 4)."""
    values = in_single_precision([one.location for one in channels])
    to_world = None
    if any(ob.parent is not None for ob in samples.objects):
        to_world = np.swapaxes(samples.worlds @ inverse(basis), 0, 1)[..., :3, :3].reshape(-1, 3, 3)
    every = list(range(len(samples.objects)))
    result = [track("location", every, values, samples, keys, distance(values, to_world))] if every else []
    by_mode: dict[str, list[int]] = {}
    for index, ob in enumerate(samples.objects):
        by_mode.setdefault(ob.rotation_mode, []).append(index)
    for mode, indices in by_mode.items():
        values = in_single_precision([channels[index].rotation for index in indices])
        result.append(track(channels[indices[0]].path, indices, values, samples, keys, angle(values, mode)))
    return result


def track(path: str, indices: list[int], values: Array, samples: Samples, keys: Keys, error: Deviation) -> Track:
    """Return the track of a channel. error: returns the errors of other values [m or rad]."""
    times, count = samples.times, len(samples.times)
    chosen = np.zeros(values.shape[:2], dtype=bool)
    if keys.tolerance is None:
        chosen[:, :: keys.step] = chosen[:, -1] = True
    else:
        tolerance = keys.tolerance.place if is_place(path) else keys.tolerance.rotation
        chosen = keys_within(times, values, lambda which, others: error(which, others) / tolerance, samples.hit[indices])
    errors = np.zeros(values.shape[:2])
    if not keys.are_all:
        between = interpolated(times, values, chosen).reshape(-1, values.shape[-1])
        errors = error(np.arange(len(indices) * count), between).reshape(len(indices), count)
    return Track(path, indices, values, chosen, errors)


def in_single_precision(values: Sequence[Array]) -> Array:
    """Return values (objects, samples, channels) rounded to Blender's single precision."""
    return np.array(values, dtype=np.float32).astype(np.float64)


def distance(values: Array, to_world: Array | None) -> Deviation:
    """Return distances of locations (objects, samples, 3) [m].

    to_world: (objects x samples, 3, 3) from the parents' axes, or None.
    """
    rows = values.reshape(-1, 3)

    def measured(which: NDArray[np.int64], others: Array) -> Array:
        off = others - rows[which]
        if to_world is not None:
            off = (to_world[which] @ off[..., None])[..., 0]
        length: Array = np.linalg.norm(off, axis=-1)
        return length

    return measured


def angle(values: Array, mode: str) -> Deviation:
    """Return angles between rotations [rad], given as channels (objects, samples, 3 or 4) of a rotation mode."""
    matrices = rotations.matrix_of_channel(values, mode).reshape(-1, 3, 3)
    return lambda which, others: rotations.angle_between(matrices[which], rotations.matrix_of_channel(others, mode))
