# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a scene snapshot before it is baked: python -m solver_core.check SNAPSHOT FINDINGS [FOLDER].

FOLDER stores the modes of flexible bodies for the bake that follows. FINDINGS is a JSON file,
{"warnings": [{"objects", "field", "message"}], "loads": {joint: [load, breaking impulse]}, "shared": {joint: may break},
"flexible": [the report's entry for each flexible body]}. It contains the findings of `surprises`, warnings about materials,
bodies that overlap at the first frame, the loads of breakable joints in a simulation of the first frames, and joints whose
reactions are not unique. The process ends at the end of its standard input, a pipe that its parent process holds open.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from .io.outputs import REPORT, refuse_output, write_output
from .io.snapshot import read_snapshot
from .process.command_line import ExitStatus
from .process.console import prepare_streams
from .process.ending import Ending, end_by_force, hear_parent, hear_signals
from .validation.surprises import surprises

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status."""
    snapshot, findings, *folder = argv
    refuse_output(findings, REPORT)
    spec, settings = read_snapshot(snapshot)
    # Imported here because numba takes a while to load.
    from .bake.bends import bending_entries
    from .bake.breaking_loads import breaking_loads
    from .dynamics.simulation import Simulation
    from .io.kept_modes import scene_modes
    from .validation.self_stress import has_unique_reaction

    modes = scene_modes(spec, Path(folder[0]) if folder else None)
    warnings = (*surprises(spec, settings), *Simulation(spec, settings, modes=modes.by_body()).warnings)
    entries = [dataclasses.asdict(warning) for warning in warnings]
    unique = has_unique_reaction(spec)
    shared = {joint.name: isfinite(joint.breaking_impulse) for joint, own in zip(spec.joints, unique, strict=True) if not own}
    found = {"warnings": entries, "loads": breaking_loads(spec, settings, modes.by_body()), "shared": shared}
    found["flexible"] = bending_entries(spec, settings, modes)
    write_output(findings, REPORT, json.dumps(found, allow_nan=False).encode())
    return ExitStatus.DONE


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
