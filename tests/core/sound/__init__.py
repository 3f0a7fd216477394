# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of `solver_core/sound`."""
