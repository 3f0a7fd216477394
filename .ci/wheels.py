# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the wheel of compiled kernels for this machine's platform and the running Python, into dist/wheels.

The wheel holds the packed kernels and nothing else, so it goes with the package of the same version, however that is installed:

    pip install . dist/wheels/stiction_kernels-VERSION-cp311-none-PLATFORM.whl

It fits one Python, one platform, one level of processors, and the versions of numba and llvmlite that it requires. Where the
level does not fit, kernels are compiled as without it. A zip for Blender's extensions platform carries it as it carries numba's
wheel (`extension.py --for-platform --with-kernels`). Run this once on each platform with each Python.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import shutil
import sys
import zipfile
from pathlib import Path

import extension

STAGE = extension.ROOT / "build" / "kernel-wheel"
# the least time that a zip can have, so that a wheel of the same kernels has the same bytes
TIME = (1980, 1, 1, 0, 0, 0)
NAME = "stiction_kernels"
INIT = b'"""Compiled kernels of Stiction, which finds them here (`solver_core.compile.ahead`)."""\n'


def tags_of(target: extension.Target) -> list[str]:
    """The platform tags of numba's wheel, without which the kernels are of no use."""
    wheels = [wheel for wheel in extension.wheels_of(extension.read_manifest()) if target.has(wheel)]
    tags = [wheel.platform_tags for wheel in wheels if wheel.filename.startswith("numba-")]
    if not tags:
        sys.exit(f"wheels: the manifest names no numba for {target.platform} and {target.python}")
    return tags[0]


def metadata_of(version: str) -> str:
    """The text of METADATA: name, version, and what the kernels fit."""
    needs = {name: importlib.metadata.version(name) for name in ("numba", "llvmlite")}
    lines = ["Metadata-Version: 2.4", "Name: stiction-kernels", f"Version: {version}"]
    lines += ["Summary: Compiled kernels of Stiction", "License-Expression: GPL-3.0-or-later"]
    lines += [f"Requires-Python: =={sys.version_info.major}.{sys.version_info.minor}.*"]
    return "\n".join([*lines, *(f"Requires-Dist: {name}=={number}" for name, number in needs.items())]) + "\n"


def write_wheel(kernels: Path, target: extension.Target, version: str, folder: Path) -> Path:
    """Write a wheel of a folder of packed kernels into another folder, and return its path."""
    tags = tags_of(target)
    path = folder / f"{NAME}-{version}-{target.python}-none-{'.'.join(tags)}.whl"
    info = f"{NAME}-{version}.dist-info"
    wheel = ["Wheel-Version: 1.0", "Generator: stiction", "Root-Is-Purelib: false"]
    wheel += [f"Tag: {target.python}-none-{tag}" for tag in tags]
    texts = {"METADATA": metadata_of(version), "WHEEL": "\n".join(wheel) + "\n"}
    contents = {f"{NAME}/__init__.py": INIT}
    contents |= {f"{NAME}/compiled/{file.name}": file.read_bytes() for file in sorted(kernels.iterdir())}
    contents |= {f"{info}/{name}": text.encode() for name, text in texts.items()}
    contents[f"{info}/RECORD"] = record_of(contents, f"{info}/RECORD")
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, TIME), content, zipfile.ZIP_DEFLATED)
    return path


def record_of(contents: dict[str, bytes], record: str) -> bytes:
    """The list of files in a wheel, with their sums and sizes."""

    def line(name: str, content: bytes) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}"

    return "\n".join([*(line(name, content) for name, content in contents.items()), f"{record},,", ""]).encode()


def main() -> None:
    """Compile what is not compiled yet, and write the wheel."""
    shutil.rmtree(STAGE, ignore_errors=True)
    extension.pack_kernels(STAGE)
    target, version = extension.Target.of_this_machine(), extension.read_manifest()["version"]
    path = write_wheel(STAGE, target, version, extension.KERNEL_WHEELS)
    print(f"wheels: {path.relative_to(extension.ROOT)}  {path.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
