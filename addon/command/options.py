# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the command line. Does not load bpy, so that help and usage errors need none."""

from __future__ import annotations

import argparse
import math
import os
import tomllib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...solver_core.bake.capture_steps import CAPTURE_FORMATS, steps_named
from ...solver_core.process.command_line import Parser, UsageError
from ...solver_core.scene.spec import ContactMethod, Staggering
from ...solver_core.solve_file import add_arguments
from ...solver_core.sweep.options import add_sweep_options
from ..farms.kinds import FARMS

if TYPE_CHECKING:
    from ..output.channel_tracks import Keys

__all__ = ["FIELDS", "PROGRAM", "capture_wanted", "keys_wanted", "make_parser"]

PROGRAM = "stiction"
# Fields of a body that `--set` can change, by `changes.SETTERS`.
FIELDS = (
    *("friction", "mu_static", "mu_dynamic", "restitution", "mass", "density", "young"),
    *("linear_damping", "angular_damping"),
)


def make_parser() -> Parser:
    """Return the parser of all commands. The parsed arguments have the attributes that the commands read."""
    parser = Parser(prog=PROGRAM, description="Bakes rigid bodies with exact friction.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    compile_command = commands.add_parser(
        "compile",
        help="compile all kernels of bakes",
        description="Compiles all kernels of bakes into a folder. Bakes with NUMBA_CACHE_DIR set to it, or to a copy of it on "
        "another machine of the same kind, compile nothing.",
    )
    compile_command.add_argument("folder", metavar="FOLDER", help="the folder; existing kernels stay")
    compile_command.add_argument("--processes", type=int, metavar="N", help="number of processes that compile at once")
    command = commands.add_parser(
        "bake", help="bake a scene to keyframes", description="Bakes the rigid bodies of a .blend file to keyframes."
    )
    command.add_argument(
        "-o", "--output", required=True, metavar="BAKED.blend", help="the file to write, which may be the same file"
    )
    add_scene_options(command)
    add_cache_option(command)
    begin = command.add_mutually_exclusive_group()
    begin.add_argument("--resume", action="store_true", help="continue after the last good frame of the cache")
    begin.add_argument(
        "--keep-to",
        type=int,
        metavar="FRAME",
        help="keep the frames of the existing bake up to this one, and bake the others with the present scene",
    )
    command.add_argument("--threads", type=int, metavar="N", help="threads for islands and piles, 0 for one per processor")
    command.add_argument("--contacts", action="store_true", help="keep the contacts of every frame in the cache")
    command.add_argument("--report", metavar="FILE.json", help="write a JSON report of every frame")
    command.add_argument(
        "--accept-unconverged",
        action="store_true",
        help="exit with 0, not 3, if the bake is complete but steps did not converge",
    )
    command.add_argument("--capture", metavar="DIR", help="write the contact problems of some time steps as files")
    command.add_argument(
        "--capture-steps", metavar="FIRST:LAST", default="0:9", help="time steps to capture, counted from 0 (%(default)s)"
    )
    command.add_argument("--capture-format", choices=CAPTURE_FORMATS, default="npz", help="format of the files (%(default)s)")
    add_key_options(command)
    check_command = commands.add_parser(
        "check",
        help="list problems of a scene before it is baked",
        description="Lists problems and warnings of a .blend file before it is baked; changes nothing. "
        "Exits with 2 if it cannot be baked.",
    )
    add_scene_options(check_command)
    add_cache_option(check_command)
    check_command.add_argument("--report", metavar="FILE.json", help="write the findings as JSON")
    sweep_command = commands.add_parser(
        "sweep",
        help="bake variations of a scene, and compare them",
        description="Bakes every combination of values of a .blend file's rigid bodies, several at once, and writes a sheet "
        "with the bodies that stand and that fell.",
    )
    add_scene_options(sweep_command)
    add_sweep_options(sweep_command)
    sweep_command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="DIR",
        help="folder for the bakes and the sheet; existing bakes in it are continued",
    )
    add_job_command(commands)
    add_settle_command(commands)
    report_command = commands.add_parser(
        "report",
        help="report the accuracy of a bake",
        description="Writes the accuracy of the bake of a .blend file, frame by frame, as a page, a table or JSON, by "
        "file extension. Exits with 3 if a step did not converge.",
    )
    add_scene(report_command)
    report_command.add_argument(
        "-o", "--output", required=True, action="append", metavar="FILE", help="a name that ends with .html, .csv or .json"
    )
    impacts_command = commands.add_parser(
        "impacts",
        help="write the impacts of a bake",
        description="Writes time, place, impulse, bodies and materials of the impacts of a .blend file's bake as a "
        "table. Needs a bake with contacts kept.",
    )
    add_scene(impacts_command)
    impacts_command.add_argument("-o", "--output", required=True, nargs=1, metavar="FILE.csv", help="the file to write")
    sound_command = commands.add_parser(
        "sound",
        help="write the sound of a bake",
        description="Writes what the bake of a .blend file sounds like, or a table of its hits and scrapes, by file extension. "
        "Needs a bake with contacts kept.",
    )
    add_scene(sound_command)
    sound_command.add_argument(
        "-o", "--output", required=True, nargs=1, metavar="FILE", help="a name that ends with .wav or .csv"
    )
    solve_command = commands.add_parser(
        "solve",
        help="solve a contact problem in a file",
        description="Solves a contact problem that a bake captured (--capture), or another program wrote, and says how well. "
        "Exits with 3 if it is not solved within the tolerance.",
    )
    add_arguments(solve_command)
    export_command = commands.add_parser(
        "export",
        help="write the scene for other tools",
        description="Writes the rigid bodies of a file, their joints and the motion of their bake as USD with the physics "
        "schema, or as glTF with KHR_physics_rigid_bodies, by file extension.",
    )
    add_scene(export_command)
    export_command.add_argument(
        "-o", "--output", required=True, nargs=1, metavar="FILE", help="a name that ends with .usd, .usda, .usdc, .gltf or .glb"
    )
    export_command.add_argument("--instances", action="store_true", help="in USD, write equal bodies as point instancers")
    return parser


