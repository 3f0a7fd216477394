# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the extension: one zip for each platform and each Python, with the wheels that belong into it.

The manifest of the repository names every wheel. Each is fetched by that name with pip, compared with its recorded sum, and
packed together with the sources by Blender's own builder, which validates the manifest on the way. The zip for this machine's
platform and the running Python brings all kernels compiled: machine code is made where it is to run. For the other platforms
and Pythons the same is done by running this there.

    .ci/extension.py                     every platform and every Python, into dist/
    .ci/extension.py --this              this machine's platform and the running Python only
    .ci/extension.py --without-kernels   nothing compiled, which takes minutes the first time
    .ci/extension.py --for-platform      for Blender's extensions platform, into dist/extensions-platform/
    .ci/extension.py --for-platform --with-kernels    with the wheels of kernels that are in dist/wheels (.ci/wheels.py)

The extensions platform wants code that can be reviewed, no loose machine code, and one zip for each platform: those have the
wheels of every Python that Blender ships, and Blender installs its own. Kernels are in such a wheel, or in none. It asks for a
website and an address, which are of whoever publishes: --website https://... --maintainer "Name <name@example.org>". What goes
beside them is in docs/platform/.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pages

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "blender_manifest.toml"
SUMS = ROOT / ".ci" / "wheels.sha256"
WHEELS = ROOT / "build" / "wheels"
STAGE = ROOT / "build" / "extension"
# Apart from those of the other commands, among which are kernels for types that only tests call them with.
COMPILED = ROOT / "build" / "compiled"
KERNELS = ROOT / "build" / "numba"
DIST = ROOT / "dist"
KERNEL_WHEELS = DIST / "wheels"

# What travels, beside the manifest, the wheels and the pages of the manual.
SOURCES = ("__init__.py", "addon", "solver_core", "presets", "LICENSE", "README.md", "CHANGELOG.md")

PLATFORMS = {"win_amd64": "windows-x64", "macosx_arm64": "macos-arm64", "manylinux_x86_64": "linux-x64"}

# The Pythons that Blender itself ships, all of which one zip for the extensions platform has to serve.
EVERY_PYTHON = "every"
SHIPPED_BY_BLENDER = ("cp311", "cp313")
# The Blenders that ship each Python: the first one, and the first one that no longer does. 3.14 is Debian's choice.
BLENDERS = {"cp311": ("4.2.0", "5.1.0"), "cp313": ("5.1.0", None), "cp314": ("5.1.0", None), EVERY_PYTHON: ("4.2.0", None)}

# No zip may be larger, so that it can be attached and downloaded everywhere; on the extensions platform its own limit holds.
LARGEST_ZIP = 130_000_000
LARGEST_FOR_PLATFORM = 300_000_000
# What the manual's pages tell as well.
IN_THE_MANUAL = ("README.md", "CHANGELOG.md")


@dataclass(frozen=True)
class Wheel:
    """A wheel as its file name tells it."""

    filename: str

    @property
    def requirement(self) -> str:
        """Name and version as pip wants them."""
        name, version = self.filename.split("-")[:2]
        return f"{name}=={version}"

    @property
    def python(self) -> str:
        """Python tag, such as cp311."""
        return self.filename.split("-")[-3]

    @property
    def is_stable(self) -> bool:
        """Whether it fits every later Python as well, as a wheel of the stable interface does."""
        return self.filename.split("-")[-2] == "abi3"

    @property
    def platform_tags(self) -> list[str]:
        """Platform tags, such as manylinux_2_28_x86_64."""
        return self.filename.removesuffix(".whl").split("-")[-1].split(".")

    @property
    def platform(self) -> str:
        """Blender's name of the platform, such as linux-x64."""
        tag = self.platform_tags[0]
        system, machine = tag.split("_")[0], "arm64" if tag.endswith("arm64") else "x86_64"
        return PLATFORMS["win_amd64" if system == "win" else f"{system}_{machine}"]


@dataclass(frozen=True)
class Target:
    """One zip: a platform by Blender's name and a Python by its tag, or `EVERY_PYTHON` for Blender's extensions platform."""

    platform: str
    python: str

    @property
    def is_for_platform(self) -> bool:
        """Whether it is for Blender's extensions platform."""
        return self.python == EVERY_PYTHON

    def has(self, wheel: Wheel) -> bool:
        """Whether a wheel belongs into it."""
        pythons = SHIPPED_BY_BLENDER if self.is_for_platform else (self.python,)
        return wheel.platform == self.platform and (wheel.is_stable or wheel.python in pythons)

    @staticmethod
    def of_this_machine() -> Target:
        """The platform and the Python that run this script."""
        system = {"Windows": "windows", "Darwin": "macos", "Linux": "linux"}[platform.system()]
        machine = {"AMD64": "x64", "x86_64": "x64", "arm64": "arm64", "aarch64": "arm64"}[platform.machine()]
        return Target(f"{system}-{machine}", f"cp{sys.version_info.major}{sys.version_info.minor}")


