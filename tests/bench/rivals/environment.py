# SPDX-License-Identifier: GPL-3.0-or-later
"""The rivals' own environment, build/rivals: exact versions of wheels, and Jolt where there are node and npm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .scenes import BoxScene

__all__ = ["Engine", "prepare"]

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build" / "rivals"
REQUIREMENTS = ROOT / ".ci" / "requirements-rivals.txt"
ENGINES = Path(__file__).resolve().parent / "engines"
PYTHON = FOLDER / "venv" / "bin" / "python"
JOLT = "jolt-physics@1.1.0"
MINUTES = 10  # of the clock, that a film may take


class Engine:
    """An engine's script, and what runs it."""

    def __init__(self, script: str) -> None:
        self._script = ENGINES / script
        self._is_node = self._script.suffix == ".mjs"

    def film(self, scene: BoxScene, hz: int, options: Mapping[str, str]) -> tuple[Sequence[object], float]:
        """Poses of each frame and seconds of the processor; RuntimeError where the engine fails."""
        source, target = FOLDER / "scene.json", FOLDER / ("poses.json" if self._is_node else "poses.npz")
        source.write_text(json.dumps(scene.plain()), encoding="utf-8")
        target.unlink(missing_ok=True)
        runner = "node" if self._is_node else str(PYTHON)
        given = [f"{name}={value}" for name, value in options.items()]
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
        place = os.environ | threads | {"RIVALS_NODE": str(FOLDER)}
        command = [runner, str(self._script), str(source), str(target), str(hz), *given]
        try:
            done = subprocess.run(command, env=place, capture_output=True, text=True, check=False, timeout=60 * MINUTES)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"no film after {MINUTES} minutes") from None
        if done.returncode or not target.exists():
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}")
        if self._is_node:
            found = json.loads(target.read_text(encoding="utf-8"))
            return found["poses"], found["seconds"]
        with np.load(target) as found:
            return found["poses"], float(found["seconds"])


def prepare() -> dict[str, str]:
    """Make the environment, unless it stands; returns why engines cannot run, by their scripts; empty for one that can."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp, wanted = FOLDER / "requirements.txt", REQUIREMENTS.read_text(encoding="utf-8")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        if not PYTHON.exists():
            subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "venv")], check=True)
        pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--only-binary", ":all:", "--requirement", str(REQUIREMENTS)], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return {"jolt.mjs": _jolt()}


def _jolt() -> str:
    """Why Jolt cannot run; empty where it can."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are not installed"
    if not (FOLDER / "node_modules" / "jolt-physics").exists():
        command = ["npm", "install", "--silent", "--no-save", "--prefix", str(FOLDER), JOLT]
        if subprocess.run(command, check=False).returncode:
            return f"npm cannot install {JOLT}"
    return ""
