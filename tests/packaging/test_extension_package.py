# SPDX-License-Identifier: GPL-3.0-or-later
"""The zips hold what Blender needs and nothing else, and every list of names that has to agree agrees."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("addon", "presets", "solver_core")


@pytest.fixture
def extension(monkeypatch):
    """The build script, with wheels that are empty files, so that a zip is built without fetching 100 MB."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import extension

    return extension


@pytest.fixture
def build_without_fetching(extension, monkeypatch, tmp_path):
    def fetch(wheel):
        path = tmp_path / "fetched" / wheel.filename
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
        return path

    def compiled(folder):
        kernels = folder / "solver_core" / "compiled"
        kernels.mkdir(parents=True)
        (kernels / "rotation-0123.tar.xz").write_bytes(b"")

    def pages(folder):
        folder.mkdir()
        (folder / "index.html").write_text("")

    monkeypatch.setattr(extension, "fetch", fetch)
    monkeypatch.setattr(extension, "add_pages", pages)
    monkeypatch.setattr(extension, "add_kernels", compiled)
    monkeypatch.setattr(extension, "STAGE", tmp_path / "stage")
    monkeypatch.setattr(extension, "DIST", tmp_path / "dist")
    monkeypatch.setattr(extension, "KERNEL_WHEELS", tmp_path / "dist" / "wheels")
    return extension.build


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def manifest() -> dict:
    return tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))


def locked_versions(python: str) -> dict[str, str]:
    lines = (ROOT / ".ci" / f"requirements-{python}.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def modules_of(*rooms: str) -> list[Path]:
    return sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))


PLATFORMS = ("windows-x64", "macos-arm64", "linux-x64")
TARGETS = [(platform, python) for platform in PLATFORMS for python in ("cp311", "cp313", "cp314")]


@pytest.mark.parametrize(("platform", "python"), TARGETS)
def test_a_zip_holds_its_own_wheels_all_modules_and_nothing_else(extension, build_without_fetching, platform, python):
    path = build_without_fetching(extension.Target(platform, python))
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        inside = tomllib.loads(archive.read("blender_manifest.toml").decode())

    modules = {str(module.relative_to(ROOT)) for module in [ROOT / "__init__.py", *modules_of(*ROOMS)]}
    assert modules <= names
    assert {"LICENSE", "manual/index.html"} <= names
    # machine code is made where it is to run
    brings = extension.Target(platform, python) == extension.Target.of_this_machine()
    assert any(name.startswith("solver_core/compiled/") for name in names) == brings
    packed = {source.split("/")[0] for source in extension.SOURCES}
    assert {name.split("/")[0] for name in names} <= {*packed, "blender_manifest.toml", "wheels", "manual"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".blend1"))]

    wheels = {name for name in names if name.startswith("wheels/") and name.endswith(".whl")}
    assert {f"./{name}" for name in wheels} == set(inside["wheels"])
    assert {Path(name).name.split("-")[0] for name in wheels} == {"coacd", "llvmlite", "manifold3d", "numba", "scipy"}
    assert inside["platforms"] == [platform]
    found = [extension.Wheel(Path(name).name) for name in wheels]
    assert all(wheel.is_stable or wheel.python == python for wheel in found)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_zip_for_the_extensions_platform_has_no_machine_code_of_ours_and_serves_all_blenders(
    extension, build_without_fetching, platform
):
    publisher = {"website": "https://example.org/stiction", "maintainer": "Somebody <somebody@example.org>"}
    path = build_without_fetching(extension.Target(platform, extension.EVERY_PYTHON), publisher=publisher)
    assert path.name == f"stiction-{manifest()['version']}-{platform}.zip"
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        inside = tomllib.loads(archive.read("blender_manifest.toml").decode())
    assert not [name for name in names if name.startswith("solver_core/compiled/") or name.endswith((".pyc", ".nbc", ".nbi"))]
    assert {f"{module.relative_to(ROOT)}" for module in modules_of(*ROOMS)} <= names
    assert "LICENSE" in names and not names & {"README.md", "CHANGELOG.md"}
    assert (inside["blender_version_min"], "blender_version_max" in inside) == ("4.2.0", False)
    assert {(wheel.python, wheel.platform) for wheel in extension.wheels_of(inside)} == {
        (python, platform) for python in ("cp311", "cp313", "cp39")
    }
    assert {name: inside[name] for name in publisher} == publisher
    # whoever has rights in what is bundled is named, each with the year
    credits = " ".join(inside["copyright"])
    for name in ("Stiction", "numba", "llvmlite", "LLVM", "SciPy", "OpenBLAS", "libgfortran", "Manifold", "CoACD", "Furo"):
        assert name in credits
    assert all(re.match(r"\d{4}(-\d{4})? \S", one) for one in inside["copyright"])


