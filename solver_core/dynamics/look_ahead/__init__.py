# SPDX-License-Identifier: GPL-3.0-or-later
"""Continuous collision detection: end-of-step contacts that join the problem, and impacts that split the step."""
