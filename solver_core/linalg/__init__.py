# SPDX-License-Identifier: GPL-3.0-or-later
"""Factorisations that the solvers share, and vectors of three numbers in kernels."""
