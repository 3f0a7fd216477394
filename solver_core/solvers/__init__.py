# SPDX-License-Identifier: GPL-3.0-or-later
"""Solvers of contact problems: a folder a paper, proposals to Staggered Projections, and the entry points of all."""
