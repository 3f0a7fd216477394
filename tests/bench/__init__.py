# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmarks, each a module to run from the root of the repository: `python -m tests.bench.captured --help`.

Importing this keeps kernels as bakes and tests do: compiled once for each state of the sources, in the build folder.
"""

import os
from pathlib import Path

from solver_core.compile.kernel_cache import use_kernel_cache

os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[2] / "build" / "numba"))
use_kernel_cache()
