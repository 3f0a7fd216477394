# SPDX-License-Identifier: GPL-3.0-or-later
"""Interpolate motion that is given at whole frames, so that a body on an animated one feels its acceleration and no jerks.

The interpolation is cubic Hermite. The velocity at a frame is the mean of the velocities before and after it, which reproduces
constant acceleration and steady rotation exactly. It is at most three times the smaller of the two (Fritsch and Carlson 1980),
so a body that waits until a frame does not move before it, and a body that stops does not swing back.

At a kink, where the velocity changes much more than at the neighboring frames, the velocity has two values, one from each side.
Motion that starts or stops at once keeps its velocity then; a single value would exceed it by a third within the frame.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ...linalg.elementary import sine_and_cosine
from ...linalg.vec3 import add, cross, dot, norm, scaled, sub, vec
from .rotation import rotate_by, rotation_vector, rotation_vectors

__all__ = ["GivenPath", "begin_twist", "end_twist", "path_pose", "rate_of_turn", "smooth"]

Floats = NDArray[np.float64]

STEEPEST = 3.0
NEAR_STEPS = 3  # number of steps before and after an interpolated step from which the kinks at its ends are detected
# The change of velocity at a kink is at least so many times that of the two frames on one side. At the peak of a sine of P
# frames it is 1 / cos(2 pi / P) times that of the next frame, so swings of five frames and more are smooth
SUDDEN = 4.0
JUST_BEFORE = 1e-3  # frames
SAME_MOMENT = 1e-6  # frames; a sum of time steps differs from a whole frame by less
MOST_RECENT = 4  # number of cached poses of a path; a step needs those at its start and its end several times
SERIES_RATE_ANGLE = 1e-3  # rad; below it, the first term of the series is accurate to rounding


def smooth(values: Floats, frame: float) -> Floats:
    """Interpolate values that are given at frames.

    values: (frames, ..., 3). frame: counted from the first. Returns (..., 3), the last values after the last frame.
    """
    i, t = _place(len(values), frame)
    if t == 0.0:
        return values[i].copy()
    near = range(max(i - NEAR_STEPS, 0), min(i + NEAR_STEPS, len(values) - 2) + 1)
    steps = {k: values[k + 1] - values[k] for k in near}
    return values[i] + _hermite(steps[i], _velocity(steps, i, i), _velocity(steps, i + 1, i), t)


def path_pose(path: Floats, frame: float) -> Floats:
    """Return the pose (7,) on a path (frames, 7) at a frame, counted from the first. The last pose persists."""
    return pose_between(np.ascontiguousarray(path, dtype=np.float64), *_place(len(path), frame))


@kernel
def pose_between(path, i, t):
    """Return the pose (7,) on a path (frames, 7) at the fraction t between frame i and the next one.

    The operations and their order are those of `smooth`, so that positions have the same bits.
    """
    pose = path[i].copy()
    size = np.sqrt(pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6])
    for k in range(3, 7):
        pose[k] /= size
    if t == 0.0:
        return pose
    # The steps i - NEAR_STEPS to i + NEAR_STEPS: which of them exist, their translations, and their rotation vectors
    has_step, steps = np.zeros(2 * NEAR_STEPS + 1, np.bool_), np.zeros((2, 2 * NEAR_STEPS + 1, 3))
    for n in range(2 * NEAR_STEPS + 1):
        k = i - NEAR_STEPS + n
        if 0 <= k < path.shape[0] - 1:
            has_step[n] = True
            steps[0, n] = path[k + 1, :3] - path[k, :3]
            steps[1, n] = rotation_vectors(path[k : k + 1, 3:], path[k + 1 : k + 2, 3:])[0]
    near, has_near = steps[:, NEAR_STEPS - 1 : NEAR_STEPS + 2], _smooth_steps(steps, has_step)
    step, has = near[0], has_near[0]
    way = _hermite_of_vectors(vec(step, 1), _velocity_at(step, has, 1), _velocity_at(step, has, 2), t)
    for k in range(3):
        pose[k] += way[k]
    # theta rotates the orientation at frame i: exp(theta(t)) q_i
    step, has = near[1], has_near[1]
    turn = vec(step, 1)
    end = _rate_of_turn(turn, _velocity_at(step, has, 2))
    theta = _hermite_of_vectors(turn, _velocity_at(step, has, 1), end, t)
    rotate_by(pose[3:], theta[0], theta[1], theta[2], pose[3:])
    return pose


@kernel_part
def _smooth_steps(steps, has_step):
    """Return (2, 3) which of the steps before, at and after an interpolated step have no kink between it and them.

    steps: (2, 2 NEAR_STEPS + 1, 3) translations and rotation vectors. has_step: (2 NEAR_STEPS + 1,) which exist.
    """
    out = np.zeros((2, 3), np.bool_)
    for part in range(2):
        out[part] = has_step[NEAR_STEPS - 1 : NEAR_STEPS + 2]
        out[part, 0] = out[part, 0] and not _is_kink_at(steps[part], has_step, NEAR_STEPS)
        out[part, 2] = out[part, 2] and not _is_kink_at(steps[part], has_step, NEAR_STEPS + 1)
    return out


@leaf_kernel
def _is_kink_at(steps, has_step, k):
    """Return `_is_kink` at the frame at which step k starts."""
    change = sub(vec(steps, k), vec(steps, k - 1))
    size, calm, sides = norm(change), 0, 0
    for side in (-1, 1):
        is_calm, may_turn_back = True, True
        for n in (1, 2):
            after = k + side * n
            # The change of velocity at a frame is between the steps before and after it.
            if after < 1 or after >= has_step.size or not has_step[after - 1] or not has_step[after]:
                if n == 1:
                    return False
                continue
            other = sub(vec(steps, after), vec(steps, after - 1))
            if SUDDEN * norm(other) > size:
                is_calm = False
                may_turn_back = may_turn_back and dot(other, change) < 0.0
        calm += is_calm
        sides += is_calm or may_turn_back
    return size > 0.0 and calm > 0 and sides == 2


@leaf_kernel
def _velocity_at(steps, has_step, k):
    """Return `_velocity` at the frame at which step k, 1 or 2, starts. steps: (3, 3). has_step: (3,) which exist."""
    if has_step[k - 1] and has_step[k]:
        before, after = vec(steps, k - 1), vec(steps, k)
        return _no_steeper(scaled(0.5, add(before, after)), norm(before), norm(after))
    near, far = (k, k + 1) if has_step[k] else (k - 1, k - 2)
    if 0 <= far < 3 and has_step[far]:
        slope = sub(scaled(1.5, vec(steps, near)), scaled(0.5, vec(steps, far)))
        return _no_steeper(slope, norm(vec(steps, near)), norm(vec(steps, near)))
    return vec(steps, near)


@leaf_kernel
def _no_steeper(velocity, before, after):
    """As `_at_most`, with the lengths of the steps before and after."""
    size, slower = norm(velocity), STEEPEST * min(before, after)
    return scaled(slower / size if size > slower and size > 0.0 else 1.0, velocity)


@leaf_kernel
def _hermite_of_vectors(step, begin, end, t):
    """Return `_hermite` for vectors in kernels."""
    bend = sub(scaled(1.0 - t, begin), scaled(t, end))
    return add(scaled(t * t * (3.0 - 2.0 * t), step), scaled(t * (1.0 - t), bend))


@leaf_kernel
def _rate_of_turn(theta, omega):
    """Return d theta / dt of a rotation exp(theta) with the angular velocity omega; vectors in world axes."""
    angle = norm(theta)
    # (1 - angle / 2 cot(angle / 2)) / angle^2; the series is used for angles at which the quotient would lose digits.
    sine, cosine = sine_and_cosine(0.5 * angle)
    c = 1.0 / 12.0 if angle < SERIES_RATE_ANGLE else (1.0 - 0.5 * angle * cosine / sine) / (angle * angle)
    once = cross(theta, omega)
    return add(sub(omega, scaled(0.5, once)), scaled(c, cross(theta, once)))


def end_twist(path: Floats) -> Floats:
    """Return the linear and angular velocity (6,) per frame at the end of a path (frames, 7)."""
    last = len(path) - 1.0
    before, just_before, end = (path_pose(path, last - k * JUST_BEFORE) for k in (2, 1, 0))
    rates = [
        np.append(b[:3] - a[:3], rotation_vector(a[3:], b[3:])) / JUST_BEFORE
        for a, b in ((before, just_before), (just_before, end))
    ]
    return 1.5 * rates[1] - 0.5 * rates[0]


def begin_twist(path: Floats) -> Floats:
    """Return the linear and angular velocity (6,) per frame at the start of a path (frames, 7)."""
    begin, just_after, after = (path_pose(path, k * JUST_BEFORE) for k in (0, 1, 2))
    rates = [
        np.append(b[:3] - a[:3], rotation_vector(a[3:], b[3:])) / JUST_BEFORE
        for a, b in ((begin, just_after), (just_after, after))
    ]
    return 1.5 * rates[0] - 0.5 * rates[1]


class GivenPath:
    """A path (frames, 7) in pieces. A body jumps to the first pose of a piece.

    Before the jump, the body stays at the last pose of the previous piece. Each piece is interpolated independently.
    """

    def __init__(self, poses: Floats, jumps: Iterable[int] = ()) -> None:
        """poses: (frames, 7). jumps: the first frames of pieces, counted from the first frame of the path."""
        self._poses = poses
        self._recent: dict[tuple[int, float], Floats] = {}
        self._starts = np.array(sorted({0, *(jump for jump in jumps if 0 < jump < len(poses))}), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._poses)

    def jumps_at(self, frame: int) -> bool:
        """Return whether the body jumps to its pose at a frame."""
        return frame > 0 and frame in self._starts

    def pose(self, frame: float) -> Floats:
        """Return the pose (7,) at a frame; after a jump at this frame."""
        return self._in_piece_of(frame, frame)

    def pose_before(self, frame: float) -> Floats:
        """Return the pose (7,) at a frame; before a jump at this frame."""
        return self._in_piece_of(frame - SAME_MOMENT, frame)

    def piece_to(self, frame: int) -> Floats:
        """Return the poses (k, 7) of the piece that contains a frame, up to this frame."""
        return self._poses[self._starts[np.searchsorted(self._starts, frame, side="right") - 1] : frame + 1]

    def piece_from(self, frame: int) -> Floats:
        """Return the poses (k, 7) of the piece that contains a frame, from this frame on."""
        later = self._starts[self._starts > frame]
        return self._poses[frame : later[0] if len(later) else len(self._poses)]

    def twist(self, frame: float) -> Floats:
        """Return the linear and angular velocity (6,) per frame with which the motion reaches a frame.

        It follows from the last two steps of the piece; if there are fewer, the next steps count as well. It is zero after the
        last pose, and at a frame with a jump before and after it.
        """
        whole, last = round(frame), len(self._poses) - 1
        if frame > last + SAME_MOMENT:
            return np.zeros(6)
        if abs(frame - whole) <= SAME_MOMENT:
            before, after = self.piece_to(whole), self.piece_from(whole)
            if len(before) > 2 or (len(before) > 1 and len(after) == 1):
                return end_twist(before)
            if len(before) == 1:
                return begin_twist(after) if len(after) > 1 else np.zeros(6)
        just_before, just_after = (self._in_piece_of(frame, frame + k * JUST_BEFORE) for k in (-1, 1))
        turned = rotation_vector(just_before[3:], just_after[3:])
        return np.append(just_after[:3] - just_before[:3], turned) / (2.0 * JUST_BEFORE)

    def _in_piece_of(self, moment: float, frame: float) -> Floats:
        k = max(int(np.searchsorted(self._starts, moment, side="right")) - 1, 0)
        pose = self._recent.get((k, frame))
        if pose is None:
            end = self._starts[k + 1] if k + 1 < len(self._starts) else len(self._poses)
            pose = path_pose(self._poses[self._starts[k] : end], frame - float(self._starts[k]))
            if len(self._recent) == MOST_RECENT:
                del self._recent[next(iter(self._recent))]
            self._recent[k, frame] = pose
        return pose.copy()


def _place(frames: int, frame: float) -> tuple[int, float]:
    """Return the last frame that is not later than a given one, and the fraction of the step to the next frame."""
    i = min(int(frame), frames - 1)
    return i, frame - i if i < frames - 1 else 0.0


def _velocity(steps: dict[int, Floats], k: int, inside: int) -> Floats:
    """Return the velocity per frame at frame k for the step `inside`, k - 1 or k: the mean of the steps before and after k.

    At an end of the path and at a kink, it follows from the two nearest steps on the side of that step.
    """
    beyond, far = (k - 1, k + 1) if inside == k else (k, k - 2)
    near = steps[inside]
    ahead = k + 1 if inside == k else k - 1
    one_sided = near
    if far in steps:
        one_sided = _at_most(1.5 * near - 0.5 * steps[far], near, near)
        one_sided = np.where(_is_kink(steps, ahead), near, one_sided)
    if beyond not in steps:
        return one_sided
    before, after = steps[k - 1], steps[k]
    return np.where(_is_kink(steps, k), one_sided, _at_most(0.5 * (before + after), before, after))


def _is_kink(steps: dict[int, Floats], k: int) -> NDArray[np.bool_]:
    """Return (..., 1) whether the velocity has a kink at frame k.

    On one side, the changes at the next two frames are at most 1 / SUDDEN of the change at k. On the other side, a larger
    change is allowed if it reverses the one at k, as for a body that starts and stops within two frames.
    """
    changes = {n: steps[n] - steps[n - 1] for n in range(k - 2, k + 3) if n in steps and n - 1 in steps}
    if not {k - 1, k, k + 1} <= changes.keys():
        return np.zeros((*next(iter(steps.values())).shape[:-1], 1), np.bool_)
    size, calm, turning = _length(changes[k]), [], []
    for side in (-1, 1):
        others = [changes[n] for n in (k + side, k + 2 * side) if n in changes]
        small = [SUDDEN * _length(other) <= size for other in others]
        back = [(other * changes[k]).sum(axis=-1, keepdims=True) < 0.0 for other in others]
        calm.append(np.logical_and.reduce(small))
        turning.append(np.logical_and.reduce([a | b for a, b in zip(small, back, strict=True)]))
    return (size > 0.0) & (calm[0] | calm[1]) & turning[0] & turning[1]


def _length(x: Floats) -> Floats:
    return np.linalg.norm(x, axis=-1, keepdims=True)


def _at_most(velocity: Floats, before: Floats, after: Floats) -> Floats:
    length, slower = _length(velocity), STEEPEST * np.minimum(_length(before), _length(after))
    return velocity * np.where(length > slower, slower / np.where(length > 0.0, length, 1.0), 1.0)


def _hermite(step: Floats, begin: Floats, end: Floats, t: float) -> Floats:
    """Return the displacement at the fraction t of a step with the velocities `begin` and `end`."""
    return t * t * (3.0 - 2.0 * t) * step + t * (1.0 - t) * ((1.0 - t) * begin - t * end)


@kernel
def rate_of_turn(theta, omega):
    """d theta / dt of exp(theta) that turns with the angular velocity omega, both (3,) in world axes."""
    rate = _rate_of_turn((theta[0], theta[1], theta[2]), (omega[0], omega[1], omega[2]))
    return np.array(rate)
