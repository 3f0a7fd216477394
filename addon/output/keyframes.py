# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the cached poses as keyframes: at every frame, at every n-th, or only where a tolerance requires them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from bpy.types import Action, Context, Object, Scene
from numpy.typing import NDArray

from ...solver_core.bake.thinning import sharp_turns
from ...solver_core.io.between_frames import state_at
from ...solver_core.io.cache import CacheError, FrameCacheReader
from ...solver_core.scene.words import distance, figure
from ..bake.playback import open_cache
from ..blender import actions
from ..blender.placement import basis_at, channels_of, world_matrices
from ..blender.restore import baked_objects, place_bodies, rest_worlds
from .bend_tracks import write_bends
from .channel_tracks import Keys, Samples, Track, tracks_of

__all__ = ["EVERY_FRAME", "Written", "commit"]

Array = NDArray[np.float64]

EVERY_FRAME = Keys()
# Change of speed in a frame, relative to free fall, that means a hit. Friction alone causes less.
IMPACT = 2.0
# m/s^2; used for scenes without gravity
USUAL_GRAVITY = 9.81


class Worst(NamedTuple):
    """The largest error of keyframes relative to the cache [m or rad], its object and its frame."""

    error: float
    name: str
    frame: float


@dataclass(frozen=True)
class Written:
    """The number of written keys, the number with a key at every frame, and the largest errors (None with a key at every
    frame)."""

    frames: range
    keys: int
    keys_at_every_frame: int
    place: Worst | None
    rotation: Worst | None

    def __str__(self) -> str:
        text = f"Frames {self.frames[0]} to {self.frames[-1]} written as keyframes"
        if self.place is None or self.rotation is None:
            return text
        place, turn = self.place, self.rotation
        return (
            f"{text}: {self.keys} keys, {self.keys_at_every_frame} with one at every frame; off the cache by at most "
            f"{distance(place.error)} ({place.name}, frame {place.frame:g}) and "
            f"{figure(math.degrees(turn.error))} degrees ({turn.name}, frame {turn.frame:g})"
        )


def commit(context: Context, keys: Keys = EVERY_FRAME) -> Written:
    """Convert the cached bake of the context's scene to keyframes.

    Raises OSError and CacheError, with nothing changed.
    """
    scene = context.scene
    reader, last = open_cache(scene), scene.stiction.bake.last_frame
    if last not in reader.frames:
        there = f"only frames {reader.frames[0]} to {reader.frames[-1]}" if reader.frames else "no frames"
        raise CacheError(f"{reader.path}: there are {there}, but frame {last} was baked; resume the bake")
    samples = read_samples(reader, baked_objects(scene), keys.a_frame, IMPACT * speed_of_falling(scene, reader))
    # From here on, playback moves nothing.
    scene.stiction.bake.state = "KEYED"
    tracks = [*write_keyframes(context, samples, keys), *write_bends(samples, reader, keys)]
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    return summary(reader.frames, samples, tracks, keys)


def speed_of_falling(scene: Scene, reader: FrameCacheReader) -> float:
    """Return the velocity that a falling body gains in a frame [m/s]."""
    gravity = scene.gravity.length if scene.use_gravity else 0.0
    return (gravity or USUAL_GRAVITY) * reader.info.time_scale / reader.info.fps


def read_samples(reader: FrameCacheReader, objects: list[Object], a_frame: int, impact: float) -> Samples:
    """Return the motion of the baked objects in the cache, with `a_frame` samples per frame.

    impact: change of speed between frames that means a hit [m/s].
    """
    index = {name: column for column, name in enumerate(reader.info.bodies)}
    known = [ob for ob in objects if ob.stiction.backup.body in index]
    columns = [index[ob.stiction.backup.body] for ob in known]
    frames = list(reader)
    times = reader.frames[0] + np.arange(a_frame * (len(frames) - 1) + 1) / a_frame
    if a_frame == 1:
        poses, modal = np.array([frame.poses[columns] for frame in frames]), np.array([frame.modal for frame in frames])
    else:
        states = [state_at(reader, float(time)) for time in times]
        poses, modal = np.array([state[0][columns] for state in states]), np.array([state[1] for state in states])
    hit = np.zeros((len(known), len(times)), dtype=bool)
    velocities = np.array([frame.velocities[columns, :3] for frame in frames])
    hit[:, ::a_frame] = sharp_turns(np.swapaxes(velocities, 0, 1), impact)
    return Samples(known, times, world_matrices(poses, poses[0], rest_worlds(known)), hit, modal)


def write_keyframes(context: Context, samples: Samples, keys: Keys) -> list[Track]:
    """Write linear keys for each object in its rotation mode and its parent's space. Return the written numbers."""
    objects = samples.objects
    # Only a parent can change the relation of world and channels between frames; then the scene must be evaluated.
    is_placed = any(ob.parent is not None for ob in objects)
    basis = placed_basis(context, samples) if is_placed else samples.worlds
    tracks = tracks_of(samples, basis, channels_of(objects, basis), keys)
    actions_of_bake = [begin_action(ob, always_new=keys.to_strip) for ob in objects]
    for track in tracks:
        for index, values, chosen in zip(track.indices, track.values, track.keys, strict=True):
            for component in range(values.shape[1]):
                actions.write_curve(objects[index], track.path, component, samples.times[chosen], values[chosen, component])
    if keys.to_strip:
        for ob, (action, slot) in zip(objects, actions_of_bake, strict=True):
            actions.push_down(ob)
            actions.assign(ob, action, slot)
            ob.animation_data.use_nla = True
    return tracks


def begin_action(ob: Object, *, always_new: bool) -> tuple[Action | None, str]:
    """Assign an action to the object: a new one if there is none or if `always_new`. Return the former action and its slot."""
    action = ob.animation_data.action if ob.animation_data is not None else None
    slot = actions.slot_identifier(ob)
    if action is None or always_new:
        actions.empty_action(ob, f"{ob.name} Baked")
    return action, slot


def placed_basis(context: Context, samples: Samples) -> Array:
    """Return the objects' own matrices (samples, objects, 4, 4) relative to their parents, evaluated at each sample."""
    scene = context.scene
    current, subframe = scene.frame_current, scene.frame_subframe
    result = np.empty_like(samples.worlds)
    for row, (time, worlds) in enumerate(zip(samples.times, samples.worlds, strict=True)):
        scene.frame_set(math.floor(time), subframe=time - math.floor(time))
        result[row] = basis_at(samples.objects, worlds, context.evaluated_depsgraph_get())
        # A parent may follow one of them.
        place_bodies(samples.objects, result[row])
    scene.frame_set(current, subframe=subframe)
    return result


def summary(frames: range, samples: Samples, tracks: list[Track], keys: Keys) -> Written:
    channels = sum(len(track.indices) * track.values.shape[2] for track in tracks)
    written = sum(int(track.keys.sum()) * track.values.shape[2] for track in tracks)
    worst = {}
    for is_place in (True, False):
        found = [worst_of(track, samples) for track in tracks if track.is_place == is_place]
        worst[is_place] = max(found, default=None) if not keys.are_all else None
    return Written(frames, written, len(frames) * channels, worst[True], worst[False])


def worst_of(track: Track, samples: Samples) -> Worst:
    row, sample = np.unravel_index(np.argmax(track.errors), track.errors.shape)
    name = samples.objects[track.indices[row]].name
    return Worst(float(track.errors[row, sample]), name, float(samples.times[sample]))
