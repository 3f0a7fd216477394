# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged files of other programs: USD, glTF, and contact problems in npz, HDF5 and text.

A case is made from its number alone. A file may be read, with finite values, or be refused by the exception of its reader.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import json
import os
import re
import struct
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.exceptions import ComplexWarning

from solver_core.dynamics.simulation import Simulation
from solver_core.interchange.described import Described, Found
from solver_core.interchange.files import read, read_usd_here, write
from solver_core.interchange.usd_child import limit_memory
from solver_core.io.contact_problem_files import ProblemFile, ProblemFileError, read_problem, write_problem
from solver_core.problem.forms import local_form_of
from solver_core.scenes import jointed, plain
from solver_core.validation.findings import SceneError

from .contact_problems import random_bodies
from .fuzzing import Finding
from .spoiling import WILD, Random, spoilt_bytes

__all__ = ["KINDS", "Foreign"]

# Of a child in which OpenUSD reads a damaged file. The product has more of both; a case need not.
BYTES_OF_OPENUSD = 2 * 2**30
SECONDS_OF_OPENUSD = 20
MOST_NUMBERS = 10**9  # of a data set that is read to be changed
RUN = 0.03  # share of the scenes that are read of which two frames are simulated
NUMBERS = (
    *("nan", "inf", "-inf", "1e308", "1e-320", "0", "-0", "-1", "1", "2147483647", "-2147483648", "4294967296"),
    *("18446744073709551616", "99999999999999999999999999", "1e400", "0.5", "3", "x", ""),
)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
LINES_OF_USD = (
    'over "x" ( references = @/etc/passwd@ ) {}',
    'def Xform "r" ( references = @./nothing.abc@ ) {}',
    'def Xform "s" ( prepend payload = @CASE@ ) {}',
    "rel physics:body0 = </Nothing>",
    "float physics:mass = nan",
    "vector3f physics:velocity = (inf, nan, 0)",
    "double3 xformOp:translate = (1e308, 1e308, 0)",
    'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:translate"]',
    "double3 xformOp:scale = (0, 1, -1)",
    "quatf physics:principalAxes = (0, 0, 0, 0)",
    "int[] faceVertexIndices = [0, 1, 99999]",
    "int[] faceVertexCounts = [2147483647]",
    "point3f[] points = [(nan, 0, 0)]",
    'string radius = "wide"',
    "timecode physics:mass = 3",
    'uniform token axis = "W"',
    "int[] protoIndices = [0, 99, -1]",
    "quath[] orientations = [(0, 0, 0, 0)]",
    "rel prototypes = </Nothing>",
    "instanceable = true",
    "double3 xformOp:translate.timeSamples = { 1: (0, 0, 0), 1e9: (1, 1, 1), nan: (0, 0, 0) }",
    "matrix4d xformOp:transform = ((0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))",
    " endTimeCode = 1000000000",
)
LINES_OF_SICONOS = ("0 0 0", "nnz: 99999999999", "2 3 3", "col 0 : locations 0 to 99999", "999999999 999999999", "nan nan")


@dataclasses.dataclass(frozen=True)
class Foreign:
    """What cases begin with: whole files of each kind by their endings, and a folder for the damaged ones."""

    path: Path
    whole: Mapping[str, tuple[bytes, ...]]

    @property
    def sound(self) -> dict[str, bytes]:
        """No file of the folder has to stay as it is."""
        return {}

    @classmethod
    def made(cls, path: Path) -> Foreign:
        """The folder with files of scenes and problems as the product writes them."""
        whole: dict[str, list[bytes]] = {}
        scenes = (jointed.drawbridge(), plain.card_house(levels=1), plain.arch())
        for ending in ("usda", "usdc", "gltf", "glb"):
            for number, spec in enumerate(scenes):
                file = path / f"whole.{ending}"
                write(Described(spec), file, Found(), instances=number == 1)
                whole.setdefault(ending, []).append(file.read_bytes())
                if ending == "usdc":
                    whole.setdefault("usdz", []).append(packed(file))
        for ending in ("npz", "hdf5"):
            for form in (random_bodies(1, contacts=4), local_form_of(random_bodies(2, contacts=4))):
                file = path / f"whole.{ending}"
                write_problem(file, ProblemFile(form))
                whole.setdefault(ending, []).append(file.read_bytes())
                file.unlink()
        whole["dat"] = [text.encode() for text in SICONOS]
        return cls(path, {ending: tuple(contents) for ending, contents in whole.items()})


