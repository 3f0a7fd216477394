# SPDX-License-Identifier: GPL-3.0-or-later
"""Other people's solvers beside ours, on the same contact problems: `python -m tests.bench.problems.compare`."""
