# SPDX-License-Identifier: GPL-3.0-or-later
"""Staggered Projections (Kaufman, Sueda, James and Pai 2008): Algorithm 1 and its two projections."""
