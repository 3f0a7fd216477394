# SPDX-License-Identifier: GPL-3.0-or-later
"""Modes of flexible bodies in files: in a cache, with the frames that use them, and in a folder under a digest, so that the
next bake with the same mesh and material does not compute them again.

Every cache contains its own modes. Two computers compute equal modes if LAPACK has fixed kernels
(`process/numeric_libraries.py`) and the same version. Otherwise they may differ: modes of equal frequency can be combined
arbitrarily.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..deformable.bricks import Bricks
from ..deformable.inertia import ModalInertia
from ..deformable.reduced import LargeBending, ReducedBody, gram_size
from ..scene.deformable import Elasticity
from .atomic import write_atomically
from .container import Chunk, ContainerError, encode_chunk, is_foreign, locate_chunk, open_file, read_chunk

if TYPE_CHECKING:
    from ..scene.spec import SceneSpec

__all__ = ["MODES", "NOTHING_BENDS", "SceneModes", "decode_modes", "encode_modes", "scene_modes"]

MODES = "mode"
# Number of stored files; the least recently used ones are removed.
MOST_KEPT = 32
ENDING = ".modes"
INERTIA = ModalInertia._fields
OF_BRICKS = tuple(field.name for field in fields(Bricks))


@dataclass(frozen=True)
class SceneModes:
    """The modes of the flexible bodies of a scene.

    bodies: (b,) indices of the flexible bodies, in increasing order.
    reduced: reduced model of each; bodies with the same mesh and material share one.
    """

    bodies: tuple[int, ...] = ()
    reduced: tuple[ReducedBody, ...] = ()

    @property
    def rows(self) -> dict[int, slice]:
        """Return the rows of each body in a frame's `modal`, by body index."""
        found, first = {}, 0
        for body, one in zip(self.bodies, self.reduced, strict=True):
            found[body] = slice(first, first + len(one.omega))
            first += len(one.omega)
        return found

    def by_body(self) -> dict[int, ReducedBody]:
        """Return the reduced models by body index."""
        return dict(zip(self.bodies, self.reduced, strict=True))


NOTHING_BENDS = SceneModes()


def encode_modes(modes: SceneModes, **header: Any) -> bytes:
    """Return a chunk with the modes. header: further fields of the chunk."""
    distinct: dict[int, int] = {}
    which = [distinct.setdefault(id(one), len(distinct)) for one in modes.reduced]
    arrays: dict[str, NDArray[Any]] = {}
    for one, number in zip(modes.reduced, which, strict=True):
        arrays |= {f"{number}.{name}": array for name, array in arrays_of(one).items()}
    return encode_chunk(MODES, {**header, "bodies": list(modes.bodies), "which": which}, arrays)


def decode_modes(chunk: Chunk, bodies: int) -> SceneModes:
    """Return the modes in a chunk, for a scene with this number of bodies. Raises KeyError, TypeError and ValueError for
    invalid content."""
    indices, which = chunk.fields["bodies"], chunk.fields["which"]
    if len(indices) != len(which) or indices != sorted(set(indices)) or not all(0 <= one < bodies for one in indices):
        raise ValueError(f"modes of the bodies {indices}, of which there are {bodies}")
    distinct = {number: body_of(chunk.arrays, f"{number}.") for number in set(which)}
    return SceneModes(tuple(indices), tuple(distinct[number] for number in which))


def arrays_of(body: ReducedBody) -> dict[str, NDArray[Any]]:
    inertia = {f"inertia.{name}": getattr(body.inertia, name) for name in INERTIA}
    bricks = {f"bricks.{name}": getattr(body.bricks, name) for name in OF_BRICKS}
    scalars = {"mass": np.array([body.mass]), "lame": body.lame}
    whole = {"omega": body.omega, "damping": body.damping, "shapes": body.shapes, "slopes": body.slopes, **scalars}
    large = {} if body.large is None else {"gram": body.large.gram, "modes": np.array([body.large.modes])}
    return {**whole, **inertia, **bricks, **large}


