# SPDX-License-Identifier: GPL-3.0-or-later
"""The law of each joint row: its bias, the bounds of its impulse, and its compliance.

`rows.py` derives the rows and the mean force of a spring.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.elementary import sine_and_cosine
from ..motion.rotation import matrices
from .coordinates import measured
from .limits import row_value
from .table import AT_LEAST, AT_MOST, HOLD, SPRING, Frames

__all__ = ["JOINT_COMPLIANCE", "EndMotion", "JointPose", "laws", "laws_about", "weigh"]

Floats = NDArray[np.float64]

# Compliance of joint rows, relative to their inverse mass. Redundant rows, and rows that conflict a little, then share the load
# in a unique way, and a straight chain between two fixed points can carry load.
JOINT_COMPLIANCE = 1e-6
OF_LIMITS = 1e-2  # factor for limits, which would return the energy that their compliance stores
STIFF = 4.0  # limit on h^2 k / m of all springs of a body; stiffer springs use backward Euler
# The same for a flexible body: its fastest oscillating mode, W = 4, leaves this much of 4 (1 + a W) - W.
STIFF_BENDING = 1.75
LEAST_STIFF = 1e-4  # smallest h^2 k / m that is used; the weight is then that of zero stiffness to eight digits


class JointPose(NamedTuple):
    """The frames of joints, and what is needed to measure their coordinates.

    frames: of j joints. active: (j,) the joints that hold. angle: (j, 3) rad, the last angles.
    """

    frames: Frames
    active: NDArray[np.bool_]
    angle: Floats


class EndMotion(NamedTuple):
    """A motion of n bodies over a step.

    v: (dof,) m/s and rad/s. offset: (moving + 1,) as in a `System`. position: (n, 3) m and orientation: (n, 4), at its end.
    """

    v: Floats
    offset: NDArray[np.int64]
    position: Floats
    orientation: Floats


@kernel
def weigh(frames, rows, h, bends, out):
    """Compute the weights of spring forces at the last and the first of the three step ends.

    A mean with weights a has 2 (1 - cos theta) = W (1 - 2 a (1 - cos theta)), with W = h^2 k / m and the phase angle theta per
    step. theta is sqrt(W) for the a below, and real while W (1 - 4 a) < 4. The modes of flexible bodies lower this limit.

    bends: (n,) which bodies are flexible. out: a `Fixed`, whose `last` and `first` are written; they are zero for other rows.
    """
    total = np.zeros(bends.size)
    for r in range(rows.joint.size):
        for end in range(2):
            body = frames.body[rows.joint[r], end]
            if body >= 0:
                total[body] += _stiffness(rows, out, r, h)
    for r in range(rows.joint.size):
        if rows.kind[r] != SPRING:
            out.last[r], out.first[r] = 0.0, 0.0
            continue
        a, b = frames.body[rows.joint[r], 0], frames.body[rows.joint[r], 1]
        most = STIFF_BENDING if (a >= 0 and bends[a]) or (b >= 0 and bends[b]) else STIFF
        if max(total[a] if a >= 0 else 0.0, total[b] if b >= 0 else 0.0) > most:
            out.last[r], out.first[r] = 1.0, 0.0
        else:
            small = min(max(_stiffness(rows, out, r, h), LEAST_STIFF), STIFF)
            out.last[r] = 0.5 / (1.0 - sine_and_cosine(np.sqrt(small))[1]) - 1.0 / small
            out.first[r] = out.last[r]


@inlined_kernel
def _stiffness(rows, fixed, r, h):
    """Return h^2 k / m of a row."""
    return h * h * rows.stiffness[r] * fixed.inverse_mass[r] / (fixed.scale[r] * fixed.scale[r])


@kernel
def laws_about(rows, fixed, pose, motion, times, recovery_speed):
    """Return `laws` of rows linearized about a motion.

    Parameters
    ----------
    rows, fixed : `Rows` and `Fixed` of the joints
    pose : `JointPose`
    motion : `EndMotion`
    times : `StepTimes`
    recovery_speed : lengths per second
    """
    after = measured(pose.frames, pose.active, motion.position, matrices(motion.orientation), pose.angle)
    rate = rates(rows, fixed, pose.frames, after, motion.offset, motion.v, times.h)
    return laws(rows, fixed, rate, times, recovery_speed, JOINT_COMPLIANCE)


@kernel_part
def rates(rows, fixed, frames, after, offset, v, h):
    """Return (r,) m/s, the rates of coordinates in addition to J v. Velocities v (dof,) lead to `after` in h seconds."""
    out = np.empty(rows.joint.size)
    for r in range(rows.joint.size):
        triple, place = rows.triple[r], rows.place[r]
        rate = fixed.scale[r] * (row_value(rows, r, frames, after) - fixed.now[r]) / h
        for end in range(2):
            body = fixed.dof[end, triple]
            if body >= 0:
                for i in range(offset[body + 1] - offset[body]):
                    rate -= fixed.jacobian[end, triple, place, i] * v[offset[body] + i]
        out[r] = rate
    return out


@kernel
def laws(rows, fixed, rate, times, recovery_speed, compliance):
    """Return the bias (t, 3), and the bounds and compliance (t, 3, 3), of joint rows.

    Parameters
    ----------
    rows, fixed : `Rows` and `Fixed` of the joints, with r rows in t triples
    rate : (r,) m/s, of coordinates in addition to J v
    times : `StepTimes`
    recovery_speed : lengths per second, the largest rate at which constraint errors are corrected
    compliance : relative to the inverse mass of a row
    """
    h, force_time, t = times.h, times.force_time, fixed.bodies.shape[0]
    bias, box = np.zeros((t, 3)), np.zeros((t, 3, 3))
    for r in range(rows.joint.size):
        kind, scale = rows.kind[r], fixed.scale[r]
        if kind <= AT_MOST:
            # Constraint errors are corrected at a limited speed. The distance to a limit may be used up within the step.
            speed = recovery_speed * fixed.length[r]
            off = scale * (fixed.now[r] - rows.target[r]) / h
            off = off if kind == AT_MOST else max(off, -speed)
            off = off if kind == AT_LEAST else min(off, speed)
            shift, give = off, compliance * fixed.inverse_mass[r] * (1.0 if kind == HOLD else OF_LIMITS)
            low, high = 0.0 if kind == AT_LEAST else -np.inf, 0.0 if kind == AT_MOST else np.inf
        elif kind == SPRING:
            shift, give = _pull(rows, fixed, r, h, force_time)
            low, high = -np.inf, np.inf
        else:  # a motor, or nothing: a motor without force
            most = rows.force[r] * force_time / scale
            shift, give = -scale * rows.target[r], 0.0
            low, high = -most, most
        triple, place = rows.triple[r], rows.place[r]
        bias[triple, place] = rate[r] + shift
        box[triple, place, 0], box[triple, place, 1], box[triple, place, 2] = low, high, give
    return bias, box


@leaf_kernel
def _pull(rows, fixed, r, h, force_time):
    """Return the velocity that a spring and a damper add to a row, and their compliance."""
    scale, k, c, before = fixed.scale[r], rows.stiffness[r], rows.damping[r], fixed.speed[r] / fixed.scale[r]
    # In the first step, over half of which forces act, the state before it mirrors the state after it.
    last, first = fixed.last[r] * h / force_time, fixed.first[r] * h / force_time
    late = max(0.5, 1.0 - 1.0 / max(c * force_time * fixed.inverse_mass[r] / (scale * scale), 1e-300))
    gain = force_time * (last * h * k + late * c)
    pull = force_time * (k * (fixed.now[r] - rows.target[r] - first * h * before) + (1.0 - late) * c * before)
    return scale * pull / gain, scale * scale / gain
