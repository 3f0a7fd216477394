# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `stiction bake`, `check`, `report`, `impacts` and `compile` on their own, and with the same arguments after
`blender -b FILE --command`."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bpy
from bpy.types import Object, Scene

from ..solver_core.command_line import ExitStatus, Parser, UsageError
from ..solver_core.scene.spec import ContactMethod, Staggering
from .bake_files import cache_path
from .channel_tracks import Keys, Tolerance
from .job import Job, Phase
from .properties import effective_frame_range

__all__ = ["register", "run", "unregister"]

PROGRAM = "stiction"
SECONDS_BETWEEN_LOOKS = 0.25


def run(argv: Sequence[str]) -> int:
    """Do what the arguments (without the program's name) say; returns the exit status."""
    try:
        arguments = make_parser().parse_args(list(argv))
        if arguments.command == "compile":
            return compile_kernels(arguments)
        prepare(arguments)
        if arguments.command == "check":
            return check(arguments)
        if arguments.command == "report":
            return report(arguments)
        if arguments.command == "impacts":
            return impacts(arguments)
    except UsageError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return ExitStatus.BAD_INPUT
    except SystemExit:
        # argparse ends like this after --help.
        return ExitStatus.BAKED
    return bake(arguments)


def make_parser() -> Parser:
    parser = Parser(prog=PROGRAM, description="Bakes rigid bodies with friction that is solved.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    compile_command = commands.add_parser(
        "compile",
        help="compile all that bakes need",
        description="Compiles all that bakes need into a folder. Bakes with NUMBA_CACHE_DIR set to it, or to a copy of it on "
        "another machine of the same kind, compile nothing.",
    )
    compile_command.add_argument("folder", metavar="FOLDER", help="the folder; what is there already stays")
    compile_command.add_argument("--processes", type=int, metavar="N", help="how many processes compile at once")
    command = commands.add_parser(
        "bake", help="bake a scene to keyframes", description="Bakes the rigid bodies of a .blend file to keyframes."
    )
    command.add_argument(
        "-o", "--output", required=True, metavar="BAKED.blend", help="the file to write, the same one if you want"
    )
    add_scene_options(command)
    begin = command.add_mutually_exclusive_group()
    begin.add_argument("--resume", action="store_true", help="go on after the last good frame of the cache")
    begin.add_argument(
        "--keep-to",
        type=int,
        metavar="FRAME",
        help="keep the frames of the bake that the file has up to this one, and bake those after it as everything is now",
    )
    command.add_argument("--contacts", action="store_true", help="keep the contacts of every frame in the cache, to look at")
    command.add_argument("--report", metavar="FILE.json", help="write a JSON report of every frame")
    add_key_options(command)
    check_command = commands.add_parser(
        "check",
        help="say what would go wrong in a bake",
        description="Says what would go wrong in a bake of a .blend file, or surprise, before it is baked; changes nothing. "
        "Ends with 2 when it cannot be baked.",
    )
    add_scene_options(check_command)
    check_command.add_argument("--report", metavar="FILE.json", help="write what was found as JSON")
    report_command = commands.add_parser(
        "report",
        help="say how accurate a bake is",
        description="Writes how accurate the bake is that a .blend file has, frame by frame, as a page, a table or JSON: by "
        "what the names of the files end with. Ends with 3 when a step missed its tolerance.",
    )
    report_command.add_argument("scene", nargs="?", metavar="SCENE.blend", help="the file; the open one when left out")
    report_command.add_argument(
        "-o", "--output", required=True, action="append", metavar="FILE", help="a name that ends with .html, .csv or .json"
    )
    impacts_command = commands.add_parser(
        "impacts",
        help="write the impacts of a bake",
        description="Writes time, place, impulse, bodies and materials of the impacts of the bake that a .blend file has, as a "
        "table. The bake has to have kept its contacts.",
    )
    impacts_command.add_argument("scene", nargs="?", metavar="SCENE.blend", help="the file; the open one when left out")
    impacts_command.add_argument("-o", "--output", required=True, nargs=1, metavar="FILE.csv", help="the file to write")
    return parser


