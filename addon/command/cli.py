# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `stiction bake`, `settle`, `sweep`, `job`, `check`, `report`, `impacts`, `sound`, `export`, `solve` and
`compile`, standalone or with the same arguments after `blender -b FILE --command`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bpy
from bpy.types import Scene

from ...solver_core.interchange.files import GLTF, USD, USD_PACKED
from ...solver_core.io.outputs import REPORT, write_output
from ...solver_core.process.command_line import ExitStatus, UsageError, status_of
from ...solver_core.process.console import one_line, prepare_streams, tell
from ...solver_core.threads.count import MOST_ASKED
from ..bake.bake_files import cache_folder, cache_path, snapshot_of
from .bake import bake
from .changes import set_body, set_checked, set_scene, warnings_of
from .messages import say, say_warnings
from .options import PROGRAM, keys_wanted, make_parser
from .outputs import refuse_outputs, standard_output_kept
from .processes import compile_kernels, run_module, sweep
from .settle import settle

__all__ = ["register", "run", "unregister"]

# Commands without options that change the settings of the open file.
AS_IT_IS = ("report", "impacts", "sound", "export", "job", "settle")


def run(argv: Sequence[str]) -> int:
    """Run a command. arguments: the command line without the program name. Returns the exit status."""
    prepare_streams()
    try:
        arguments = make_parser().parse_args(list(argv))
        if arguments.command == "compile":
            return compile_kernels(arguments)
        if arguments.command == "solve":
            return run_module("solver_core.solve_file", *map(str, argv[1:]))
        with standard_output_kept(arguments):
            try:
                prepare(arguments)
            except OSError as error:
                # for example, a file name that is too long
                raise UsageError(str(error)) from error
            commands = {"bake": bake, "check": check, "report": report, "impacts": impacts}
            commands |= {"sweep": sweep, "job": job, "export": export, "settle": settle, "sound": sound}
            return commands[arguments.command](arguments)
    except UsageError as error:
        tell(f"{PROGRAM}: {error}", sys.stderr)
        return ExitStatus.BAD_INPUT
    except OSError as error:
        say("ERROR", str(error))
        return status_of(error)
    except SystemExit:
        # argparse exits after --help.
        return ExitStatus.DONE


def job(arguments: argparse.Namespace) -> int:
    """Write a job for a farm; returns the exit status. Raises UsageError."""
    from ..farms.kinds import FARMS
    from ..farms.written import job_of, surprises_of, write_job

    if not 0 <= arguments.threads <= MOST_ASKED:
        raise UsageError(f"--threads: {arguments.threads} is not between 0, for one per processor, and {MOST_ASKED}")
    for sentence in surprises_of(bpy.context.scene):
        say("WARNING", sentence)
    wanted = {name: getattr(arguments, name) for name in ("baked", "threads", "kernels", "blender")}
    write_job(FARMS[arguments.farm], job_of(bpy.context.scene, **wanted), Path(arguments.output))
    say("INFO", f"wrote {arguments.output}")
    return ExitStatus.DONE


def prepare(arguments: argparse.Namespace) -> None:
    """Open the file and change it as the arguments say. Raises UsageError."""
    warnings = [] if arguments.command in AS_IT_IS else warnings_of(arguments)
    open_scene(arguments)
    refuse_outputs(arguments)
    if arguments.command in AS_IT_IS:
        return
    for sentence in warnings:
        say("WARNING", sentence)
    if arguments.command == "bake":
        keys_wanted(arguments)
        set_checked(bpy.context.scene.stiction, "threads", arguments.threads, "--threads")
        if arguments.contacts:
            bpy.context.scene.stiction.keep_contacts = True
    set_scene(bpy.context.scene, arguments)
    for assignment in arguments.assignments:
        set_body(assignment)


def open_scene(arguments: argparse.Namespace) -> None:
    if arguments.scene is not None:
        file = Path(arguments.scene).resolve()
        if not file.is_file():
            raise UsageError(f"{arguments.scene}: no such file")
        if file.suffix.lower() in (*USD, *USD_PACKED, *GLTF):
            import_scene(file)
        else:
            try:
                bpy.ops.wm.open_mainfile(filepath=str(file), load_ui=False)
            except RuntimeError as error:
                raise UsageError(f"{arguments.scene}: cannot be opened: {str(error).strip()}") from error
    elif not bpy.data.filepath:
        raise UsageError("no .blend file was given and none is open")
    if arguments.scene_name is not None:
        scene = bpy.data.scenes.get(arguments.scene_name)
        if scene is None:
            there = ", ".join(scene.name for scene in bpy.data.scenes)
            raise UsageError(
                f"--scene: there is no scene {one_line(arguments.scene_name)} in the file, which has {one_line(there)}"
            )
        bpy.context.window.scene = scene


