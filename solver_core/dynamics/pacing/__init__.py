# SPDX-License-Identifier: GPL-3.0-or-later
"""Control of the step length: partial steps, sequences of impacts, and steps that need no solve."""
