# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies as arrays, their state and how they move on by themselves; the gaps they rest at; frames and checkpoints."""