@pytest.mark.slow
def test_blender_accepts_the_built_zips_and_the_manifest_of_the_repository(extension, build_without_fetching):
    path = build_without_fetching(extension.Target("linux-x64", "cp311"))
    publisher = {"website": "https://example.org/stiction", "maintainer": "Somebody <somebody@example.org>"}
    one_for_all = build_without_fetching(extension.Target("linux-x64", extension.EVERY_PYTHON), publisher=publisher)
    for subject in (path, one_for_all, ROOT):
        command = [sys.executable, str(extension.blender_builder()), "validate", str(subject)]
        validation = subprocess.run(command, capture_output=True, text=True, check=False)
        assert validation.returncode == 0, validation.stdout + validation.stderr


def test_each_python_is_offered_to_the_blenders_that_ship_it(extension):
    offered = {
        python: tomllib.loads(extension.manifest_text(extension.Target("linux-x64", python), []))
        for python in ("cp311", "cp313", "cp314")
    }
    assert (offered["cp311"]["blender_version_min"], offered["cp311"]["blender_version_max"]) == ("4.2.0", "5.1.0")
    assert offered["cp313"]["blender_version_min"] == "5.1.0"
    assert "blender_version_max" not in offered["cp313"]


def test_kernels_of_the_zip_are_those_of_the_other_commands_too_which_keep_their_own(extension, tmp_path):
    compiled, others = tmp_path / "compiled", tmp_path / "numba" / "vec3-0123"
    compiled.mkdir()
    others.mkdir(parents=True)
    for kernel in ("vec3.dot-1.py311", "vec3.dot-12.py311"):
        for name in (f"{kernel}.nbi", f"{kernel}.1.nbc", f"{kernel}.2.nbc"):
            (compiled / name).write_text("compiled for the zip")
    (compiled / "dot-1.lock").touch()
    for name in ("vec3.dot-1.py311.nbi", "vec3.dot-1.py311.1.nbc"):
        (others / name).write_text("compiled for a test")
    extension.hand_on(compiled, others)
    found = {file.name: file.read_text().rpartition(" ")[2] for file in others.iterdir()}
    brought = {f"vec3.dot-12.py311.{end}": "zip" for end in ("nbi", "1.nbc", "2.nbc")}
    assert found == brought | {"vec3.dot-1.py311.nbi": "test", "vec3.dot-1.py311.1.nbc": "test"}
    extension.hand_on(compiled, tmp_path / "numba" / "new")
    assert len(list((tmp_path / "numba" / "new").iterdir())) == 6


