# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that a bake may call compiled ahead: python -m solver_core.compile_all FOLDER."""
