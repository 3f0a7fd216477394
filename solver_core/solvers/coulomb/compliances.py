# SPDX-License-Identifier: GPL-3.0-or-later
"""The compliances of a proximal point continuation (`stiffening.py`), one after the other."""

from __future__ import annotations

from ...compile.kernel import kernel

__all__ = ["BEGIN", "MOST_COMPLIANCES", "ROUGHLY", "next_compliance"]

SOFTEST = 1.0  # compliance of a contact, over what it gives way by itself
STIFFER = 0.3  # of the compliance before, at first
SOFTER = 10.0  # times the last compliance that went well, where those below it do not
TRIES_BELOW = 2  # compliances one after the other without an answer, until they are raised
ROUGHLY = 1e-4  # of the fastest velocity times the compliance: what an answer may be off that only leads on
MOST_COMPLIANCES = 200  # in all: what contacts with nothing that moves lack takes no factorisation
BEGIN = (SOFTEST, SOFTEST, STIFFER, 0)


@kernel
def next_compliance(course, answered):
    """The compliance to go on with, and what else `course` is: the last one that was answered, the factor to the next one, and
    how many had no answer since. course: the same for the compliance that was tried. answered: whether it has an answer.

    Where none is found the path of answers turns back: less is tried, and then more, for the path has moved on meanwhile.
    """
    compliance, last, factor, lost = course
    if answered:
        return compliance * factor, compliance, max(STIFFER, factor**1.5), 0
    if lost + 1 < TRIES_BELOW:
        factor = factor**0.5
        return last * factor, last, factor, lost + 1
    return min(SOFTER * last, SOFTEST), last, STIFFER, 0
