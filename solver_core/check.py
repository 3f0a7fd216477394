# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a scene snapshot before it is baked: python -m solver_core.check SNAPSHOT FINDINGS [FOLDER].

FOLDER stores the modes of flexible bodies for the bake that follows. FINDINGS is a JSON file with these entries:

warnings: a list of {"objects", "field", "message"}: the findings of `surprises`, warnings about materials, and bodies that
    overlap at the first frame.
loads: for each breakable joint, [load, breaking impulse]: the largest load in a simulation of the first frames, both in
    N s or N m s.
shared: for each joint whose reaction is not unique, whether it may break.
flexible: for each flexible body, its entry in a report.

The process ends at the end of its standard input, a pipe that its parent process holds open.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from .io.container import ContainerError
from .io.outputs import REPORT, refuse_output, write_output
from .io.snapshot import read_snapshot
from .process.command_line import ExitStatus, Parser, UsageError, status_of
from .process.console import prepare_streams, tell
from .process.ending import Ending, end_by_force, hear_parent, hear_signals
from .validation.findings import SceneError
from .validation.surprises import surprises

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status.

    A wrong argument and an unreadable or invalid snapshot are reported in a sentence on standard error.
    """
    parser = Parser(prog="python -m solver_core.check", description="Checks the scene of a snapshot before it is baked.")
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="the scene and the solver settings")
    parser.add_argument("findings", metavar="FINDINGS", help="where to write the findings, as JSON")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="where to store the modes of flexible bodies")
    try:
        arguments = parser.parse_args(argv)
        check(arguments.snapshot, arguments.findings, arguments.folder)
    except OSError as error:
        tell(str(error), sys.stderr)
        return status_of(error)
    except (UsageError, ContainerError, SceneError) as error:
        tell(str(error), sys.stderr)
        return ExitStatus.BAD_INPUT
    except SystemExit:
        # argparse exits after --help.
        return ExitStatus.DONE
    return ExitStatus.DONE


def check(snapshot: str, output: str, folder: str | None) -> None:
    """Check a snapshot and write the findings, both named by their paths.

    folder: where the modes of flexible bodies are stored, or None.

    Raises OSError, PathRefused, ContainerError and SceneError.
    """
    refuse_output(output, REPORT)
    spec, settings = read_snapshot(snapshot)
    # Imported here because numba takes a while to load.
    from .bake.bends import bending_entries
    from .bake.breaking_loads import breaking_loads
    from .dynamics.simulation import Simulation
    from .io.kept_modes import scene_modes
    from .validation.self_stress import has_unique_reaction

    modes = scene_modes(spec, None if folder is None else Path(folder))
    warnings = (*surprises(spec, settings), *Simulation(spec, settings, modes=modes.by_body()).warnings)
    uniqueness = zip(spec.joints, has_unique_reaction(spec), strict=True)
    findings = {
        "warnings": [dataclasses.asdict(warning) for warning in warnings],
        "loads": breaking_loads(spec, settings, modes.by_body()),
        "shared": {joint.name: isfinite(joint.breaking_impulse) for joint, is_unique in uniqueness if not is_unique},
        "flexible": bending_entries(spec, settings, modes),
    }
    write_output(output, REPORT, json.dumps(findings, allow_nan=False).encode())


if __name__ == "__main__":
    prepare_streams()
    asked_to_end = Ending()
    hear_signals(asked_to_end)
    hear_parent(asked_to_end)
    # Nothing has to be finished between two steps.
    asked_to_end.hasten()
    end_by_force(asked_to_end, ExitStatus.FAILED)
    status = main(sys.argv[1:])
    asked_to_end.done()
    sys.exit(status)
