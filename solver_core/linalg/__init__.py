# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrix factorizations shared by the solvers, and vectors of three numbers for kernels."""
