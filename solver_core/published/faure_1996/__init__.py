# SPDX-License-Identifier: GPL-3.0-or-later
"""Faure 1996, An energy-based method for contact force computation."""