def test_the_makefile_looks_where_kernels_of_the_zip_are_handed_on_to(extension):
    (folder,) = re.findall(r"^export NUMBA_CACHE_DIR := \$\(CURDIR\)/(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert ROOT / folder == extension.KERNELS


def test_a_wheel_that_is_not_the_recorded_one_is_refused(extension, monkeypatch, tmp_path):
    wheel = extension.wheels_of(manifest())[0]
    monkeypatch.setattr(extension, "WHEELS", tmp_path)
    (tmp_path / wheel.filename).write_bytes(b"something else")
    monkeypatch.setattr(extension.subprocess, "run", lambda *arguments, **options: None)
    with pytest.raises(SystemExit, match=wheel.filename):
        extension.fetch(wheel)


def test_the_manifest_names_the_locked_version_of_every_wheel_for_every_target(extension):
    wheels = extension.wheels_of(manifest())
    assert {wheel.filename for wheel in wheels} == set(extension.recorded_sums())
    own = [(wheel.platform, wheel.python) for wheel in wheels if not wheel.is_stable]
    assert sorted(own) == sorted(TARGETS * 4)
    assert sorted(wheel.platform for wheel in wheels if wheel.is_stable) == sorted(PLATFORMS)
    for python in ("3.11", "3.13"):
        locked = locked_versions(python)
        for name, version in (wheel.requirement.split("==") for wheel in wheels):
            assert locked[name] == version


def test_one_version_everywhere():
    version = project()["project"]["version"]
    assert manifest()["version"] == version
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version


def test_both_pythons_check_with_the_same_tools():
    """What these need of others may differ: some is in Python itself from 3.12 on."""
    old, new = locked_versions("3.11"), locked_versions("3.13")
    lines = (ROOT / ".ci" / "requirements-3.11.txt").read_text(encoding="utf-8").partition("# needed to run")[0].splitlines()
    named = {line.partition("==")[0] for line in lines if "==" in line}
    assert len(named) > 10 and named <= set(old) & set(new)
    different = {name for name in set(old) & set(new) if old[name] != new[name]}
    assert different == {"bpy", "numpy"}


def test_every_package_folder_is_installed_under_both_names():
    folders = {module.parent.relative_to(ROOT) for module in modules_of(*ROOMS) if module.name == "__init__.py"}
    dotted = {".".join(folder.parts) for folder in folders}
    alone = {name for name in dotted if name.split(".")[0] == "solver_core"}
    assert set(project()["tool"]["setuptools"]["packages"]) == alone | {"stiction"} | {f"stiction.{name}" for name in dotted}


def test_every_folder_with_modules_is_a_package():
    folders = {module.parent for module in modules_of(*ROOMS)}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def imports_of(module: Path):
    """(level, first name) of every import of a module, those inside functions too."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, (node.module or "").split(".")[0]


BLENDER_MODULES = {"bpy", "mathutils", "bl_math", "gpu", "gpu_extras", "blf", "bmesh", "idprop", "aud", "addon_utils", "_bpy"}


@pytest.mark.parametrize("module", modules_of("solver_core"), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_of_solver_core_imports_blender(module):
    assert {name for level, name in imports_of(module) if level == 0} & BLENDER_MODULES == set()


@pytest.mark.slow
def test_the_rooms_import_each_other_relatively():
    """All but what Python or Blender runs as a script, in a process that has the rooms' folder on its path."""
    core = ROOT / "solver_core"
    scripts = {core / "interchange" / "usd_child.py", core / "fracture" / "fracture_child.py"}
    absolute = [
        (str(module.relative_to(ROOT)), name)
        for module in modules_of(*ROOMS)
        if module not in scripts
        for level, name in imports_of(module)
        if level == 0 and name in {*ROOMS, "stiction", "bl_ext"}
    ]
    assert absolute == []


def test_solver_core_imports_where_blender_is_not():
    """Every module loads with Blender's modules made unimportable."""
    program = f"""
import importlib, pkgutil, sys
for name in {sorted(BLENDER_MODULES)!r}:
    sys.modules[name] = None
import solver_core
names = [module.name for module in pkgutil.walk_packages(solver_core.__path__, "solver_core.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) + 1 >= len(modules_of("solver_core")) > 10


def test_every_make_command_in_the_documents_exists():
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in documents)
    named = re.findall(r"`make ([a-z-]+)|^ *make ([a-z-]+)", text, re.MULTILINE)
    commands = {first or second for first, second in named}
    assert {"demo", "test", "extension"} <= commands
    assert commands <= targets


def test_every_link_between_the_documents_leads_somewhere():
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "solver_core").glob("*.md")]
    dead = [
        (path.name, link)
        for path in documents
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
        if not (path.parent / link).exists()
    ]
    assert dead == []


def test_every_source_file_names_its_licence_first():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    names = listed or [str(path.relative_to(ROOT)) for path in modules_of(*ROOMS)]
    sources = [name for name in names if name.endswith((".py", ".pyi")) or name in ("Makefile", ".ci/run")]
    assert len(sources) > 100
    heads = {name: (ROOT / name).read_text(encoding="utf-8").splitlines()[:2] for name in sources if (ROOT / name).exists()}
    licence = project()["project"]["license"]
    bare = [name for name, head in heads.items() if f"# SPDX-License-Identifier: {licence}" not in head]
    assert bare == []
