# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what is odd in a scene snapshot before any step of it: python -m solver_core.check SNAPSHOT FINDINGS [FOLDER].

FOLDER is where the modes of flexible bodies are kept, for the bake that follows. FINDINGS is written as JSON,
{"warnings": [{"objects", "field", "message"}], "loads": {joint: [bears, breaks at]}, "shared": {joint: may break},
"flexible": [what a report says of each flexible body]}: what `surprises` says, what is odd in the materials, which bodies
overlap at the first frame, for which all contacts are looked for, what breakable joints bear, for which the first frames are
simulated, and which joints' reactions are not unique. It ends when its standard input does, a pipe that whoever starts it
holds open.
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
    """Check as the command line `argv` (without the program's name) says; returns the exit status."""
    snapshot, findings, *folder = argv
    refuse_output(findings, REPORT)
    spec, settings = read_snapshot(snapshot)
    # only now, for numba takes a while to load
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
    found = {"warnings": entries, "loads": breaking_loads(spec, settings), "shared": shared}
    found["flexible"] = bending_entries(spec, settings, modes)
    write_output(findings, REPORT, json.dumps(found, allow_nan=False).encode())
    return ExitStatus.BAKED


if __name__ == "__main__":
    prepare_streams()
    asked_to_end = Ending()
    hear_signals(asked_to_end)
    hear_parent(asked_to_end)
    # there is nothing to finish between two steps
    asked_to_end.hasten()
    end_by_force(asked_to_end, ExitStatus.FAILED)
    status = main(sys.argv[1:])
    asked_to_end.done()
    sys.exit(status)