def add_job_command(commands: Any) -> None:
    """Add the command that writes jobs for render farms."""
    command = commands.add_parser(
        "job",
        help="write a job for a render farm",
        description="Writes a job that bakes a .blend file on one machine of a farm and renders it by frames on all of them.",
    )
    add_scene(command)
    command.add_argument("--farm", required=True, choices=FARMS, help="render farm that runs the job")
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    command.add_argument("--baked", metavar="BAKED.blend", help="the file with keyframes (default: SCENE_baked.blend)")
    command.add_argument("--kernels", metavar="FOLDER", help="folder of `stiction compile`, which all machines can read")
    command.add_argument("--blender", default="blender", metavar="PROGRAM", help="Blender on the farm (%(default)s)")
    command.add_argument(
        "--threads", type=int, default=0, metavar="N", help="threads of the bake, 0 (the default) for one per processor"
    )


def add_settle_command(commands: Any) -> None:
    """Add the command that drops objects until they rest."""
    command = commands.add_parser(
        "settle",
        help="drop objects until they rest, and keep them there",
        description="Drops objects of a .blend file until they rest, without the timeline, and writes it with them there. "
        "Exits with 3 if an object does not rest, or a step did not converge.",
    )
    add_scene(command)
    command.add_argument(
        "-o", "--output", required=True, metavar="SETTLED.blend", help="the file to write, which may be the same file"
    )
    command.add_argument(
        "--object",
        action="append",
        default=[],
        metavar="NAME",
        help="an object that settles; can be given more than once (default: all active rigid bodies)",
    )
    command.add_argument(
        "--land-on",
        choices=("bodies", "meshes"),
        default="bodies",
        help="what objects land on: the other rigid bodies, or all visible meshes as well (%(default)s)",
    )
    command.add_argument("--seconds", type=float, default=10.0, metavar="S", help="largest simulated time (%(default)s)")
    command.add_argument(
        "--gravity", type=float, nargs=3, metavar=("X", "Y", "Z"), help="gravity in m/s^2 (default: that of the scene)"
    )
    command.add_argument(
        "--bodies",
        choices=("as-before", "add", "remove"),
        default="as-before",
        help="rigid bodies of the objects after settling (%(default)s)",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random start (%(default)s)")
    command.add_argument("--distance", type=float, default=0.0, metavar="M", help="largest random displacement before the drop")
    command.add_argument("--angle", type=float, default=0.0, metavar="DEGREES", help="largest random rotation before the drop")
    command.add_argument("--threads", type=int, default=0, metavar="N", help="threads, 0 for one per processor (%(default)s)")
    command.add_argument("--report", metavar="FILE.json", help="write the poses, and which objects rest, as JSON")
    command.add_argument(
        "--accept-unconverged",
        action="store_true",
        help="exit with 0, not 3, if objects do not rest or steps did not converge",
    )


def capture_wanted(arguments: argparse.Namespace) -> list[str]:
    """Return the worker's arguments for capturing contact problems. Raises UsageError."""
    steps_named(arguments.capture_steps)
    if arguments.capture is None:
        return []
    # The worker may run in another folder.
    folder = os.path.abspath(arguments.capture)
    return ["--capture", folder, "--capture-steps", arguments.capture_steps, "--capture-format", arguments.capture_format]


def version() -> str:
    """Return the version of this extension, or of this package if it is installed as one."""
    manifest = Path(__file__).resolve().parents[2] / "blender_manifest.toml"
    if manifest.is_file():
        return tomllib.loads(manifest.read_text(encoding="utf-8"))["version"]
    return metadata.version("stiction")


def add_scene(command: Parser) -> None:
    """Add the options for the file and the scene of a command."""
    command.add_argument("scene", nargs="?", metavar="SCENE.blend", help="a .blend, USD or glTF file (default: the open file)")
    command.add_argument(
        "--scene", dest="scene_name", metavar="NAME", help="one of its scenes (default: the one open when it was saved)"
    )


def add_scene_options(command: Parser) -> None:
    """Add the options for the file of a command, and for changes of its scene."""
    add_scene(command)
    command.add_argument("--start", type=int, metavar="FRAME", help="first frame")
    command.add_argument("--end", type=int, metavar="FRAME", help="last frame")
    command.add_argument("--method", choices=[method.value for method in ContactMethod], help="the solver")
    command.add_argument("--tolerance", type=float, help="largest relative error of a converged step")
    command.add_argument(
        "--moving-tolerance", type=float, metavar="TOLERANCE", help="largest relative error of large moving islands"
    )
    command.add_argument("--max-iterations", type=int, metavar="N", help="largest number of iterations of a step")
    command.add_argument("--step-time-limit", type=float, metavar="SECONDS", help="time limit of a step; 0 for none")
    command.add_argument(
        "--recovery-speed",
        type=float,
        metavar="SPEED",
        help="speed of separating overlaps, in half extents of the body per second",
    )
    command.add_argument("--substeps", type=int, metavar="N", help="time steps per frame")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OBJECT:FIELD=VALUE",
        dest="assignments",
        help=f"change a body before the bake; FIELD is one of {', '.join(FIELDS)}; can be given more than once",
    )
    # Options of earlier versions, for command lines of farms; see `changes.warnings_of`.
    command.add_argument("--crowd-tolerance", dest="moving_tolerance", type=float, help=argparse.SUPPRESS)
    command.add_argument("--crowd-limit", type=float, help=argparse.SUPPRESS)
    command.add_argument("--step-accuracy", type=float, help=argparse.SUPPRESS)
    command.add_argument("--staggering", choices=[variant.value for variant in Staggering], help=argparse.SUPPRESS)


