# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `stiction bake`, `sweep`, `job`, `check`, `report`, `impacts`, `export`, `solve` and `compile` on their
own, and with the same arguments after `blender -b FILE --command`."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import bpy
from bpy.types import Scene

from ...solver_core.interchange.files import GLTF, USD, USD_PACKED
from ...solver_core.io.outputs import REPORT, write_output
from ...solver_core.process.command_line import ExitStatus, UsageError, status_of
from ...solver_core.process.console import one_line, prepare_streams, tell
from ...solver_core.scene.spec import SceneWarning
from ...solver_core.scene.words import duration, in_words
from ...solver_core.threads.count import MOST_ASKED
from ...solver_core.validation.findings import first_few
from ..bake.bake_files import cache_path, snapshot_of
from ..bake.job import Job, Phase
from .changes import set_body, set_checked, set_scene, warnings_of
from .options import PROGRAM, capture_wanted, keys_wanted, make_parser
from .outputs import refuse_blend, refuse_outputs, standard_output_kept, why_not_saved

if TYPE_CHECKING:
    from ..bake.runner import Bake

__all__ = ["register", "run", "unregister"]

SECONDS_BETWEEN_LOOKS = 0.25
# Commands that change nothing of the open file.
AS_IT_IS = ("report", "impacts", "export", "job")


def run(argv: Sequence[str]) -> int:
    """Do what the arguments (without the program's name) say; returns the exit status."""
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
                # such as a name that is too long for a file
                raise UsageError(str(error)) from error
            commands = {"bake": bake, "check": check, "report": report, "impacts": impacts}
            commands |= {"sweep": sweep, "job": job, "export": export}
            return commands[arguments.command](arguments)
    except UsageError as error:
        tell(f"{PROGRAM}: {error}", sys.stderr)
        return ExitStatus.BAD_INPUT
    except OSError as error:
        say("ERROR", str(error))
        return status_of(error)
    except SystemExit:
        # argparse ends like this after --help.
        return ExitStatus.BAKED


def compile_kernels(arguments: argparse.Namespace) -> int:
    """Compile everything into a folder, in other processes; returns the exit status."""
    more = [] if arguments.processes is None else ["--processes", str(arguments.processes)]
    return run_module("solver_core.compile_all", arguments.folder, *more)


def sweep(arguments: argparse.Namespace) -> int:
    """Read the open file, and bake variations of it in other processes; returns the exit status."""
    from ...solver_core.io.snapshot import write_snapshot
    from ...solver_core.sweep.options import as_arguments
    from ...solver_core.validation.findings import SceneError
    from ..bake.runner import describe
    from ..bake.worker import WorkerError
    from ..blender.cooperative import at_once
    from ..farms.sweep import MODULE, LibraryMissing, refuse_missing_library, sweep_environment
    from ..read.extract import extracting

    try:
        refuse_missing_library()
        extraction = at_once(extracting(bpy.context))
    except (LibraryMissing, WorkerError) as error:
        say("ERROR", str(error))
        return ExitStatus.BAD_INPUT if isinstance(error, LibraryMissing) else ExitStatus.FAILED
    except SceneError as error:
        say("ERROR", describe(error.problems))
        return ExitStatus.BAD_INPUT
    for warning in extraction.warnings:
        say("WARNING", f"{first_few(warning.objects)}: {in_words(warning.field)}: {warning.message}")
    with TemporaryDirectory(prefix="stiction-") as folder:
        snapshot = Path(folder, "scene.snapshot")
        write_snapshot(snapshot, extraction.spec, extraction.settings)
        given = [str(snapshot), str(Path(arguments.output).resolve()), *as_arguments(arguments)]
        return run_module(MODULE, *given, environment=sweep_environment)


def job(arguments: argparse.Namespace) -> int:
    """Write a job for a farm; returns the exit status. Raises UsageError."""
    from ..farms.written import FARMS, job_of, surprises_of, write_job

    if not 0 <= arguments.threads <= MOST_ASKED:
        raise UsageError(f"--threads: {arguments.threads} is not between 0, for one a processor, and {MOST_ASKED}")
    for sentence in surprises_of(bpy.context.scene):
        say("WARNING", sentence)
    wanted = {name: getattr(arguments, name) for name in ("baked", "threads", "kernels", "blender")}
    write_job(FARMS[arguments.farm], job_of(bpy.context.scene, **wanted), Path(arguments.output))
    say("INFO", f"wrote {arguments.output}")
    return ExitStatus.BAKED