def import_scene(file: Path) -> None:
    """Make a scene of one in USD or glTF in a new file, whose caches are beside it. Raises UsageError."""
    from ...solver_core.validation.findings import SceneError
    from ..interchange.transfer import import_scene

    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    try:
        _, found = import_scene(bpy.context, file)
    except SceneError as error:
        raise UsageError(f"{file}: nothing is imported\n{error}") from error
    settings = bpy.context.scene.stiction
    settings.cache_directory = str(file.parent / settings.cache_directory.removeprefix("//"))
    say_warnings(found.warnings)


def export(arguments: argparse.Namespace) -> int:
    """Write the open scene for other tools; returns the exit status. Raises UsageError."""
    from ...solver_core.validation.findings import SceneError
    from ..interchange.transfer import export_scene

    try:
        found = export_scene(bpy.context, Path(arguments.output[0]).resolve(), instances=arguments.instances)
    except SceneError as error:
        raise UsageError(str(error)) from error
    say_warnings(found.warnings)
    say("INFO", f"wrote {arguments.output[0]}")
    return ExitStatus.DONE


def check(arguments: argparse.Namespace) -> int:
    """Report the problems of the open file. Returns the exit status."""
    from ..bake.findings import LEVELS, Contacts, look
    from ..bake.worker import WorkerError

    found = look(bpy.context)
    findings = found.findings
    if found.sound is not None:
        try:
            contacts = Contacts(found.sound, cache_folder(bpy.context.scene))
        except (WorkerError, OSError) as error:
            say("ERROR", f"contacts cannot be checked: {error}")
            return ExitStatus.FAILED
        try:
            findings += contacts.findings()
        finally:
            contacts.end()
    findings = sorted(findings, key=lambda one: LEVELS.index(one.level))
    for finding in findings:
        say(finding.level, str(finding))
    say("INFO", f"{len(findings)} found" if findings else "no problems found")
    if arguments.report is not None:
        entries = [asdict(finding) for finding in findings]
        write_output(arguments.report, REPORT, (json.dumps({"findings": entries}, indent=1) + "\n").encode())
    return ExitStatus.BAD_INPUT if any(finding.level == "ERROR" for finding in findings) else ExitStatus.DONE


def report(arguments: argparse.Namespace) -> int:
    """Write how accurate the bake of the open file is; returns the exit status. Raises UsageError."""
    from ...solver_core.io.cache import CacheError
    from ...solver_core.io.container import ContainerError
    from ..show.statistics import export

    scene = scene_with_bake(arguments)
    missed = 0
    try:
        for file in arguments.output:
            missed = export(scene, Path(file))
            say("INFO", f"wrote {file}")
    except (CacheError, ContainerError) as error:
        raise UsageError(str(error)) from error
    return ExitStatus.MISSED_TOLERANCE if missed else ExitStatus.DONE


def scene_with_bake(arguments: argparse.Namespace) -> Scene:
    scene = bpy.context.scene
    if scene.stiction.bake.state == "NONE":
        raise UsageError(f"{arguments.scene or bpy.data.filepath}: the scene {scene.name} has no bake")
    return scene


def impacts(arguments: argparse.Namespace) -> int:
    """Write the impacts of the bake of the open file; returns the exit status. Raises UsageError."""
    from ...solver_core.impacts import write_impacts
    from ...solver_core.io.cache import CacheError
    from ...solver_core.io.container import ContainerError

    cache = Path(cache_path(scene_with_bake(arguments)))
    try:
        count = write_impacts(snapshot_of(cache), cache, Path(arguments.output[0]))
    except (CacheError, ContainerError) as error:
        raise UsageError(str(error)) from error
    say("INFO", f"wrote {count} impacts to {arguments.output[0]}")
    return ExitStatus.DONE


def sound(arguments: argparse.Namespace) -> int:
    """Write the sound of the bake of the open file, or its contact events; returns the exit status. Raises UsageError."""
    from ...solver_core.io.cache import CacheError
    from ...solver_core.io.container import ContainerError
    from ..output.sound import write_scene_sound

    scene_with_bake(arguments)
    try:
        written = write_scene_sound(bpy.context, Path(arguments.output[0]))
    except (CacheError, ContainerError) as error:
        raise UsageError(str(error)) from error
    for body, why in written.without_modes.items():
        say("WARNING", f"{body} only clicks and does not ring: {why}")
    say("INFO", f"wrote {written.events} hits and scrapes to {arguments.output[0]}")
    return ExitStatus.DONE


class Command:
    """Registers `run` with Blender and keeps the handle that Blender requires."""

    handle: Any = None


def register() -> None:
    """Add the command to Blender's."""
    Command.handle = bpy.utils.register_cli_command(PROGRAM, run)


def unregister() -> None:
    """Undo `register`."""
    bpy.utils.unregister_cli_command(Command.handle)
    Command.handle = None
