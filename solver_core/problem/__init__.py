# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact problem: its equations, its results, and residuals that are independent of all solvers."""
