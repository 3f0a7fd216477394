# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension can be switched on and off again and again: Blender says nothing about it, and keeps nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bpy
import pytest

ROOT = Path(__file__).resolve().parents[2]

TWICE = """
import sys, warnings
warnings.simplefilter("error")
sys.path.insert(0, {root!r})
from tests.addon.loading import load_extension
extension = load_extension()
import bpy

def there():
    lists = {{name: getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers)}}
    handlers = {{name: len(found) for name, found in lists.items() if isinstance(found, list)}}
    owners = bpy.types, bpy.types.Scene, bpy.types.Object, bpy.types.WindowManager
    names = {{name for owner in owners for name in dir(owner)}}
    return handlers, names

before = there()
for _ in range(2):
    extension.register()
    assert hasattr(bpy.types.Scene, "stiction") and there() != before
    extension.unregister()
    assert there() == before, (set(there()[1]) - set(before[1]), there()[0], before[0])
print("\\nsilent to here", flush=True)
import os
os._exit(0)
"""


@pytest.mark.slow
def test_registering_twice_leaves_nothing_and_says_nothing():
    done = subprocess.run(
        [sys.executable, "-c", TWICE.format(root=str(ROOT))],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["silent", "to", "here"] and done.stderr == ""


def test_handlers_come_and_go_with_the_extension(extension):
    handlers = bpy.app.handlers.frame_change_post
    count = len(handlers)
    extension.unregister()
    assert len(handlers) == count - 1 and not hasattr(bpy.types.Scene, "stiction")
    extension.register()
    assert len(handlers) == count
