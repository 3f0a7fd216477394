# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise of force fields: turbulence in space, made of a permutation (256,) of 0 to 255, and numbers that are drawn."""

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
    """The generator's next state of 48 bits; the product wraps, of which the lower bits are right."""
    return (MULTIPLIER * state + INCREMENT) & MASK


def seeded(seed: int) -> int:
    """The state of the generator that begins with a seed of 32 bits."""
    return (seed & 0xFFFFFFFF) << 16 | FIRST_WORD


@leaf_kernel
def drawn(state):
    """A number between -1 and 1, small ones more often, and the next state: as Blender draws the noise of its fields."""
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
    """The product of (x, y, z) with one of twelve directions, of which four are there twice."""
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
    """Gradient noise about 0 (Perlin, Improving Noise, SIGGRAPH 2002): 0 at whole numbers, smooth, with a period of 256."""
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
    """Three numbers of octaves of noise, each half as large and as strong as the one before, together from -1 to 1."""
    scale = 1.0 / size if size != 0.0 else 1.0
    first, second = _octaves(permutation, scale, x, y, z), _octaves(permutation, scale, y, z, x)
    return first, second, _octaves(permutation, scale, z, x, y)
