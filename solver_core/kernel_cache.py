"""Where compiled kernels are kept from one run to the next: one folder for each state of the sources.

numba compiles a kernel anew when the file that it stands in has changed, but not when a kernel that it calls, in another file,
has. A folder named after all the sources leaves no stale kernel to be found.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from pathlib import Path

__all__ = ["kernel_folder", "use_kernel_cache"]

PACKAGE = Path(__file__).resolve().parent


def kernel_folder(base: Path) -> Path:
    """The folder below `base` for the sources as they are now."""
    digest = hashlib.blake2b(digest_size=8)
    for source in sorted(PACKAGE.rglob("*.py")):
        digest.update(source.relative_to(PACKAGE).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return base / f"kernels-{digest.hexdigest()}"


def use_kernel_cache() -> Path:
    """Keep this process's kernels in their folder below NUMBA_CACHE_DIR, or below the user's cache folder if that is not set.

    To be called before any kernel is imported. Python's collector of garbage looks less often from then on.
    """
    from numba.core import config

    folder = kernel_folder(Path(os.environ.get("NUMBA_CACHE_DIR") or _user_cache_folder() / "stiction"))
    setattr(config, "CACHE_DIR", str(folder))  # noqa: B010 - numba makes its settings at run time
    # what compiling makes, millions of objects, mostly stays; to look through it often took a tenth of the time
    gc.set_threshold(10_000, 20, 50)
    return folder


def _user_cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
