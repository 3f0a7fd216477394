# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that artists make, in Stiction and in Bullet: `python -m tests.bench.artists`."""
