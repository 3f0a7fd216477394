# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmarks, each a module to run from the root of the repository: `python -m tests.bench.captured --help`.

Importing this has the worker that Blender starts keep kernels in the build folder, as this process does.
"""

import os
from pathlib import Path

os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[2] / "build" / "numba"))