def packed(file: Path) -> bytes:
    """A .usdz of a .usdc file."""
    from pxr import Sdf, UsdUtils

    target = file.with_name("packed.usdz")
    UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(file)), str(target))
    return target.read_bytes()


SICONOS = (
    "3\n1\n0\n3\n3\n3\t3\n 1.0 0.0 0.0\n 0.0 1.0 0.0\n 0.0 0.0 1.0\n -1.0 0.5 0.0\n 0.25 \n",
    "2\n2\n1\n4\n4\n2\n2\n2\n2\t4\t\n2\t4\t\n3\n2\n0\t1\t2\t\n0\t1\t\n0\n 1.0\n 2.0\n 3.0\n 4.0\n1\n 5.0\n 6.0\n 7.0\n 8.0\n"
    " 1.0 2.0 3.0 4.0\n 0.5 0.5\n",
    "2\n1\n2\n2\n2\n2\nCSparse Version 3.2.0\n2-by-2, nzmax: 2 nnz: 2, 1-norm: 4\n    col 0 : locations 0 to -1\n"
    "    col 1 : locations 0 to 1\n      0 : 3\n      1 : 4\n 1.0 2.0\n 0.5\n",
    "2\n1\n2\n2\n2\n1\nCSparse Version 3.1.9\ntriplet: 2-by-2, nzmax: 2 nnz: 2\n    0 1 : 3\n    1 1 : 4\n 1.0 2.0\n 0.5\n",
)


def chosen(random: Random, several: Any) -> Any:
    return several[int(random.integers(0, len(several)))]


def damaged(random: Random, folder: Foreign, ending: str, spoil: Callable[[Random, bytes], bytes]) -> Path:
    """A file that a case has made of a whole one."""
    file = folder.path / f"case.{ending}"
    file.write_bytes(spoil(random, chosen(random, folder.whole[ending])))
    return file


