# SPDX-License-Identifier: GPL-3.0-or-later
"""Factorisations that the solvers share."""
