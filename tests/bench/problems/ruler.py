# SPDX-License-Identifier: GPL-3.0-or-later
"""One ruler for all: how far impulses are from Coulomb's law, from W, q and mu alone, by numpy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["error"]

Floats = NDArray[np.float64]

DIVERGED = 1e100  # N s, whose squares overflow


def error(W: Floats, q: Floats, mu: Floats, r: Floats) -> float:
    """The largest |r - P(r - kappa u)| / kappa over the fastest velocity without impulses.

    u = W r + q; P takes the normal to max(0, .) and the tangent onto the disk of radius mu max(0, r_n); kappa: what a contact
    has to move, 3 over the trace of its block of W (Alart and Curnier 1991). nan is inf.
    """
    m = len(mu)
    r = np.reshape(r, (m, 3))
    if not np.isfinite(r).all() or np.abs(r).max(initial=0.0) > DIVERGED:
        return np.inf
    u = (W @ r.ravel() + q).reshape(m, 3)
    trace = np.diagonal(W).reshape(m, 3).sum(axis=1)
    kappa = np.where(trace > 0.0, 3.0 / np.where(trace > 0.0, trace, 1.0), 1.0)
    w = r - kappa[:, None] * u
    bound = mu * np.maximum(r[:, 0], 0.0)
    size = np.linalg.norm(w[:, 1:], axis=1)
    shrink = np.where(size > bound, bound / np.where(size > 0.0, size, 1.0), 1.0)
    wanted = np.column_stack([np.maximum(w[:, 0], 0.0), shrink[:, None] * w[:, 1:]])
    off = np.linalg.norm(r - wanted, axis=1) / kappa
    # of what can open nothing is asked, so it is no scale
    free = q.reshape(m, 3).copy()
    free[:, 0] = np.minimum(free[:, 0], 0.0)
    found = float(off.max(initial=0.0) / max(np.linalg.norm(free, axis=1).max(initial=0.0), np.finfo(float).tiny))
    return found if np.isfinite(found) else np.inf
