# SPDX-License-Identifier: GPL-3.0-or-later
"""The solve of a step's contact problem, island by island, and the separation of overlaps."""
