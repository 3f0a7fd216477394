# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a step is: several in one, one in parts, impacts that follow each other."""
