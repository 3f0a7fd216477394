# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's law of restitution over the two steps that an impact takes (Kaufman et al. 2008, the footnote to (14)).

In the first a contact with a gap lets the bodies come together, and takes from them what would be too fast for that; in the
second they touch, and part with e times the speed at which they would have met. Both speeds are those of bodies in free fall
at the moment of contact: what forces give on the way there counts, and of the rebound the half of it that gravity takes back
until the middle of the step, where velocities are. So heights of bounces follow e^2, e^4 and so on whatever the step.

What a contact at rest gathers in a step is no impact. Gravity gives it g h; a rebound that is no faster is over within two
steps, the two that a bounce takes, and rises by less than g h^2 / 2.
"""

from __future__ import annotations

import math

from ...compile.kernel import kernel_part

__all__ = ["bounce"]


@kernel_part
def bounce(closing, pull, gap, times, before, e, least, touches):
    """(rebound, approach) in m/s: the speed that the bodies of a contact part with, 0 for none, and the one to be remembered.

    closing: m/s, before the step, in the middle of the last one. pull: m/s^2, at which forces alone bring them together.
    gap: m. times: s, of the step and of the one before. before: the remembered approach. least: m/s, a rebound that is no
    faster is none.
    """
    if not closing > 0.0:
        return 0.0, 0.0
    begin = closing + 0.5 * times[1] * pull
    approach = max(math.sqrt(max(0.0, begin * begin + 2.0 * pull * gap)), before)
    if not touches:
        return 0.0, approach
    rebound = e * approach
    return (max(0.0, rebound - 0.5 * times[0] * pull) if rebound > least else 0.0), 0.0
