# SPDX-License-Identifier: GPL-3.0-or-later
"""Fractures meshes, or parts them, in a process of its own, so that a crash of a geometry library loses nothing.

Orders and answers are files of arrays in a temporary folder; nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from .convex_parts import ConvexParts, PartsOrder, convex_parts
from .order import FractureOrder, Pattern, Pieces, Spread
from .solid import FractureError

__all__ = ["CUTTER", "answer", "convex_parts_in_process", "fracture_in_process", "read_order", "write_order"]

CUTTER = Path(__file__).with_name("fracture_child.py")
PACKAGES = Path(__file__).resolve().parents[2]
ORDER_FILE, PIECES_FILE, PROBLEM_FILE = "order.npz", "pieces.npz", "problem.json"
PARTS_ORDER_FILE, PARTS_FILE = "parts_order.npz", "parts.npz"
# s by the clock.
LONGEST_CUT = 1800.0


def fracture_in_process(order: FractureOrder, command: Sequence[str], longest: float = LONGEST_CUT) -> Pieces:
    """Fracture a mesh in a process of its own.

    Parameters: `command` starts Python, and the path of a script is appended to it; `longest` in s, after which it is ended.

    Raises FractureError with what is wrong with the mesh, or how the process has ended. Raises OSError.
    """
    with tempfile.TemporaryDirectory(prefix="stiction-fracture-") as name:
        folder = Path(name)
        write_order(order, folder)
        run_child(folder, PIECES_FILE, command, longest)
        with np.load(folder / PIECES_FILE, allow_pickle=False) as arrays:
            return Pieces(**{one.name: arrays[one.name] for one in fields(Pieces)})


def convex_parts_in_process(order: PartsOrder, command: Sequence[str], longest: float = LONGEST_CUT) -> ConvexParts:
    """Part a mesh in a process of its own; parameters and errors as of `fracture_in_process`."""
    with tempfile.TemporaryDirectory(prefix="stiction-parts-") as name:
        folder = Path(name)
        np.savez(folder / PARTS_ORDER_FILE, **asdict(order))
        run_child(folder, PARTS_FILE, command, longest)
        with np.load(folder / PARTS_FILE, allow_pickle=False) as arrays:
            return ConvexParts(**{one.name: arrays[one.name] for one in fields(ConvexParts)})


def run_child(folder: Path, wanted: str, command: Sequence[str], longest: float) -> None:
    """Carry out the order in a folder in a process of its own.

    Parameters
    ----------
    folder : has the order, and gets the answer
    wanted : name of the file of the answer
    command, longest : as of `fracture_in_process`

    Raises FractureError and OSError.
    """
    path = json.dumps(list(dict.fromkeys([str(PACKAGES), *filter(None, sys.path)])))
    try:
        done = subprocess.run(
            [*command, str(CUTTER), "--", path, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
            timeout=longest,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"was not cut within {longest:g} s, and nothing was changed: ask for fewer pieces, or reduce its faces"
        raise FractureError(message) from None
    if (folder / PROBLEM_FILE).is_file():
        raise FractureError(json.loads((folder / PROBLEM_FILE).read_text(encoding="utf-8")))
    if not (folder / wanted).is_file():
        ending = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
        known = {one.value: one.name for one in signal.Signals}
        ending = known.get(-done.returncode, ending)
        error_lines = done.stderr.strip().splitlines()
        # a program that fails by itself says why; what the system ends says nothing
        why = f": {error_lines[-1]}" if done.returncode > 0 and error_lines else ", perhaps for want of memory"
        raise FractureError(
            f"cannot be cut: the process that cuts it has ended ({ending}){why}; nothing was changed; ask for fewer "
            "pieces, or remesh it by voxels"
        )


def write_order(order: FractureOrder, folder: Path) -> None:
    """Write an order into a folder. Raises OSError."""
    arrays: dict[str, Any] = {name: value for name, value in asdict(order).items() if name not in ("spread", "pattern")}
    arrays |= {f"spread_{name}": value for name, value in asdict(order.spread).items()}
    np.savez(folder / ORDER_FILE, pattern=str(order.pattern), **arrays)


def read_order(folder: Path) -> FractureOrder:
    """Read what `write_order` has written. Raises OSError."""
    with np.load(folder / ORDER_FILE, allow_pickle=False) as arrays:
        numbers = {name: int(arrays[name]) for name in ("axis", "count", "seed")}
        geometry = {name: arrays[name] for name in ("vertices", "triangles", "polygon", "brick")}
        spread = Spread(arrays["spread_near"], float(arrays["spread_radius"]), arrays["spread_weights"])
        return FractureOrder(pattern=Pattern(str(arrays["pattern"])), spread=spread, **numbers, **geometry)


def answer(folder: Path) -> None:
    """Carry out the order in a folder, a fracture or convex parts. Raises OSError."""
    try:
        if (folder / PARTS_ORDER_FILE).is_file():
            put_arrays(folder / PARTS_FILE, convex_parts(read_parts_order(folder)))
        else:
            # only in the process that cuts, for it loads manifold3d
            from .fracture import fracture

            put_arrays(folder / PIECES_FILE, fracture(read_order(folder)))
    except ImportError as error:
        message = f"cannot be cut, because a library is missing ({error}): install the extension's zip"
        put(folder / PROBLEM_FILE, json.dumps(message).encode())
    except FractureError as error:
        put(folder / PROBLEM_FILE, json.dumps(str(error)).encode())


def read_parts_order(folder: Path) -> PartsOrder:
    """Read the order that `convex_parts_in_process` has written. Raises OSError."""
    with np.load(folder / PARTS_ORDER_FILE, allow_pickle=False) as arrays:
        numbers = {name: int(arrays[name]) for name in ("most", "seed")}
        return PartsOrder(arrays["vertices"], arrays["triangles"], float(arrays["concavity"]), **numbers)


def put_arrays(file: Path, record: Pieces | ConvexParts) -> None:
    """Write the arrays of a record to a file that is there whole or not at all. Raises OSError."""
    partial = file.with_name(f"{file.name}.part.npz")
    np.savez(partial, **{one.name: getattr(record, one.name) for one in fields(record)})
    os.replace(partial, file)


def put(file: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all. Raises OSError."""
    partial = file.with_name(f"{file.name}.part")
    partial.write_bytes(content)
    os.replace(partial, file)
