# SPDX-License-Identifier: GPL-3.0-or-later
"""The API reference has every name that the library exports, each with its docstring."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import solver_core as sc

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def api_reference(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import api_reference

    return api_reference


def test_every_exported_name_is_in_one_group(api_reference):
    names = [name for group in api_reference.GROUPS.values() for name in group]
    assert sorted(names) == sorted(sc.__all__)


def test_every_name_has_its_docstring_and_its_signature(api_reference):
    text = api_reference.reference()
    for name in sc.__all__:
        thing = getattr(sc, name)
        assert (inspect.getdoc(thing) or "").strip(), f"{name} has no docstring"
        assert f"\n### sc.{name}\n" in text
    assert "sc.solve(\n    problem,\n    method='staggered',\n    *,\n    tolerance=1e-06," in text
    assert "\n#### sc.ContactProblem.from_delassus\n" in text
    # sections of numpydoc are lists, for their underlines would be headings
    assert "\n---" not in text and "**Returns**\n\n- depth : m" in text
    # no address of an object, which would be another one in each build
    assert " at 0x" not in text


def test_a_first_script_needs_no_other_module():
    """The example of the page runs up to its simulation, and says what it makes."""
    page = (ROOT / "docs" / "api.md").read_text()
    lines = [line.strip() for line in page.splitlines() if line.startswith("    ")]
    assert lines[0] == "import solver_core as sc" and lines[-1].startswith("frames = sc.Simulation(scene)")
    script = "\n".join([*lines[:-1], "print([body.name for body in scene.bodies], scene.bodies[1].mass)"])
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['Ground', 'Crate', 'Ball'] 20.0"
