# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies as arrays, their state and free motion, their gaps at rest, frames and checkpoints."""
