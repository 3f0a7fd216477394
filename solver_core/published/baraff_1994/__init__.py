# SPDX-License-Identifier: GPL-3.0-or-later
"""Pivoting: Baraff 1994, Fast contact force computation for nonpenetrating rigid bodies."""
