# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact problem: its equations, its solutions, and the measures of these that no solver decides."""
