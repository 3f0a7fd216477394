# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems without a simulation: `solve`, `solve_many`, few contacts, and problems given as a matrix."""