def add_scene_options(command: Parser) -> None:
    """Which file a command is about, and what is different from what it says."""
    command.add_argument("scene", nargs="?", metavar="SCENE.blend", help="the file; the open one when left out")
    command.add_argument("--start", type=int, metavar="FRAME", help="first frame")
    command.add_argument("--end", type=int, metavar="FRAME", help="last frame")
    command.add_argument("--method", choices=[method.value for method in ContactMethod], help="the solver")
    command.add_argument("--tolerance", type=float, help="relative error that every step has to reach")
    command.add_argument(
        "--crowd-tolerance", type=float, metavar="TOLERANCE", help="relative error that is enough for heaps that tumble"
    )
    command.add_argument("--max-iterations", type=int, metavar="N", help="iterations a step may take")
    command.add_argument(
        "--staggering", choices=[variant.value for variant in Staggering], help="how the staggered solver goes about it"
    )
    command.add_argument(
        "--step-time-limit", type=float, metavar="SECONDS", help="time a step may take; 0 for as long as it needs"
    )
    command.add_argument(
        "--recovery-speed", type=float, metavar="SPEED", help="at which overlaps are undone, in half sizes of the body a second"
    )
    command.add_argument("--substeps", type=int, metavar="N", help="time steps a frame")
    command.add_argument(
        "--step-accuracy", type=float, metavar="METRES", help="that steps may lose when several are taken as one; 0 for never"
    )
    command.add_argument("--cache", metavar="DIR", help="folder for the baked frames")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OBJECT:FIELD=VALUE",
        dest="assignments",
        help=f"change a body before the bake; FIELD is one of {', '.join(FIELDS)}; can be given more than once",
    )


def add_key_options(command: Parser) -> None:
    """Which keyframes are written."""
    which = command.add_mutually_exclusive_group()
    which.add_argument("--keys-step", type=int, default=1, metavar="N", help="a key at every so many frames, and at the last")
    which.add_argument(
        "--keys-within",
        type=float,
        nargs=2,
        metavar=("MM", "DEGREES"),
        help="only so many keys that every body stays so near to where it was baked, at every frame",
    )
    command.add_argument("--keys-a-frame", type=int, default=1, metavar="N", help="keys between frames too, for motion blur")
    command.add_argument("--nla", action="store_true", help="write the keys into NLA strips, and leave the actions free")


def keys_wanted(arguments: argparse.Namespace) -> Keys:
    """What the arguments say of keyframes. Raises UsageError."""
    for option in ("keys_step", "keys_a_frame"):
        if getattr(arguments, option) < 1:
            raise UsageError(f"--{option.replace('_', '-')}: {getattr(arguments, option)} is less than 1")
    if arguments.keys_step > 1 and arguments.keys_a_frame > 1:
        raise UsageError("--keys-step and --keys-a-frame exclude each other")
    tolerance = None
    if arguments.keys_within is not None:
        millimetres, degrees = arguments.keys_within
        if not (0.0 < millimetres < math.inf and 0.0 < degrees < math.inf):
            raise UsageError(f"--keys-within: {millimetres:g} mm and {degrees:g} degrees have to be more than 0, and finite")
        tolerance = Tolerance(1e-3 * millimetres, math.radians(degrees))
    return Keys(arguments.keys_step, arguments.keys_a_frame, tolerance, arguments.nla)


