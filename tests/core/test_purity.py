# SPDX-License-Identifier: GPL-3.0-or-later
"""The core stands alone: it never imports Blender's modules, under either of its two names, and loads no more than it needs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (path.relative_to(ROOT).with_suffix("") for path in (ROOT / "solver_core").rglob("*.py"))
MODULES = sorted(".".join(source.parts).removesuffix(".__init__") for source in SOURCES)

# A finder that refuses every module of Blender, as an interpreter without Blender would.
REFUSE = """
import importlib, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"bpy", "mathutils", "gpu", "bmesh", "bpy_extras", "bl_ext", "addon"}:
            raise ImportError(f"{name} was imported")

sys.meta_path.insert(0, Refuse())
"""


def python(code):
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_no_module_of_the_core_imports_blender():
    assert "solver_core.dynamics.simulation" in MODULES
    result = python(f"{REFUSE}\nfor name in {MODULES!r}:\n    importlib.import_module(name)")
    assert result.returncode == 0, result.stderr


def test_the_check_itself_would_notice():
    result = python(f"{REFUSE}\nimport bpy")
    assert result.returncode != 0
    assert "bpy was imported" in result.stderr


@pytest.mark.slow
def test_the_core_does_not_mind_its_name():
    """As inside Blender, where it is a package within a package: only relative imports survive that."""
    code = f"""{REFUSE}
import types
outer = types.ModuleType("outer")
outer.__path__ = [{str(ROOT)!r}]
sys.modules["outer"] = outer
for name in {MODULES!r}:
    importlib.import_module("outer." + name)
assert "solver_core" not in sys.modules, "an absolute import of solver_core"
"""
    result = python(code)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["solver_core", "solver_core.scene.spec", "solver_core.validation.scene", "solver_core.io.cache"]
)
def test_reading_a_scene_loads_no_compiler(module):
    assert python(f"import sys, {module}; sys.exit('numba' in sys.modules)").returncode == 0


@pytest.mark.slow
def test_every_public_name_can_be_had():
    code = "import solver_core as sc; [getattr(sc, name) for name in sc.__all__]; assert set(sc.__all__) <= set(dir(sc))"
    assert python(code).returncode == 0


def test_messages_of_the_library_do_not_mention_blenders_modifiers():
    """Its users may have no Blender; the add-on and the manual name the modifiers."""
    found = [
        f"{source.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for source in (ROOT / "solver_core").rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "modifier" in node.value.lower()
    ]
    assert not found