def read_manifest() -> dict:
    """The repository's manifest."""
    return tomllib.loads(MANIFEST.read_text(encoding="utf-8"))


def wheels_of(manifest: dict) -> list[Wheel]:
    """The wheels the manifest names."""
    return [Wheel(Path(path).name) for path in manifest["wheels"]]


def recorded_sums() -> dict[str, str]:
    """SHA-256 of each wheel by file name."""
    pairs = (line.split() for line in SUMS.read_text(encoding="utf-8").splitlines())
    return {filename: digest for digest, filename in pairs}


def kernel_wheels(target: Target, version: str) -> list[Wheel]:
    """The wheels of kernels of this version that `make wheels` has built for a zip."""
    found = [Wheel(path.name) for path in sorted(KERNEL_WHEELS.glob(f"stiction_kernels-{version}-*.whl"))]
    return [wheel for wheel in found if target.has(wheel)]


def matches(path: Path, digest: str) -> bool:
    """Whether a file exists and has this SHA-256."""
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def fetch(wheel: Wheel) -> Path:
    """Fetch a wheel by its name into build/wheels, unless it is there already; leave when its sum is not the recorded one."""
    path, digest = WHEELS / wheel.filename, recorded_sums()[wheel.filename]
    if matches(path, digest):
        return path
    print(f"extension: fetching {wheel.filename}", flush=True)
    WHEELS.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", wheel.python.removeprefix("cp")]
    command += ["--abi", "abi3" if wheel.is_stable else wheel.python, "--dest", str(WHEELS)]
    for tag in wheel.platform_tags:
        command += ["--platform", tag]
    subprocess.run([*command, wheel.requirement], check=True, stdin=subprocess.DEVNULL)
    if not matches(path, digest):
        sys.exit(f"extension: pip brought no {wheel.filename} with the sum {digest} of {SUMS.relative_to(ROOT)}")
    return path


def manifest_text(target: Target, wheels: list[Wheel], publisher: dict[str, str] | None = None) -> str:
    """The manifest of one zip: the repository's, with its platform, its wheels and the Blenders that ship its Python.

    publisher: website and maintainer of whoever publishes it.
    """
    first, beyond = BLENDERS[target.python]
    said = {name: f'{name} = "{value}"' for name, value in (publisher or {}).items()}
    lines, inside_wheels = [], False
    for line in MANIFEST.read_text(encoding="utf-8").splitlines():
        if line.startswith("wheels = ["):
            inside_wheels = True
            lines += ["wheels = [", *(f'    "./wheels/{wheel.filename}",' for wheel in wheels), "]"]
        elif inside_wheels:
            inside_wheels = line != "]"
        elif line.startswith("platforms = "):
            lines.append(f'platforms = ["{target.platform}"]')
        elif line.startswith("blender_version_min = "):
            lines += [f'blender_version_min = "{first}"', *([f'blender_version_max = "{beyond}"'] if beyond else [])]
        elif line.startswith("maintainer = "):
            lines += [said.pop("maintainer", line), *said.values()]
        elif not line.startswith("#"):
            lines.append(line)
    return "\n".join(lines) + "\n"


