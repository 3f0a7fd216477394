# SPDX-License-Identifier: GPL-3.0-or-later
"""Staggered Projections: Kaufman, Sueda, James, Pai 2008, and the proposals that hasten them."""
