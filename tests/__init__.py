# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests, and benchmarks that run as modules: `python -m tests.bench.captured`."""
