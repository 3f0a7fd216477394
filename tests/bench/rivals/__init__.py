# SPDX-License-Identifier: GPL-3.0-or-later
"""Boxes in other engines, measured by one ruler: `python -m tests.bench.rivals.race`."""