def run_module(name: str, *arguments: str, environment: Callable[[], dict[str, str]] | None = None) -> int:
    """Run a module of the solver as a process that ends with this one; returns its exit status. environment: the worker's
    without it."""
    from ..bake.worker import WorkerError, find_python, worker_environment

    try:
        command = [find_python(), "-s", "-P", "-m", name, *arguments, "--parent-pipe"]
        found = (environment or worker_environment)()
    except WorkerError as error:
        say("ERROR", str(error))
        return ExitStatus.FAILED
    with ended_by_signals() as check:
        # it hears signals from a terminal as we do, and others through its standard input
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=found)
        assert process.stdin is not None
        while process.poll() is None:
            try:
                check()
                process.wait(SECONDS_BETWEEN_LOOKS)
            except subprocess.TimeoutExpired:
                continue
            except KeyboardInterrupt:
                process.stdin.close()
                process.wait()
    return process.returncode


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
            raise UsageError(f"{arguments.scene}: there is no such file")
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
    from ..interchange.transfer import take_in

    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    try:
        _, found = take_in(bpy.context, file)
    except SceneError as error:
        raise UsageError(str(error)) from error
    own = bpy.context.scene.stiction
    own.cache_directory = str(file.parent / own.cache_directory.removeprefix("//"))
    say_warnings(found.warnings)


def say_warnings(warnings: Sequence[SceneWarning]) -> None:
    from ...solver_core.interchange.described import together

    for warning in together(warnings):
        say("WARNING", one_line(f"{first_few(warning.objects)}: {warning.field}: {warning.message}"))


def export(arguments: argparse.Namespace) -> int:
    """Write the open scene for other tools; returns the exit status. Raises UsageError."""
    from ...solver_core.validation.findings import SceneError
    from ..interchange.transfer import give_out

    try:
        found = give_out(bpy.context, Path(arguments.output[0]).resolve(), instances=arguments.instances)
    except SceneError as error:
        raise UsageError(str(error)) from error
    say_warnings(found.warnings)
    say("INFO", f"wrote {arguments.output[0]}")
    return ExitStatus.BAKED


def check(arguments: argparse.Namespace) -> int:
    """Say what would go wrong in a bake of the open file; returns the exit status."""
    from ..bake.findings import LEVELS, Contacts, look
    from ..bake.worker import WorkerError

    found = look(bpy.context)
    findings = found.findings
    if found.sound is not None:
        try:
            contacts = Contacts(found.sound)
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
    say("INFO", f"{len(findings)} found" if findings else "nothing was found")
    if arguments.report is not None:
        entries = [asdict(finding) for finding in findings]
        write_output(arguments.report, REPORT, (json.dumps({"findings": entries}, indent=1) + "\n").encode())
    return ExitStatus.BAD_INPUT if any(finding.level == "ERROR" for finding in findings) else ExitStatus.BAKED


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
    return ExitStatus.MISSED_TOLERANCE if missed else ExitStatus.BAKED


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
    return ExitStatus.BAKED


def bake(arguments: argparse.Namespace) -> int:
    """Bake the open file to keyframes and write the output; returns the exit status."""
    # Only a bake needs what these load, scipy above all; Blender starts faster without.
    from ...solver_core.io.cache import CacheError
    from ..output.keyframes import commit

    report = None if arguments.report is None else Path(arguments.report).resolve()
    with ended_by_signals() as check:
        work = begun(arguments, report)
        if isinstance(work, ExitStatus):
            return work
        try:
            job = work.run(progress_since(time.monotonic()), check)
        except KeyboardInterrupt:
            say("ERROR", f"stopped{in_the_cache(work.kept)}")
            return ExitStatus.FAILED
    if job.phase not in (Phase.BAKED, Phase.MISSED):
        ends = {Phase.REFUSED: ExitStatus.BAD_INPUT, Phase.LOST: ExitStatus.CACHE_LOST}
        return ends.get(job.phase, ExitStatus.FAILED)
    output = Path(arguments.output).resolve()
    try:
        written = commit(bpy.context, keys_wanted(arguments))
        # hours may have gone by
        refuse_blend(arguments.output)
        bpy.ops.wm.save_as_mainfile(filepath=str(output), check_existing=False)
    except (OSError, CacheError, RuntimeError, UsageError) as error:
        say("ERROR", f"{arguments.output} cannot be written: {why_not_saved(output, error)}{in_the_cache(work.kept)}")
        return ExitStatus.FAILED
    say("INFO", f"{written}, to {arguments.output}")
    try:
        add_warnings(report, work.extraction_warnings)
    except OSError as error:
        say("ERROR", f"the report could not be written: {error}")
        return ExitStatus.FAILED
    is_accepted = arguments.accept_missed or job.phase is Phase.BAKED
    return ExitStatus.BAKED if is_accepted else ExitStatus.MISSED_TOLERANCE


