# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender for tests: settings of its own, and the add-on in it under the name that it has as an extension."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
# Before bpy is imported: the user's own Blender settings have no part in tests, and no two processes share theirs.
RESOURCES = tempfile.TemporaryDirectory(prefix="stiction-tests-", ignore_cleanup_errors=True)
os.environ["BLENDER_USER_RESOURCES"] = RESOURCES.name
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "numba"))


def load_extension() -> ModuleType:
    """The repository's root as the package `stiction`, whether it is installed or not."""
    if "stiction" not in sys.modules:
        spec = importlib.util.spec_from_file_location("stiction", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
        assert spec is not None and spec.loader is not None
        sys.modules["stiction"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["stiction"])
    return sys.modules["stiction"]
