# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise of force fields: turbulence in space from a permutation (256,) of 0 to 255, and random numbers."""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel_part, leaf_kernel

__all__ = ["drawn", "next_state", "perlin", "seeded", "turbulence"]

# x -> (a x + c) mod 2^48, the generator of drand48 (IEEE Std 1003.1), which begins with the seed above this word.
MULTIPLIER, INCREMENT, MASK = np.int64(0x5DEECE66D), np.int64(0xB), np.int64(0xFFFFFFFFFFFF)
FIRST_WORD = 0x330E
OCTAVES = 3
# the largest that all octaves add up to
FULL = 1.75


@leaf_kernel
def next_state(state):
    """Return the generator's next 48-bit state. The product overflows, but its lower bits are correct."""
    return (MULTIPLIER * state + INCREMENT) & MASK


def seeded(seed: int) -> int:
    """Return the state of the generator for a 32-bit seed."""
    return (seed & 0xFFFFFFFF) << 16 | FIRST_WORD


@leaf_kernel
def drawn(state):
    """Return a number between -1 and 1, small ones more often, and the next state, as Blender does for its fields."""
    state = next_state(state)
    whole = (np.int64(state >> 17) + 1) % 128
    state = next_state(state)
    divisor = np.float64(state >> 17) / 2147483648.0 + 1.0
    return (1.0 if whole > 64 else -1.0) * (whole / divisor) / 128.0, state


@leaf_kernel
def _fade(t):
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)


@kernel_part
def _slope(code, x, y, z):
    """Return the product of (x, y, z) with one of sixteen gradient directions, four of which are duplicates."""
    h = code & 15
    u = x if h < 8 else y
    if h < 4:
        v = y
    elif h in (12, 14):
        v = x
    else:
        v = z
    return (u if h & 1 == 0 else -u) + (v if h & 2 == 0 else -v)


@kernel_part
def perlin(permutation, x, y, z):
    """Return gradient noise (Perlin, Improving Noise, SIGGRAPH 2002): smooth, 0 at integers, mean 0, with a period of 256."""
    total = 0.0
    x0, y0, z0 = np.floor(x), np.floor(y), np.floor(z)
    dx, dy, dz = x - x0, y - y0, z - z0
    for i in range(2):
        for j in range(2):
            for k in range(2):
                code = permutation[(np.int64(x0) + i) & 255]
                code = permutation[(code + np.int64(y0) + j) & 255]
                code = permutation[(code + np.int64(z0) + k) & 255]
                u = _fade(dx) if i == 1 else 1.0 - _fade(dx)
                v = _fade(dy) if j == 1 else 1.0 - _fade(dy)
                w = _fade(dz) if k == 1 else 1.0 - _fade(dz)
                total += u * v * w * _slope(code, dx - i, dy - j, dz - k)
    return total


@leaf_kernel
def _octaves(permutation, scale, x, y, z):
    total, share = 0.0, 1.0
    for _ in range(OCTAVES):
        total += share * perlin(permutation, scale * x, scale * y, scale * z)
        share *= 0.5
        scale *= 2.0
    return total / FULL


@kernel_part
def turbulence(permutation, size, x, y, z):
    """Return three numbers from -1 to 1, sums of octaves of noise, each with half the size and strength of the previous one."""
    scale = 1.0 / size if size != 0.0 else 1.0
    first, second = _octaves(permutation, scale, x, y, z), _octaves(permutation, scale, y, z, x)
    return first, second, _octaves(permutation, scale, z, x, y)
