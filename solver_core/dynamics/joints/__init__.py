# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints in a time step: their frames, the rows that they add to the contact problem, and which of them are active."""