def add_cache_option(command: Parser) -> None:
    """Add the option for the folder of the frames."""
    command.add_argument("--cache", metavar="DIR", help="folder for the baked frames")


def add_key_options(command: Parser) -> None:
    """Add the options for keyframes."""
    which = command.add_mutually_exclusive_group()
    which.add_argument("--keys-step", type=int, default=1, metavar="N", help="a key every N frames, and at the last one")
    which.add_argument(
        "--keys-within",
        type=float,
        nargs=2,
        metavar=("MM", "DEGREES"),
        help="few keys, with every body this close to the bake at every frame",
    )
    command.add_argument("--keys-per-frame", type=int, default=1, metavar="N", help="more keys between frames, for motion blur")
    command.add_argument("--nla", action="store_true", help="write the keys into NLA strips, and leave the actions free")


def keys_wanted(arguments: argparse.Namespace) -> Keys:
    """Return the requested keyframes. Raises UsageError."""
    from ..output.channel_tracks import Keys, Tolerance

    for option in ("keys_step", "keys_per_frame"):
        if getattr(arguments, option) < 1:
            raise UsageError(f"--{option.replace('_', '-')}: {getattr(arguments, option)} is less than 1")
    if arguments.keys_step > 1 and arguments.keys_per_frame > 1:
        raise UsageError("--keys-step and --keys-per-frame exclude each other")
    tolerance = None
    if arguments.keys_within is not None:
        millimetres, degrees = arguments.keys_within
        if not (0.0 < millimetres < math.inf and 0.0 < degrees < math.inf):
            raise UsageError(f"--keys-within: {millimetres:g} mm and {degrees:g} degrees must be above 0 and finite")
        tolerance = Tolerance(1e-3 * millimetres, math.radians(degrees))
    return Keys(arguments.keys_step, arguments.keys_per_frame, tolerance, arguments.nla)
