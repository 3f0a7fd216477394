# SPDX-License-Identifier: GPL-3.0-or-later
"""How benchmarks run and write: on one thread, into a CSV whose every row has the machine, the commit and the date."""

from __future__ import annotations

import csv
import math
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from pathlib import Path

__all__ = ["forget_peak", "on_one_thread", "peak_memory", "write_rows"]

ROOT = Path(__file__).resolve().parents[2]
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def on_one_thread() -> None:
    """Begin this script again with one thread for linear algebra, which numpy reads when it is loaded, unless it has one."""
    if any(os.environ.get(name) != "1" for name in THREADS):
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | dict.fromkeys(THREADS, "1"))


def forget_peak() -> float:
    """Let `peak_memory` begin anew; returns what this process holds in memory now, MB, nan where the system does not tell."""
    peak = Path("/proc/self/clear_refs")
    if not peak.exists():
        return math.nan
    peak.write_text("5")
    return _of_status("VmRSS")


def peak_memory() -> float:
    """The most that this process has held in memory since `forget_peak`, MB, nan where the system does not tell."""
    return _of_status("VmHWM")


def _of_status(name: str) -> float:
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return float(line.split()[1]) * 1024e-6
    return math.nan


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def write_rows(name: str, rows: list[dict[str, object]]) -> Path:
    """Write rows to build/bench/NAME-DATE.csv, empty where one lacks a figure; rows of what is random have their "seed"."""
    now = datetime.now(UTC)
    where = {
        "date": now.isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "quadprog": version("quadprog"),
        "commit": _git("rev-parse", "HEAD") or "unknown",
        "changed": bool(_git("status", "--porcelain", "--", "solver_core", "tests/bench")),
        "seed": "none: nothing is random",
    }
    path = ROOT / "build" / "bench" / f"{name}-{now:%Y%m%dT%H%M%SZ}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(chain(where, *rows))), lineterminator="\n")
        writer.writeheader()
        writer.writerows(where | row for row in rows)
    return path
