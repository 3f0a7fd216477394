"""What all tests share: kernels are compiled once for each state of the sources, and kept in the build folder."""

import os
from pathlib import Path

from solver_core.compile.kernel_cache import use_kernel_cache

os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / "build" / "numba"))
use_kernel_cache()