def compile_kernels(arguments: argparse.Namespace) -> int:
    """Compile everything into a folder, in other processes; returns the exit status."""
    from .worker import WorkerError, find_python, worker_environment

    more = [] if arguments.processes is None else ["--processes", str(arguments.processes)]
    try:
        command = [find_python(), "-s", "-P", "-m", "solver_core.compile_all", arguments.folder, *more]
        environment = worker_environment()
    except WorkerError as error:
        say("ERROR", str(error))
        return ExitStatus.FAILED
    with ended_by_signals() as check:
        # it hears signals from a terminal as we do, and others through its standard input
        process = subprocess.Popen([*command, "--parent-pipe"], stdin=subprocess.PIPE, env=environment)
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
    open_scene(arguments)
    if arguments.command in ("report", "impacts"):
        for file in arguments.output:
            check_folder("--output", file)
        return
    if arguments.command == "bake":
        check_folder("--output", arguments.output)
        keys_wanted(arguments)
        if arguments.contacts:
            bpy.context.scene.stiction.keep_contacts = True
    if arguments.report is not None:
        check_folder("--report", arguments.report)
    set_scene(bpy.context.scene, arguments)
    for assignment in arguments.assignments:
        set_body(assignment)


def open_scene(arguments: argparse.Namespace) -> None:
    if arguments.scene is not None:
        file = Path(arguments.scene).resolve()
        if not file.is_file():
            raise UsageError(f"{arguments.scene}: there is no such file")
        try:
            bpy.ops.wm.open_mainfile(filepath=str(file), load_ui=False)
        except RuntimeError as error:
            raise UsageError(f"{arguments.scene}: cannot be opened: {str(error).strip()}") from error
    elif not bpy.data.filepath:
        raise UsageError("no .blend file was given and none is open")


def check_folder(option: str, file: str) -> None:
    """Raise UsageError if the file cannot be written, before the bake has taken its time."""
    folder = Path(file).resolve().parent
    if not folder.is_dir():
        raise UsageError(f"{option}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option}: the folder {folder} cannot be written to")


def set_scene(scene: Scene, arguments: argparse.Namespace) -> None:
    own = scene.stiction
    if arguments.start is not None or arguments.end is not None:
        if scene.rigidbody_world is not None:
            own.frame_start, own.frame_end = effective_frame_range(scene)
        own.use_frame_range = True
        for name, argument in (("frame_start", "start"), ("frame_end", "end")):
            set_checked(own, name, getattr(arguments, argument), f"--{argument}")
    if arguments.method is not None:
        own.method = ContactMethod(arguments.method).name
    set_checked(own, "tolerance", arguments.tolerance, "--tolerance")
    set_checked(own, "crowd_tolerance", arguments.crowd_tolerance, "--crowd-tolerance")
    set_checked(own, "max_iterations", arguments.max_iterations, "--max-iterations")
    if arguments.staggering is not None:
        own.staggering = Staggering(arguments.staggering).name
    set_checked(own, "step_time_limit", arguments.step_time_limit, "--step-time-limit")
    set_checked(own, "recovery_speed", arguments.recovery_speed, "--recovery-speed")
    if arguments.substeps is not None:
        own.use_substeps = True
        set_checked(own, "substeps", arguments.substeps, "--substeps")
    set_checked(own, "step_accuracy", arguments.step_accuracy, "--step-accuracy")
    if arguments.cache is not None:
        own.cache_directory = str(Path(arguments.cache).resolve())


def set_checked(owner: Any, name: str, value: float | None, label: str) -> None:
    """Set a property, or leave it without a value; Blender alone would clamp a wrong one in silence. Raises UsageError."""
    if value is None:
        return
    limits = owner.bl_rna.properties[name]
    # The limits are in single precision, as the property is.
    low, high = limits.hard_min, limits.hard_max
    if not (math.isfinite(value) and low <= value <= high):
        raise UsageError(f"{label}: {value} is not between {low:.6g} and {high:.6g}")
    setattr(owner, name, value)


def set_friction(ob: Object, value: float, label: str) -> None:
    set_own("mu_static")(ob, value, label)
    set_own("mu_dynamic")(ob, value, label)


def set_own(name: str) -> Callable[[Object, float, str], None]:
    def assign(ob: Object, value: float, label: str) -> None:
        set_checked(ob.stiction, name, value, label)
        setattr(ob.stiction, f"use_{name}", True)

    return assign


