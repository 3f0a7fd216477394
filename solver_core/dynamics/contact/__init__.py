# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of a step: detection, history from step to step, and assembly of the contact problem."""
