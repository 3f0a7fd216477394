# SPDX-License-Identifier: GPL-3.0-or-later
"""One large problem on several processors: what threads hand to each other while they are in kernels."""