def set_mass(ob: Object, value: float, label: str) -> None:
    set_checked(ob.rigid_body, "mass", value, label)
    ob.stiction.mass_source = "MASS"


def set_density(ob: Object, value: float, label: str) -> None:
    set_checked(ob.stiction, "density", value, label)
    ob.stiction.mass_source = "DENSITY"


def set_blender(name: str) -> Callable[[Object, float, str], None]:
    return lambda ob, value, label: set_checked(ob.rigid_body, name, value, label)


FIELDS: dict[str, Callable[[Object, float, str], None]] = {
    "friction": set_friction,
    "mu_static": set_own("mu_static"),
    "mu_dynamic": set_own("mu_dynamic"),
    "restitution": set_own("restitution"),
    "mass": set_mass,
    "density": set_density,
    "linear_damping": set_blender("linear_damping"),
    "angular_damping": set_blender("angular_damping"),
}


def set_body(assignment: str) -> None:
    """Do OBJECT:FIELD=VALUE; an object's name may hold colons and equals signs itself. Raises UsageError."""
    label = f"--set {assignment!r}"
    match = re.fullmatch(r"(?P<object>.+):(?P<field>[^:=]+)=(?P<value>[^=]*)", assignment)
    if match is None:
        raise UsageError(f"{label}: must look like OBJECT:FIELD=VALUE")
    ob = bpy.context.scene.objects.get(match["object"])
    if ob is None:
        raise UsageError(f"{label}: the scene has no object {match['object']!r}")
    if ob.rigid_body is None:
        raise UsageError(f"{label}: the object {match['object']!r} has no rigid body")
    if match["field"] not in FIELDS:
        raise UsageError(f"{label}: there is no field {match['field']!r}; the fields are {', '.join(FIELDS)}")
    try:
        value = float(match["value"])
    except ValueError:
        raise UsageError(f"{label}: {match['value']!r} is not a number") from None
    FIELDS[match["field"]](ob, value, label)


def check(arguments: argparse.Namespace) -> int:
    """Say what would go wrong in a bake of the open file; returns the exit status."""
    from .findings import Contacts, look
    from .worker import WorkerError

    found = look(bpy.context)
    findings = found.findings
    if found.extraction is not None:
        try:
            contacts = Contacts(found.extraction)
        except (WorkerError, OSError) as error:
            say("ERROR", f"contacts cannot be looked for: {error}")
            return ExitStatus.FAILED
        try:
            findings += contacts.findings()
        finally:
            contacts.end()
    for finding in findings:
        say(finding.level, str(finding))
    say("INFO", f"{len(findings)} found" if findings else "nothing was found")
    if arguments.report is not None:
        entries = [asdict(finding) for finding in findings]
        Path(arguments.report).write_text(json.dumps({"findings": entries}, indent=1) + "\n", encoding="utf-8")
    return ExitStatus.BAD_INPUT if any(finding.level == "ERROR" for finding in findings) else ExitStatus.BAKED


def report(arguments: argparse.Namespace) -> int:
    """Write how accurate the bake of the open file is; returns the exit status. Raises UsageError."""
    from ..solver_core.io.cache import CacheError
    from ..solver_core.io.container import ContainerError
    from .statistics import export

    scene = scene_with_bake(arguments)
    missed = 0
    try:
        for file in arguments.output:
            missed = export(scene, Path(file).resolve())
            say("INFO", f"wrote {file}")
    except (OSError, CacheError, ContainerError) as error:
        raise UsageError(str(error)) from error
    return ExitStatus.MISSED_TOLERANCE if missed else ExitStatus.BAKED


def scene_with_bake(arguments: argparse.Namespace) -> Scene:
    scene = bpy.context.scene
    if scene.stiction.bake.state == "NONE":
        raise UsageError(f"{arguments.scene or bpy.data.filepath}: the scene {scene.name} has no bake")
    return scene


