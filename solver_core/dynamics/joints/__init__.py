# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints in a time step: where their frames are, the rows that they add to its problem, which of them hold."""
