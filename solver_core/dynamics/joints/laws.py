# SPDX-License-Identifier: GPL-3.0-or-later
"""The law of each row of a joint: its bias, its least and largest impulse, and what it gives way by.

The rows, and the mean that a spring pulls with, are those of `rows.py`.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.elementary import sine_and_cosine
from ..motion.rotation import matrices
from .coordinates import measured
from .limits import row_value
from .table import AT_LEAST, AT_MOST, HOLD, SPRING

__all__ = ["JOINT_COMPLIANCE", "laws", "laws_about", "weigh"]

# Of a row's inverse mass: joints give way by that much, so that those which say the same, or contradict each other a little,
# share what they bear in one way, and what is straight between two fixed points bears something
JOINT_COMPLIANCE = 1e-6
OF_LIMITS = 1e-2  # times that: a limit comes back with what it gives way, and is not to
# Of h^2 k / m of all springs of a body: beyond this they swing too fast for the step, and are pulled to rest
STIFF = 4.0
# The same of a body that bends: its fastest mode that swings, W = 4, leaves so much of 4 (1 + a W) - W
STIFF_BENDING = 1.75
LEAST_STIFF = 1e-4  # the weight is that of no stiffness at all, to eight digits


@kernel
def weigh(frames, rows, h, bends, out):
    """The weights of springs' forces at the last and at the first of three steps' ends.

    A mean with weights a has 2 (1 - cos theta) = W (1 - 2 a (1 - cos theta)), W = h^2 k / m and theta the angle of its
    phase in a step; it is sqrt(W) for the a below, and real while W (1 - 4 a) < 4. Modes
    have a share in that. bends: (n,) which bodies have any.
    """
    total = np.zeros(bends.size)
    for r in range(rows.joint.size):
        for end in range(2):
            body = frames.body[rows.joint[r], end]
            if body >= 0:
                total[body] += _stiffness(rows, out, r, h)
    for r in range(rows.joint.size):
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
    """h^2 k / m of a row."""
    return h * h * rows.stiffness[r] * fixed.inverse_mass[r] / (fixed.scale[r] * fixed.scale[r])


@kernel
def laws_about(rows, fixed, where, motion, times, recovery_speed):
    """As `laws`, of rows whose coordinates change as a motion has it.

    where: the `Frames`, which joints are held (j,), and their angles (j, 3). motion: velocities (dof,), where those of each
    body begin, and the places (n, 3) and orientations (n, 4) that they lead to.
    """
    (frames, held, angle), (v, offset, position, orientation) = where, motion
    after = measured(frames, held, position, matrices(orientation), angle)
    rate = rates(rows, fixed, frames, after, offset, v, times[0])
    return laws(rows, fixed, rate, times, recovery_speed, JOINT_COMPLIANCE)


@kernel_part
def rates(rows, fixed, frames, after, offset, v, h):
    """(r,) m/s at which coordinates change beside J v, where velocities v (dof,) lead to `after` in h seconds."""
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
    """Bias (t, 3) and laws (t, 3, 3) of rows whose coordinates change at a rate (r,) beside J v. times: s, of the step, and
    over which forces act. compliance: of a row's inverse mass."""
    (h, force_time), t = times, fixed.bodies.shape[0]
    bias, box = np.zeros((t, 3)), np.zeros((t, 3, 3))
    for r in range(rows.joint.size):
        kind, scale = rows.kind[r], fixed.scale[r]
        if kind <= AT_MOST:
            # what is wrong is made good at no more than a speed, and what is left up to a limit may be used up
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
    """What a spring and a damper add to a row's velocity, and their compliance."""
    scale, k, c, before = fixed.scale[r], rows.stiffness[r], rows.damping[r], fixed.speed[r] / fixed.scale[r]
    # of the first step, which has half the force, the end before it is the mirror image of the one after it
    last, first = fixed.last[r] * h / force_time, fixed.first[r] * h / force_time
    late = max(0.5, 1.0 - 1.0 / max(c * force_time * fixed.inverse_mass[r] / (scale * scale), 1e-300))
    gain = force_time * (last * h * k + late * c)
    pull = force_time * (k * (fixed.now[r] - rows.target[r] - first * h * before) + (1.0 - late) * c * before)
    return scale * pull / gain, scale * scale / gain
