# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line in this process, and a file for it."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest


@pytest.fixture
def run(extension):
    from stiction.addon.command import cli

    return lambda *arguments: int(cli.run([str(argument) for argument in arguments]))


@pytest.fixture
def file(scene, make_body, tmp_path: Path) -> Path:
    make_body("Cube.001").location = (0, 0, 2)
    make_body("Odd:name=x")
    path = tmp_path / "scene.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return path