def places_in(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in JSON, of long lists only the first."""
    if path:
        yield path
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree[:60]) if isinstance(tree, list) else ()
    for key, value in inner:
        yield from places_in(value, (*path, key))


def spoilt_json(random: Random, document: Any) -> Any:
    """JSON with some values replaced, removed, copied or doubled."""
    document = copy.deepcopy(document)
    for _ in range(int(random.integers(1, 5))):
        places = list(places_in(document))
        # those of physics more often than those of meshes
        of_physics = [place for place in places if any(isinstance(key, str) and key.startswith("KHR") for key in place)]
        *above, key = chosen(random, of_physics if of_physics and random.random() < 0.6 else places)
        parent = document
        for step in above:
            parent = parent[step]
        match random.integers(0, 6):
            case 0:
                del parent[key]
            case 1:
                source = document
                for step in chosen(random, places):
                    source = source[step]
                parent[key] = copy.deepcopy(source)
            case 2 if isinstance(parent[key], (int, float)) and not isinstance(parent[key], bool):
                parent[key] = chosen(random, (parent[key] + 1, -parent[key], parent[key] * 1e6, parent[key] + 0.5))
            case 3 if isinstance(parent, list):
                parent.extend(copy.deepcopy(parent[:2]) * chosen(random, (1, 40)))
            case _:
                parent[key] = copy.deepcopy(chosen(random, (*WILD, float("nan"), float("inf"), [0, 0, 0, 0], [1e308] * 3)))
        if not isinstance(document, dict) or not document:
            return document
    return document


def as_json(document: Any) -> bytes:
    return json.dumps(document).encode("utf-8", "surrogatepass")


def spoilt_gltf(random: Random, content: bytes) -> bytes:
    return spoilt_bytes(random, content) if random.random() < 0.15 else as_json(spoilt_json(random, json.loads(content)))


def spoilt_glb(random: Random, content: bytes) -> bytes:
    if random.random() < 0.4:
        return spoilt_bytes(random, content)
    length = struct.unpack_from("<I", content, 12)[0]
    text = as_json(spoilt_json(random, json.loads(content[20 : 20 + length])))
    text, rest = text + b" " * (-len(text) % 4), content[20 + length :]
    return struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text) + len(rest), len(text), b"JSON") + text + rest


def spoilt_lines(random: Random, content: bytes, added: tuple[str, ...]) -> bytes:
    """Text with numbers replaced, and lines removed, moved, doubled or added."""
    if random.random() < 0.08:
        return spoilt_bytes(random, content)
    lines = content.decode().split("\n")
    for _ in range(int(random.integers(1, 5))):
        at, other = (int(random.integers(0, len(lines))) for _ in range(2))
        match random.integers(0, 8):
            case 0:
                del lines[at]
            case 1:
                lines[at:at] = lines[other : other + 5]
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines.insert(at, chosen(random, added))
            case 4:
                lines[at] = lines[at].replace('"', "")
            case _:
                with_numbers = [number for number, line in enumerate(lines) if NUMBER.search(line)]
                if with_numbers:
                    at = chosen(random, with_numbers)
                    found = chosen(random, list(NUMBER.finditer(lines[at])))
                    lines[at] = lines[at][: found.start()] + chosen(random, NUMBERS) + lines[at][found.end() :]
        lines = lines or [""]
    return "\n".join(lines).encode()


def spoilt_npz(random: Random, content: bytes) -> bytes:
    if random.random() < 0.3:
        return spoilt_bytes(random, content)
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for _ in range(int(random.integers(1, 4))):
        name = chosen(random, list(arrays))
        value = arrays[name]
        match random.integers(0, 8):
            case 0:
                del arrays[name]
            case 1 if value.size and value.dtype.kind in "iuf":
                value = value.copy()
                with contextlib.suppress(OverflowError, ValueError):
                    value.reshape(-1)[int(random.integers(0, value.size))] = chosen(
                        random, (np.nan, np.inf, 1e308, -1, 0, 2**31, 2**62, -1e308)
                    )
                arrays[name] = value
            case 2 if value.dtype.kind in "iufb":
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    arrays[name] = value.astype(chosen(random, ("f4", "i8", "u1", "c16", "U5", "b1")))
            case 3:
                arrays[name] = value.reshape(-1)[:-1]
            case 4:
                arrays[name] = np.zeros(chosen(random, ((), (0,), (1,), (3, 3), (0, 3, 3))))
            case 5:
                arrays[name] = np.array(chosen(random, ("bodies", "local", "global", "2")))
            case 6:
                arrays[name] = value[None]
            case _:
                arrays["dim"] = np.array(chosen(random, (0, 1, 2, 3, 4, -3, 2**40)))
        if not arrays:
            break
    packed_arrays = io.BytesIO()
    np.savez_compressed(packed_arrays, **arrays)
    return packed_arrays.getvalue()


def spoilt_hdf5(random: Random, content: bytes) -> bytes:
    if random.random() < 0.35:
        return spoilt_bytes(random, content)
    changed = io.BytesIO(content)
    with h5py.File(changed, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        for _ in range(int(random.integers(1, 4))):
            name = chosen(random, names)
            # a soft link whose target is gone is in the file, and cannot be opened
            if file.get(name) is None:
                continue
            # a set that an earlier change declared too large to be read is only replaced
            is_read = isinstance(file[name], h5py.Dataset) and file[name].size < MOST_NUMBERS
            old = np.asarray(file[name][()]) if is_read else None
            del file[name]
            match random.integers(0, 6):
                case 0:
                    continue
                case 1 if old is not None and old.size and old.dtype.kind in "iuf":
                    with np.errstate(all="ignore"), contextlib.suppress(OverflowError, ValueError):
                        old.reshape(-1)[int(random.integers(0, old.size))] = chosen(
                            random, (np.nan, np.inf, 1e308, -1, 0, 2**31 - 1, -(2**31))
                        )
                    file[name] = old
                case 2:
                    file[name] = chosen(
                        random,
                        (np.float64(np.inf), np.float64(np.nan), np.array([np.inf]), np.array([1e300]), np.array([2**62])),
                    )
                case 3:
                    file[name] = chosen(random, (np.zeros(0), np.zeros((3, 3)), np.array([b"abc"]), np.array([1 + 2j])))
                case 4:
                    file[name] = h5py.ExternalLink("/etc/passwd", "/x")
                case _:
                    file.create_dataset(name, shape=(10**12,), dtype="f8")
    return changed.getvalue()


def a_scene_file(ending: str, spoil: Callable[[Random, bytes], bytes]) -> Callable[[Random, Foreign], None]:
    """A kind of case: a damaged file of a scene."""

    def case(random: Random, folder: Foreign) -> None:
        file = damaged(random, folder, ending, spoil)
        simulates = random.random() < RUN
        if ending.startswith("usd"):
            in_a_child(lambda: read_whole(file, read_usd_here, simulates))
        else:
            read_whole(file, read, simulates)

    return case


def read_whole(file: Path, reader: Callable[[Path, Found], Described], simulates: bool) -> None:
    """Read a file; a Finding where something in the scene is not finite, now or after two frames."""
    try:
        scene = reader(file, Found())
    except (SceneError, OSError):
        return
    for body in scene.spec.bodies:
        values = (body.position, body.orientation, body.velocity, body.mass, body.density, body.path)
        if not all(np.isfinite(np.asarray(value, dtype=float)).all() for value in values if value is not None):
            raise Finding(f"{body.name} is not finite")
    if simulates and scene.spec.frame_end - scene.spec.frame_start < 100:
        with contextlib.suppress(SceneError):
            for frame in Simulation(scene.spec, scene.settings).run(2):
                if not np.isfinite(frame.poses).all():
                    raise Finding("a frame is not finite")


def in_a_child(task: Callable[[], None]) -> None:
    """Do it in a child of this process, which the product has as a process of its own: limits and crashes end the child alone,
    and are no findings. What the child raises is one. Elsewhere than on Linux, do it here."""
    if sys.platform != "linux":
        task()
        return
    import resource
    import traceback

    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            limit_memory(BYTES_OF_OPENUSD)
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_OF_OPENUSD, SECONDS_OF_OPENUSD + 1))
            task()
        except BaseException:
            os.write(writable, traceback.format_exc()[-4000:].encode("utf-8", "backslashreplace"))
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as said:
        raised = said.read().decode("utf-8", "replace")
    os.waitpid(child, 0)
    if raised:
        raise Finding(raised)


def a_problem_file(ending: str, spoil: Callable[[Random, bytes], bytes]) -> Callable[[Random, Foreign], None]:
    """A kind of case: a damaged file of a contact problem."""

    def case(random: Random, folder: Foreign) -> None:
        file = damaged(random, folder, ending, spoil)
        with contextlib.suppress(ProblemFileError, OSError), warnings.catch_warnings():
            # an imaginary part that is left out is a silent loss
            warnings.simplefilter("error", ComplexWarning)
            found = read_problem(file)
            # whose own exception is ValueError
            with contextlib.suppress(ValueError):
                found.problem()

    return case


KINDS: dict[str, Callable[[Random, Foreign], None]] = {
    "usda": a_scene_file("usda", lambda random, content: spoilt_lines(random, content, LINES_OF_USD)),
    "usdc": a_scene_file("usdc", spoilt_bytes),
    "usdz": a_scene_file("usdz", spoilt_bytes),
    "gltf": a_scene_file("gltf", spoilt_gltf),
    "glb": a_scene_file("glb", spoilt_glb),
    "npz": a_problem_file("npz", spoilt_npz),
    "hdf5": a_problem_file("hdf5", spoilt_hdf5),
    "siconos": a_problem_file("dat", lambda random, content: spoilt_lines(random, content, LINES_OF_SICONOS)),
}
