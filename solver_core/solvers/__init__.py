# SPDX-License-Identifier: GPL-3.0-or-later
"""The default solver: Staggered Projections, the proposals to them, and the operators and criteria that they share."""
