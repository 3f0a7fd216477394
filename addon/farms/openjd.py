# SPDX-License-Identifier: GPL-3.0-or-later
"""A job template of Open Job Description, 2023-09, for AWS Deadline Cloud and others, and for `openjd run`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ...solver_core.process.command_line import UsageError
from .farm_job import FarmJob, bake_arguments, render_arguments

__all__ = ["openjd_template"]

# s; from the farm's notice until the bake is killed. The bake needs at most five to store its frames.
SECONDS_OF_NOTICE = 30
# Limits of a job's name in the specification of 2023-09. Control characters are those of the Unicode category Cc.
LONGEST_JOB_NAME = 128
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def openjd_template(job: FarmJob, folder: Path) -> str:
    """Return the template as JSON. Paths and frames are parameters, which can be changed at submission.

    folder: folder of the template, to which its paths are relative. Raises UsageError if a file is not below it.
    """
    frames = f"{job.first}-{job.last}" + (f":{job.step}" if job.step > 1 else "")
    template: dict[str, Any] = {
        "specificationVersion": "jobtemplate-2023-09",
        "name": literal(job.name),
        "parameterDefinitions": [
            path("Scene", from_folder(job.scene, folder), "IN", "The .blend file to bake"),
            path("Baked", from_folder(job.baked, folder), "OUT", "The .blend file with the keyframes, which is rendered"),
            text("SceneName", job.scene_name, "The scene of the file"),
            text("Frames", frames, "The frames to render, such as 1-250 or 1-9:2,20"),
            text("Blender", job.blender, "The program, with the extension installed"),
            {
                "name": "Threads",
                "type": "INT",
                "default": job.threads,
                "minValue": 0,
                "description": "Threads of the bake; 0 for one per processor",
            },
        ],
        "steps": [bake_step(), render_step()],
    }
    if job.kernels:
        kernels = text("Kernels", job.kernels, "The folder of compiled kernels, of `stiction compile`")
        template["parameterDefinitions"].append(kernels)
        template["jobEnvironments"] = [{"name": "Kernels", "variables": {"NUMBA_CACHE_DIR": "{{Param.Kernels}}"}}]
    return json.dumps(template, indent=1) + "\n"


def literal(name: str) -> str:
    """Return a job's name that OpenJD takes literally.

    Braces of expressions are separated, control characters become spaces, and a long name is cut.
    """
    apart = re.sub(r"(?<=\{)(?=\{)|(?<=\})(?=\})", " ", CONTROL.sub(" ", name))
    return apart if len(apart) <= LONGEST_JOB_NAME else f"{apart[: LONGEST_JOB_NAME - 3]}..."


def bake_step() -> dict[str, Any]:
    arguments = bake_arguments("{{Param.Scene}}", "{{Param.SceneName}}", "{{Param.Baked}}", "{{Param.Threads}}")
    notice = {"mode": "NOTIFY_THEN_TERMINATE", "notifyPeriodInSeconds": SECONDS_OF_NOTICE}
    return {"name": "Bake", "script": {"actions": {"onRun": run(arguments) | {"cancelation": notice}}}}


def render_step() -> dict[str, Any]:
    frame = {"name": "Frame", "type": "INT", "range": "{{Param.Frames}}"}
    arguments = render_arguments("{{Param.SceneName}}", "{{Param.Baked}}", "{{Task.Param.Frame}}")
    return {
        "name": "Render",
        "dependencies": [{"dependsOn": "Bake"}],
        "parameterSpace": {"taskParameterDefinitions": [frame]},
        "script": {"actions": {"onRun": run(arguments)}},
    }


def run(arguments: list[str]) -> dict[str, Any]:
    return {"command": "{{Param.Blender}}", "args": arguments}


def from_folder(file: str, folder: Path) -> str:
    """Return a file relative to the template's folder, because paths in a template must not be absolute or lead out of it."""
    if not Path(file).is_relative_to(folder):
        raise UsageError(
            f"{file} is not in {folder} or below it, as OpenJD wants of a job's files; write the job beside the scene"
        )
    return Path(file).relative_to(folder).as_posix()


def path(name: str, default: str, flow: str, description: str) -> dict[str, Any]:
    parameter = {"name": name, "type": "PATH", "objectType": "FILE", "dataFlow": flow}
    return parameter | {"default": default, "description": description}


def text(name: str, default: str, description: str) -> dict[str, Any]:
    return {"name": name, "type": "STRING", "default": default, "description": description}
