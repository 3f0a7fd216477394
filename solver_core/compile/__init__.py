# SPDX-License-Identifier: GPL-3.0-or-later
"""Compilation of kernels: their kinds, the cache of compiled code, the target processor, and precompilation."""
