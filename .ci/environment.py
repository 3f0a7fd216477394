# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the environment `.venv` with the exact versions of the lock file; do nothing when it stands already.

Run by the interpreter that is to be used: `python3.11 .ci/environment.py`. With `--run`, it installs only what the demo runs
with, a third of the packages; the next call without it adds the others. Only the standard library is needed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "made-from.sha256"
SUPPORTED = ((3, 11), (3, 13))

# The titles of groups of the lock file, which end at an empty line.
RUN = "# run"
NEEDED_TO_RUN = "# needed to run"
NEEDED_BY_OTHERS = "# needed by the others"

# Which Debian package holds a library that bpy links against and does not bring along.
DEBIAN_PACKAGES = {
    "libX11.so.6": "libx11-6",
    "libXrender.so.1": "libxrender1",
    "libXxf86vm.so.1": "libxxf86vm1",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libXext.so.6": "libxext6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libSM.so.6": "libsm6",
    "libICE.so.6": "libice6",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libgomp.so.1": "libgomp1",
}


def lock_file() -> Path:
    """Lock file of the running interpreter."""
    return ROOT / ".ci" / f"requirements-{sys.version_info.major}.{sys.version_info.minor}.txt"


def packages_to_run(text: str) -> list[str]:
    """The requirements of the groups of a lock file that the extension runs with; what these need only if the file has it."""
    groups = [group.strip().splitlines() for group in text.split("\n\n")]
    return [line for title, *lines in groups if title in (RUN, NEEDED_TO_RUN) for line in lines]


def fingerprint() -> str:
    """Hash of all that decides what is in the environment: interpreter, place, locked versions, what is built and how."""
    # not there in the older Pythons that `main` has a word for
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built = [settings["build-system"], settings["project"], settings["tool"]["setuptools"]]
    text = [sys.version, sys.base_prefix, str(ROOT), lock_file().read_text(), repr(built)]
    return hashlib.sha256("\0".join(text).encode()).hexdigest()


def made_by_other_interpreter() -> bool:
    """Whether `.venv` belongs to another Python, or to a Python that is gone."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}."
    config = VENV / "pyvenv.cfg"
    recorded = re.search(r"^version\s*=\s*(\S+)", config.read_text(), re.MULTILINE) if config.exists() else None
    return recorded is None or not recorded[1].startswith(version) or not (VENV / "bin" / "python").exists()


def run(*command: str | Path) -> None:
    """Run a command in the repository; leave with its status and its name when it fails."""
    status = subprocess.run([str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    if status:
        sys.exit(f"environment: this failed with status {status}: {' '.join(str(part) for part in command)}")


def missing_libraries() -> list[str]:
    """System libraries that bpy links against and this machine does not have, by the names the linker knows."""
    binary = next(VENV.glob("lib/python3.*/site-packages/bpy/__init__*.so"), None)
    if binary is None or shutil.which("ldd") is None:
        return []
    listing = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False).stdout
    return sorted(set(re.findall(r"(\S+) => not found", listing)))


def check_bpy() -> None:
    """Import bpy once, and say which system packages it wants when it cannot be loaded."""
    trial = subprocess.run([str(VENV / "bin" / "python"), "-c", "import bpy"], capture_output=True, text=True, check=False)
    if trial.returncode == 0:
        return
    missing = missing_libraries()
    if not missing:
        sys.exit(f"environment: bpy cannot be imported:\n{trial.stderr}")
    packages = " ".join(DEBIAN_PACKAGES.get(name, f"<the package of {name}>") for name in missing)
    sys.exit(
        f"environment: bpy is installed, but these system libraries are missing: {', '.join(missing)}\n"
        f"  On Debian and Ubuntu:  sudo apt-get install {packages}\n"
        "  Then run the same command again."
    )


def main(*, only_to_run: bool) -> None:
    """Make the environment, unless it is the one that is wanted; with `only_to_run` a whole one is, too."""
    if sys.version_info[:2] not in SUPPORTED:
        wanted = " or ".join(f"{major}.{minor}" for major, minor in SUPPORTED)
        sys.exit(
            f"environment: {sys.executable} is Python {sys.version.split()[0]}, and bpy needs {wanted}.\n"
            "  Name another one: make test PYTHON=python3.13"
        )
    made = STAMP.read_text() if STAMP.exists() and not made_by_other_interpreter() else ""
    whole, to_run = fingerprint(), f"to run: {fingerprint()}"
    if made == whole or (only_to_run and made == to_run):
        return
    if VENV.exists() and made_by_other_interpreter():
        print(f"environment: .venv was made by another Python, making it again with {sys.version.split()[0]}", flush=True)
        shutil.rmtree(VENV)
    if not VENV.exists():
        print(f"environment: making .venv with Python {sys.version.split()[0]}", flush=True)
        run(sys.executable, "-m", "venv", VENV)
    STAMP.unlink(missing_ok=True)
    what = "what the extension runs with, in" if only_to_run else "the"
    print(f"environment: installing {what} exact versions of {lock_file().relative_to(ROOT)}", flush=True)
    pip = (VENV / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps")
    if only_to_run:
        # Python compiles the few modules that the demo imports when it imports them
        run(*pip, "--no-compile", *packages_to_run(lock_file().read_text(encoding="utf-8")))
    else:
        run(*pip, "--requirement", lock_file())
        run(*pip, "--no-build-isolation", "--editable", ROOT)
    check_bpy()
    STAMP.write_text(to_run if only_to_run else whole)


if __name__ == "__main__":
    main(only_to_run="--run" in sys.argv[1:])
