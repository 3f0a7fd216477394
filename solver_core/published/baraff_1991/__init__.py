# SPDX-License-Identifier: GPL-3.0-or-later
"""Lemke's algorithm, and friction with it (Baraff 1991, "Coping with friction for non-penetrating rigid body simulation")."""
