# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the accuracy report of a finished bake: python -m solver_core.certificate SNAPSHOT CACHE FILE...

The extension of each FILE determines its format: .json, the report as the worker writes it; .csv, one row per frame; .html, a
page with plots that needs no network and runs no script. The same bake gives the same bytes. The exit status is 3 if a step is
unconverged, and 2 if an input cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .bake.certificate_page import page
from .bake.report import build_report, report_bytes
from .io import tables
from .io.cache import CacheError, FrameCacheReader
from .io.container import ContainerError
from .io.outputs import PAGE, REPORT, TABLE, OutputKind, is_stream, refuse_output, write_output
from .io.snapshot import file_digest, read_snapshot
from .process.command_line import ExitStatus, Parser, UsageError
from .process.console import prepare_streams, tell

__all__ = ["FORMATS", "certificate_of", "main", "refuse_certificate", "write_certificate"]


def certificate_of(snapshot: Path, cache: Path) -> dict[str, Any]:
    """Return the report of a bake from its two files. Raises CacheError, ContainerError and OSError."""
    spec, settings = read_snapshot(snapshot)
    digest = file_digest(snapshot)
    frames = FrameCacheReader.of_snapshot(cache, spec, digest)
    return {"digest": digest, **build_report(spec, settings, frames, earlier=frames.info.earlier, modes=frames.modes())}


def table(report: dict[str, Any]) -> bytes:
    """Return the frames as comma-separated values. A number that is not finite is an empty cell."""
    rows = [cells(row) for row in report["frames"]]
    header = list(rows[0]) if rows else ["frame"]
    return tables.table(header, ([row[name] for name in header] for row in rows))


def cells(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}_{key}": number for key, number in value.items()}
        elif isinstance(value, list):
            flat |= {f"{name}_{index + 1}": value[index] if index < len(value) else "" for index in range(2)}
        else:
            flat[name] = value
    return flat


FORMATS: dict[str, tuple[OutputKind, Callable[[dict[str, Any]], bytes]]] = {
    ".json": (REPORT, report_bytes),
    ".csv": (TABLE, table),
    ".html": (PAGE, page),
}


def refuse_certificate(file: Path) -> None:
    """Raise UsageError if the file extension is unknown, and PathRefused if the file may not be overwritten."""
    refuse_output(file, format_of(file)[0])


def write_certificate(report: dict[str, Any], file: Path) -> None:
    """Write the report in the format of the file extension, or to standard output as JSON.

    Raises UsageError if the extension is unknown, PathRefused if the file may not be overwritten, and OSError.
    """
    kind, form = format_of(file)
    write_output(file, kind, form(report))


def format_of(file: Path) -> tuple[OutputKind, Callable[[dict[str, Any]], bytes]]:
    form = FORMATS.get(".json" if is_stream(file) else file.suffix.lower())
    if form is None:
        raise UsageError(f"{file}: the name must end with {', '.join(FORMATS)}")
    return form


def main(argv: Sequence[str]) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status."""
    parser = Parser(prog="python -m solver_core.certificate", description="Reports the accuracy of a bake.")
    parser.add_argument("snapshot", metavar="SNAPSHOT", type=Path, help="the snapshot of the bake")
    parser.add_argument("cache", metavar="CACHE", type=Path, help="its frame cache")
    endings = f"a name that ends with {', '.join(FORMATS)}, or - for standard output"
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help=endings)
    try:
        arguments = parser.parse_args(argv)
        for file in arguments.files:
            refuse_certificate(file)
        report = certificate_of(arguments.snapshot, arguments.cache)
        for file in arguments.files:
            write_certificate(report, file)
    except (UsageError, OSError, CacheError, ContainerError) as error:
        tell(str(error), sys.stderr)
        return ExitStatus.BAD_INPUT
    return ExitStatus.MISSED_TOLERANCE if report["totals"]["missed_steps"] else ExitStatus.DONE


if __name__ == "__main__":
    prepare_streams()
    sys.exit(main(sys.argv[1:]))