def blender_builder() -> Path:
    """Blender's own extension tool, which bpy brings along."""
    spec = importlib.util.find_spec("bpy")
    if spec is None or spec.origin is None:
        sys.exit("extension: bpy is not installed for this Python; `make extension` runs with the right one")
    return next(Path(spec.origin).parent.glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py"))


def stage(target: Target, wheels: list[Wheel], publisher: dict[str, str] | None = None, *, manual: bool = True) -> Path:
    """Lay out one zip's content below build/extension; `manual` says whether with the pages of the manual."""
    folder = STAGE / f"{target.platform}-{target.python}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "wheels").mkdir(parents=True)
    for wheel in wheels:
        path = KERNEL_WHEELS / wheel.filename
        shutil.copyfile(path if path.exists() else fetch(wheel), folder / "wheels" / wheel.filename)
    for name in SOURCES:
        if target.is_for_platform and name in IN_THE_MANUAL:
            continue
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", ".*"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    if manual:
        add_pages(folder / pages.PAGES.name)
    (folder / "blender_manifest.toml").write_text(manifest_text(target, wheels, publisher), encoding="utf-8")
    return folder


def add_pages(folder: Path) -> None:
    """Make the manual's pages in a folder of a staged package; leave when the documents are not in order."""
    wrong = pages.make_pages(ROOT, folder)
    if wrong:
        sys.exit("\n".join(["extension: the documents are not in order, see `make docs`:", *wrong]))


def add_kernels(folder: Path) -> None:
    """Put all kernels for this machine's level of processors into a staged package."""
    from solver_core.compile.ahead import SHIPPED
    from solver_core.compile.folders import PACKAGE

    pack_kernels(folder / SHIPPED.relative_to(PACKAGE.parent))


def pack_kernels(shipped: Path) -> None:
    """Compile all kernels for this machine's level of processors, and pack into a new folder those of today's sources that
    Python calls."""
    from solver_core.compile.ahead import MADE_FOR, pack
    from solver_core.compile.stock import read_keys

    print("extension: compiling all kernels", flush=True)
    compiled = COMPILED / Target.of_this_machine().python
    done = subprocess.run(
        [sys.executable, "-P", "-m", "solver_core.compile_all", str(compiled)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    keys = read_keys(compiled)
    if done.returncode or keys is None:
        sys.exit(f"extension: the kernels could not be compiled, status {done.returncode}")
    shipped.mkdir(parents=True)
    shutil.copyfile(compiled / MADE_FOR, shipped / MADE_FOR)
    for name, of_file in keys.items():
        kernels = compiled / name
        # a folder may be there without kernels, or not at all
        if any(kernels.glob("*.nbc")):
            pack(kernels, of_file["called"], shipped)
            hand_on(kernels, KERNELS / name)


def hand_on(kernels: Path, others: Path) -> None:
    """Put a file's kernels where the other commands of the Makefile look for them, but for those that are there: what was
    compiled for the zip is not compiled once more by them."""
    from solver_core.compile.ahead import INDEX, put
    from solver_core.compile.trust import written_by_us_alone

    with written_by_us_alone():
        others.mkdir(parents=True, exist_ok=True)
        for index in kernels.glob(f"*{INDEX}"):
            if not (others / index.name).exists():
                # what an index names is there before it
                for file in (*kernels.glob(f"{index.stem}.*.nbc"), index):
                    put(others / file.name, file.read_bytes())


def build(
    target: Target,
    kernels: bool = True,
    publisher: dict[str, str] | None = None,
    dist: Path = DIST,
    *,
    manual: bool = True,
) -> Path:
    """Build one zip; leave with a message when it cannot be built or is too large.

    Parameters
    ----------
    target : platform and Python
    kernels : whether compiled kernels are in it
    publisher : website and maintainer, for Blender's extensions platform
    dist : the folder of the zip
    manual : whether the pages of the manual are in it

    Returns
    -------
    The path of the zip.
    """
    manifest = read_manifest()
    wheels = [wheel for wheel in wheels_of(manifest) if target.has(wheel)]
    if not wheels:
        sys.exit(f"extension: the manifest names no wheels for {target.platform} and {target.python}")
    if kernels and target.is_for_platform:
        wheels += kernel_wheels(target, manifest["version"])
    folder = stage(target, wheels, publisher, manual=manual)
    # a zip for the platform may have kernels in wheels only
    if kernels and target == Target.of_this_machine():
        add_kernels(folder)
    name = f"{manifest['id']}-{manifest['version']}-{target.platform}"
    path = dist / "extensions-platform" / f"{name}.zip" if target.is_for_platform else dist / f"{name}-{target.python}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(blender_builder()), "build", "--source-dir", str(folder), "--output-filepath", str(path)]
    built = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"extension: Blender's builder refused {folder}:\n{built.stdout}{built.stderr}")
    largest = LARGEST_FOR_PLATFORM if target.is_for_platform else LARGEST_ZIP
    if path.stat().st_size > largest:
        sys.exit(f"extension: {path.name} has {path.stat().st_size / 1e6:.1f} MB, over {largest / 1e6:.0f} MB")
    print(f"extension: {path.relative_to(dist.parent)}  {path.stat().st_size / 1e6:.1f} MB", flush=True)
    return path


def main() -> None:
    """Build one zip, or all of them."""
    parser = argparse.ArgumentParser(description="Build the extension's zips into dist/.")
    parser.add_argument("--this", action="store_true", help="only for this machine's platform and the running Python")
    parser.add_argument("--without-kernels", action="store_true", help="compile no kernels ahead")
    parser.add_argument("--for-platform", action="store_true", help="for Blender's extensions platform")
    parser.add_argument(
        "--with-kernels", action="store_true", help="for the platform: with the wheels of kernels in dist/wheels"
    )
    parser.add_argument("--website", help="of whoever publishes: where the code is, and where faults are reported")
    parser.add_argument("--maintainer", help="who publishes it: Name <name@example.org>")
    arguments = parser.parse_args()
    publisher = {name: value for name in ("website", "maintainer") if (value := getattr(arguments, name))}
    pythons = [EVERY_PYTHON] if arguments.for_platform else [python for python in BLENDERS if python != EVERY_PYTHON]
    targets = [Target(platform, python) for python in pythons for platform in read_manifest()["platforms"]]
    this = Target.of_this_machine()
    if arguments.this:
        targets = [Target(this.platform, EVERY_PYTHON)] if arguments.for_platform else [this]
    for target in targets:
        kernels = arguments.with_kernels if target.is_for_platform else not arguments.without_kernels
        build(target, kernels, publisher)
    if arguments.for_platform and len(publisher) < 2:
        print("extension: the platform asks for a website and for an address: --website, --maintainer", flush=True)


if __name__ == "__main__":
    main()