def body_of(arrays: Mapping[str, NDArray[Any]], prefix: str) -> ReducedBody:
    """Return the reduced model whose arrays have names with this prefix. Raises KeyError and ValueError."""
    count, vertices = len(arrays[f"{prefix}omega"]), len(arrays[f"{prefix}shapes"])
    shapes = {"omega": (count,), "damping": (count,), "shapes": (vertices, 3, count), "mass": (1,), "lame": (2,)}
    shapes |= {"slopes": (vertices, 3, 3, count)}
    shapes |= {"inertia.momentum": (count, 3), "inertia.spin": (count, 3), "inertia.first": (count, 3, 3)}
    shapes |= {"inertia.second": (count, count, 3, 3), "inertia.gyroscopic": (count, count, 3)}
    if f"{prefix}inertia.stiffening" in arrays:
        shapes |= {"inertia.stiffening": (count, count, 3, 3)}
    number, nodes = len(arrays[f"{prefix}bricks.nodes"]), len(arrays[f"{prefix}bricks.modes"])
    shapes |= {"bricks.axes": (3, 3), "bricks.lowest": (number, 3), "bricks.sizes": (number, 3), "bricks.filled": (number,)}
    shapes |= {"bricks.nodes": (number, 8), "bricks.modes": (nodes, 3, count)}
    if f"{prefix}gram" in arrays:
        shapes |= {"gram": (gram_size(count), gram_size(count)), "modes": (1,)}
    found = {name: arrays[prefix + name] for name in shapes}
    for name, array in found.items():
        wanted = np.dtype({"bricks.nodes": np.int64, "modes": np.int64, "slopes": np.float32}.get(name, np.float64))
        if array.shape != shapes[name] or array.dtype != wanted or not np.isfinite(array).all():
            raise ValueError(f"modes: {name!r} has the shape {array.shape} of {array.dtype}, or is not finite")
    if not (count and (found["omega"] > 0.0).all() and (found["damping"] >= 0.0).all() and found["mass"][0] > 0.0):
        raise ValueError("modes without a frequency, a damping or a mass")
    corners = found["bricks.nodes"]
    if not (number and 0 <= corners.min() <= corners.max() < nodes and (found["bricks.sizes"] > 0.0).all()):
        raise ValueError("modes of bricks that are none")
    large = LargeBending(found["gram"], int(found["modes"][0])) if "gram" in found else None
    # Caches of earlier versions lack it; their frames are only displayed.
    found.setdefault("inertia.stiffening", np.zeros((count, count, 3, 3)))
    inertia = ModalInertia(*(found[f"inertia.{name}"] for name in INERTIA))
    whole = found["omega"], found["damping"], found["shapes"], inertia
    bricks = Bricks(*(found[f"bricks.{name}"] for name in OF_BRICKS))
    return ReducedBody(float(found["mass"][0]), *whole, bricks, found["lame"], found["slopes"], large)


def scene_modes(
    spec: SceneSpec,
    folder: Path | None,
    known: SceneModes = NOTHING_BENDS,
    say: Callable[[str, int, int], object] = lambda _name, _number, _of: None,
) -> SceneModes:
    """Return the modes of a validated scene.

    folder: folder of stored modes; None for none. Errors when writing to it are ignored.
    known: modes of existing frames that the bake continues.
    say: called before modes are computed, with the name of a body, its number and the number of different flexible bodies.
    """
    indices = tuple(i for i, body in enumerate(spec.bodies) if body.deformable is not None)
    if known.bodies == indices and all(fits(known.reduced[k], spec, i) for k, i in enumerate(indices)):
        return known
    # Imported here because a process that has all modes needs no eigenvalues.
    from ..deformable.reduced_body import joint_loads, preparation_digest, prepared

    loads = {i: joint_loads(spec, i) for i in indices}
    digests = [preparation_digest(spec.bodies[i], loads[i]) for i in indices]
    distinct: dict[str, ReducedBody] = {}
    count = len(set(digests))
    for i, digest in zip(indices, digests, strict=True):
        if digest in distinct:
            continue
        file = None if folder is None else folder / f"{digest}{ENDING}"
        body = None if file is None else kept(file, spec, i)
        if body is None:
            say(spec.bodies[i].name, len(distinct) + 1, count)
            body = prepared(spec.bodies[i], loads[i])
            if file is not None:
                keep(file, body)
        distinct[digest] = body
    return SceneModes(indices, tuple(distinct[digest] for digest in digests))


def fits(body: ReducedBody, spec: SceneSpec, index: int) -> bool:
    """Return True if the modes can belong to a body of the scene."""
    deformable = spec.bodies[index].deformable
    if deformable is None or (body.large is None) != (deformable.kind is Elasticity.LINEAR):
        return False
    vertices, axes, count = body.shapes.shape
    # Symmetric bodies have fewer modes than requested.
    return (vertices, axes) == (len(spec.bodies[index].shape.vertices), 3) and 1 <= count <= deformable.modes


def kept(file: Path, spec: SceneSpec, index: int) -> ReducedBody | None:
    """Return the modes in a file if they are valid and belong to the body, and mark the file as used. Otherwise return None."""
    try:
        with open_file(file) as stream:
            place = locate_chunk(stream, 0)
            if place is None or place.kind != MODES:
                return None
            body = decode_modes(read_chunk(stream, place), 1).reduced[0]
    except (OSError, ContainerError, KeyError, IndexError, TypeError, ValueError):
        # In any case the modes are computed again; a file of this program is replaced.
        return None
    with suppress(OSError):
        os.utime(file, follow_symlinks=os.utime not in os.supports_follow_symlinks)
    return body if fits(body, spec, index) else None


def keep(file: Path, body: ReducedBody) -> None:
    """Write modes to a file, and remove those that were not used for longest."""
    try:
        if is_foreign(file, MODES):
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, encode_modes(SceneModes((0,), (body,))))
        others = [(other.stat().st_mtime, other) for other in file.parent.glob(f"*{ENDING}") if other != file]
        for _, other in sorted(others, reverse=True)[MOST_KEPT - 1 :]:
            if not is_foreign(other, MODES):
                other.unlink(missing_ok=True)
    except OSError as error:
        print(f"the modes of flexible bodies are not kept, so the next bake computes them again: {error}")
