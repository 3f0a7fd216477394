# SPDX-License-Identifier: GPL-3.0-or-later
"""The sound of a bake: its contact events as a table, and a wav of modal voices."""