def begun(arguments: argparse.Namespace, report: Path | None) -> Bake | ExitStatus:
    """The bake of the open file, which runs; or the exit status, with what is in its way said and reported."""
    from ...solver_core.io.cache import CacheError
    from ...solver_core.validation.findings import SceneError
    from ..bake.runner import begin, describe
    from ..bake.worker import WorkerError
    from ..blender.cooperative import at_once

    try:
        how = {"resume": arguments.resume, "keep_to": arguments.keep_to, "capture": capture_wanted(arguments)}
        return at_once(begin(bpy.context, say, report=report, **how))
    except SceneError as error:
        say("ERROR", describe(error.problems))
        write_refusal(report, describe(error.problems), error.problems)
        return ExitStatus.BAD_INPUT
    except (WorkerError, CacheError, OSError) as error:
        say("ERROR", f"the bake cannot begin: {error}")
        write_refusal(report, str(error), ())
        if isinstance(error, OSError):
            return status_of(error)
        return ExitStatus.BAD_INPUT if isinstance(error, CacheError) else ExitStatus.FAILED


def in_the_cache(kept: int | None) -> str:
    return "" if kept is None else f"; frames up to {kept} are in the cache, --resume continues after them"


@contextmanager
def ended_by_signals() -> Iterator[Callable[[], None]]:
    """Let SIGINT (Ctrl+C), SIGTERM and CTRL_BREAK end the bake: what is yielded raises KeyboardInterrupt once one has come.

    Blender itself has other handlers, or none. An exception out of the handler could come up while Blender is at work, which
    has crashed it.
    """
    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    asked = threading.Event()

    def check() -> None:
        if asked.is_set():
            raise KeyboardInterrupt

    before = {number: signal.signal(number, lambda *_: asked.set()) for number in numbers}
    try:
        yield check
    finally:
        for number, handler in before.items():
            # None is one that Python does not know, and cannot bring back
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def say(level: str, text: str) -> None:
    prefix = {"WARNING": "warning: ", "ERROR": "error: "}.get(level, "")
    tell(f"{PROGRAM}: {prefix}{text}", sys.stderr if level == "ERROR" else sys.stdout)


def progress_since(begin: float) -> Callable[[Job], None]:
    """What tells how far a job is that began then, by the clock, with the time that it took and the time that is left."""

    def tell_progress(job: Job) -> None:
        if not job.is_over:
            pace, last = job.progress.seconds_a_frame, job.last_frame
            left = "" if pace is None or last is None else f", about {duration(pace * (job.frame_end - last))} left"
            so_far = duration(time.monotonic() - begin)
            tell(f"{PROGRAM}: {100.0 * job.factor:3.0f} %  {job.status}, {so_far}{left}", sys.stdout)

    return tell_progress


def write_refusal(report: Path | None, message: str, problems: Sequence[Any]) -> None:
    if report is None:
        return
    from ...solver_core.bake.report import error_report, report_bytes

    try:
        write_output(report, REPORT, report_bytes(error_report(message, problems)))
    except OSError as error:
        say("ERROR", f"the report could not be written: {error}")


def add_warnings(report: Path | None, warnings: Sequence[Any]) -> None:
    """Put what was odd in the Blender scene before what the worker found; raises OSError."""
    if report is None or not warnings:
        return
    from ...solver_core.bake.report import report_bytes

    content = json.loads(report.read_text(encoding="utf-8"))
    mine = [{"objects": list(w.objects), "field": w.field, "message": w.message} for w in warnings]
    write_output(report, REPORT, report_bytes({**content, "warnings": mine + content["warnings"]}))


class Command:
    """Registers `run` with Blender and keeps the handle that Blender wants back."""

    handle: Any = None


def register() -> None:
    """Add the command to Blender's."""
    Command.handle = bpy.utils.register_cli_command(PROGRAM, run)


def unregister() -> None:
    """Take it away."""
    bpy.utils.unregister_cli_command(Command.handle)
    Command.handle = None
