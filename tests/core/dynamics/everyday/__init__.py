# SPDX-License-Identifier: GPL-3.0-or-later
"""Everyday motion, as the benchmark of that name has it."""
