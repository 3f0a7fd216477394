# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers of tests have files of their own and are imported in one way: by name, relatively."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(file for room in ("addon", "core", "packaging") for file in (TESTS / room).rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(TESTS)))
def test_helpers_are_imported_relatively_and_tests_never(file):
    helpers = {path.stem for path in (TESTS / file.relative_to(TESTS).parts[0]).glob("*.py")} - {"__init__"}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert not module.startswith(("test_", "conftest")), f"{file.name} imports {module}"
            assert node.level or module not in helpers, f"{file.name} imports {module} absolutely"
        if isinstance(node, ast.Import):
            assert not {alias.name for alias in node.names} & helpers, f"{file.name} imports a helper absolutely"
