# SPDX-License-Identifier: GPL-3.0-or-later
"""The wheel of compiled kernels is a wheel, holds kernels and nothing else, and the package finds them in it."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib
import io
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from solver_core.compile import ahead

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def scripts(monkeypatch):
    """The build scripts of zips and of wheels."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("extension"), importlib.import_module("wheels")


@pytest.fixture
def wheel(scripts, tmp_path):
    """A wheel of two files that stand for kernels, for this machine."""
    extension, wheels = scripts
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "compiled.json").write_text("{}")
    (kernels / "linalg.vec3.tar.xz").write_bytes(b"kernels")
    return wheels.write_wheel(kernels, extension.Target.of_this_machine(), "0.1.0", tmp_path / "wheels")


def test_it_has_a_name_that_pip_takes_on_this_machine_and_python_alone(wheel):
    name, version, _, tags = parse_wheel_filename(wheel.name)
    assert (name, str(version)) == ("stiction-kernels", "0.1.0")
    assert tags & set(sys_tags())
    assert {tag.interpreter for tag in tags} == {f"cp{sys.version_info.major}{sys.version_info.minor}"}
    with zipfile.ZipFile(wheel) as archive:
        lines = archive.read("stiction_kernels-0.1.0.dist-info/WHEEL").decode().splitlines()
    assert {line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")} == set(map(str, tags))


def test_its_record_has_the_sum_of_each_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        rows = list(csv.reader(io.StringIO(archive.read("stiction_kernels-0.1.0.dist-info/RECORD").decode())))
        assert [row[0] for row in rows] == names
        for name, digest, size in rows[:-1]:
            content = archive.read(name)
            there = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={there}", len(content))
    assert [name for name in names if name.endswith(".py")] == ["stiction_kernels/__init__.py"]


def test_it_requires_the_numba_that_it_was_made_with(wheel):
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read("stiction_kernels-0.1.0.dist-info/METADATA").decode()
    for name in ("numba", "llvmlite"):
        assert f"Requires-Dist: {name}=={importlib.import_module(name).__version__}" in metadata


def test_the_same_kernels_give_the_same_bytes(scripts, wheel, tmp_path):
    extension, wheels = scripts
    again = wheels.write_wheel(tmp_path / "kernels", extension.Target.of_this_machine(), "0.1.0", tmp_path / "again")
    assert again.read_bytes() == wheel.read_bytes()


def test_the_package_finds_the_kernels_of_an_installed_wheel_unless_others_may_write_to_them(wheel, tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    zipfile.ZipFile(wheel).extractall(site)
    monkeypatch.syspath_prepend(str(site))
    for mode, found in ((0o755, True), (0o777, False)):
        (site / "stiction_kernels" / "compiled").chmod(mode)
        for known in (ahead.wheel_folder, ahead.doubt):
            known.cache_clear()
        assert (site / "stiction_kernels" / "compiled" in ahead.brought()) == (found or sys.platform == "win32")
    monkeypatch.undo()
    ahead.wheel_folder.cache_clear()
    assert site / "stiction_kernels" / "compiled" not in ahead.brought()


def test_a_zip_for_the_platform_carries_the_wheel_only_where_it_is_asked_for(scripts, wheel, tmp_path, monkeypatch):
    extension, _ = scripts
    monkeypatch.setattr(extension, "KERNEL_WHEELS", wheel.parent)
    monkeypatch.setattr(extension, "STAGE", tmp_path / "stage")
    monkeypatch.setattr(extension, "fetch", lambda one: wheel)
    monkeypatch.setattr(extension, "add_pages", lambda folder: None)
    this = extension.Target.of_this_machine()
    target, version = extension.Target(this.platform, extension.EVERY_PYTHON), extension.read_manifest()["version"]
    found = extension.kernel_wheels(target, version)
    assert [one.filename for one in found] == ([wheel.name] if this.python in extension.SHIPPED_BY_BLENDER else [])
    assert extension.kernel_wheels(extension.Target(this.platform, "cp399"), version) == []
    for wheels in (found, []):
        folder = extension.stage(target, wheels)
        manifest = tomllib.loads((folder / "blender_manifest.toml").read_text())
        assert manifest["wheels"] == [f"./wheels/{one.filename}" for one in wheels]
        assert sorted(path.name for path in (folder / "wheels").iterdir()) == [one.filename for one in wheels]
