# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies as arrays, and the stages of a time step."""
