# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs of the command line: checked in advance so that nothing is destroyed, with `-` for standard output."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from os import close, dup, dup2, path
from pathlib import Path
from tempfile import TemporaryDirectory

import bpy

from ...solver_core.io.outputs import (
    BLEND,
    REPORT,
    STANDARD_OUTPUT,
    TABLE,
    is_null_device,
    is_stream,
    refuse_one_for_another,
    refuse_output,
)
from ...solver_core.process.command_line import UsageError
from ...solver_core.validation.findings import SceneError
from ..farms.kinds import FARMS

__all__ = ["refuse_blend", "refuse_outputs", "standard_output_kept", "why_not_saved"]

# Bytes; with less free disk space, a full disk is reported as the probable cause.
ALMOST_FULL = 1 << 20


def refuse_outputs(arguments: argparse.Namespace) -> None:
    """Raise UsageError where an output cannot be written, or would destroy what is there; the file must be open."""
    report = getattr(arguments, "report", None)
    named = [("--report", report, REPORT)] if report is not None else []
    if arguments.command == "report":
        from ...solver_core.certificate import refuse_certificate

        for file in arguments.output:
            said("--output", lambda file=file: refuse_certificate(Path(file)))
    elif arguments.command == "export":
        from ...solver_core.interchange.files import refuse_file

        said("--output", lambda: refuse_file(Path(arguments.output[0])))
        refuse_one_for_another((("the scene", arguments.scene or bpy.data.filepath), ("--output", arguments.output[0])))
    elif arguments.command == "sound":
        from ...solver_core.sound.write import refuse_sound

        said("--output", lambda: refuse_sound(Path(arguments.output[0])))
    elif arguments.command == "impacts":
        named.append(("--output", arguments.output[0], TABLE))
    elif arguments.command in ("bake", "settle"):
        if is_stream(arguments.output):
            raise UsageError(f"--output: {arguments.output} is not a file; name the .blend file to write")
        said("--output", lambda: refuse_blend(arguments.output))
        refuse_one_for_another((("--output", arguments.output), ("--report", report)))
    elif arguments.command == "job":
        named.append(("--output", arguments.output, FARMS[arguments.farm].kind))
    elif arguments.command == "sweep" and is_stream(arguments.output):
        raise UsageError(f"--output: {arguments.output} is not a folder; name one for the bakes and the sheet")
    for option, file, kind in named:
        said(option, lambda file=file, kind=kind: refuse_output(file, kind))


def said(option: str, refuse: Callable[[], None]) -> None:
    try:
        refuse()
    except (OSError, SceneError) as error:
        raise UsageError(f"{option}: {error}") from error


def refuse_blend(output: str) -> None:
    """Raise PathRefused where a .blend file would destroy what is there, UsageError where that is a library of the open one."""
    refuse_output(output, BLEND)
    libraries = [(f"the library {library.name}", bpy.path.abspath(library.filepath)) for library in bpy.data.libraries]
    for library in libraries:
        refuse_one_for_another((library, ("--output", output)))


def why_not_saved(output: Path, error: Exception) -> str:
    """Return why a .blend file was not written. For a full disk Blender reports "No such file or directory", or "Success"."""
    free = shutil.disk_usage(output.parent).free if output.parent.is_dir() else ALMOST_FULL
    return f"only {free} bytes are free on its disk" if free < ALMOST_FULL else str(error).strip()


@contextmanager
def standard_output_kept(arguments: argparse.Namespace) -> Iterator[None]:
    """Context for commands with an output `-`.

    All messages in the block, also Blender's, go to standard error, and only the output goes to standard output, after the
    block. A report to the null device does not count.
    """
    report, output = getattr(arguments, "report", None), getattr(arguments, "output", None)
    if report is not None and is_null_device(report):
        arguments.report = None
    if STANDARD_OUTPUT not in (report, *(output if isinstance(output, list) else ())):
        yield
        return
    with TemporaryDirectory(prefix="stiction-") as folder:
        file = Path(folder, "output.csv" if arguments.command in ("impacts", "sound") else "output.json")
        if report == STANDARD_OUTPUT:
            arguments.report = str(file)
        else:
            arguments.output = [str(file) if one == STANDARD_OUTPUT else one for one in output or ()]
        sys.stdout.flush()
        kept = dup(1)
        try:
            dup2(2, 1)
            with redirect_stdout(sys.stderr):
                yield
        finally:
            dup2(kept, 1)
            close(kept)
            if path.exists(file):
                sys.stdout.write(file.read_text(encoding="utf-8"))
                sys.stdout.flush()
