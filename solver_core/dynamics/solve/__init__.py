# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact problem of a step solved island by island, and overlaps undone."""