def impacts(arguments: argparse.Namespace) -> int:
    """Write the impacts of the bake of the open file; returns the exit status. Raises UsageError."""
    from ..solver_core.impacts import write_impacts
    from ..solver_core.io.cache import CacheError
    from ..solver_core.io.container import ContainerError

    cache = Path(cache_path(scene_with_bake(arguments)))
    try:
        count = write_impacts(cache.with_suffix(".snapshot"), cache, Path(arguments.output[0]).resolve())
    except (OSError, CacheError, ContainerError) as error:
        raise UsageError(str(error)) from error
    say("INFO", f"wrote {count} impacts to {arguments.output[0]}")
    return ExitStatus.BAKED


def bake(arguments: argparse.Namespace) -> int:
    """Bake the open file to keyframes and write the output; returns the exit status."""
    # Only a bake needs what these load, scipy above all; Blender starts faster without.
    from ..solver_core.io.cache import CacheError
    from ..solver_core.validation.findings import SceneError
    from .keyframes import commit
    from .runner import Bake, describe
    from .worker import WorkerError

    report = None if arguments.report is None else Path(arguments.report).resolve()
    with ended_by_signals() as check:
        try:
            try:
                work = Bake(bpy.context, say, resume=arguments.resume, keep_to=arguments.keep_to, report=report)
            except SceneError as error:
                say("ERROR", describe(error.problems))
                write_refusal(report, describe(error.problems), error.problems)
                return ExitStatus.BAD_INPUT
            except (WorkerError, CacheError, OSError) as error:
                say("ERROR", f"the bake cannot begin: {error}")
                write_refusal(report, str(error), ())
                return ExitStatus.BAD_INPUT if isinstance(error, CacheError) else ExitStatus.FAILED
            job = work.run(print_progress, check)
        except KeyboardInterrupt:
            say("ERROR", "stopped; the frames that were done are in the cache, --resume goes on after them")
            return ExitStatus.FAILED
    if job.phase is Phase.REFUSED:
        return ExitStatus.BAD_INPUT
    if job.phase not in (Phase.BAKED, Phase.MISSED):
        return ExitStatus.FAILED
    try:
        written = commit(bpy.context, keys_wanted(arguments))
        bpy.ops.wm.save_as_mainfile(filepath=str(Path(arguments.output).resolve()), check_existing=False)
    except (OSError, CacheError, RuntimeError) as error:
        say("ERROR", f"{arguments.output} cannot be written: {str(error).strip()}")
        return ExitStatus.FAILED
    say("INFO", f"{written}, to {arguments.output}")
    try:
        add_warnings(report, work.extraction_warnings)
    except OSError as error:
        say("ERROR", f"the report could not be written: {error}")
        return ExitStatus.FAILED
    return ExitStatus.MISSED_TOLERANCE if job.phase is Phase.MISSED else ExitStatus.BAKED


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
    print(f"{PROGRAM}: {prefix}{text}", file=sys.stderr if level == "ERROR" else sys.stdout, flush=True)


def print_progress(job: Job) -> None:
    if not job.is_over:
        print(f"{PROGRAM}: {100.0 * job.factor:3.0f} %  {job.status}", flush=True)


def write_refusal(report: Path | None, message: str, problems: Sequence[Any]) -> None:
    if report is None:
        return
    from ..solver_core.io.atomic import write_atomically
    from ..solver_core.report import error_report, report_bytes

    try:
        write_atomically(report, report_bytes(error_report(message, problems)))
    except OSError as error:
        say("ERROR", f"the report could not be written: {error}")


def add_warnings(report: Path | None, warnings: Sequence[Any]) -> None:
    """Put what was odd in the Blender scene before what the worker found; raises OSError."""
    if report is None or not warnings:
        return
    from ..solver_core.io.atomic import write_atomically
    from ..solver_core.report import report_bytes

    content = json.loads(report.read_text(encoding="utf-8"))
    mine = [{"objects": list(w.objects), "field": w.field, "message": w.message} for w in warnings]
    write_atomically(report, report_bytes({**content, "warnings": mine + content["warnings"]}))


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
