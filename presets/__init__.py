# SPDX-License-Identifier: GPL-3.0-or-later
"""Materials and solver settings as data; `materials.json` names the source of every number."""
