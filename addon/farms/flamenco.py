# SPDX-License-Identifier: GPL-3.0-or-later
"""A job type of Flamenco 3: a script for the manager's `scripts` folder, which creates the tasks of submitted jobs."""

from __future__ import annotations

import json
from pathlib import Path

from .farm_job import FarmJob, bake_arguments, render_arguments

__all__ = ["flamenco_job_type"]

# JavaScript for the manager's engine. The data of a job are in its settings.
JOB_TYPE = """\
// Stiction: a job type for Flamenco 3. Put this file into the folder `scripts` beside flamenco-manager.
// One task bakes the rigid bodies to keyframes in a file beside the .blend file; the others render that file by frames.

const JOB_TYPE = {
    label: "Stiction Bake and Render",
    description: "Bake rigid bodies with solved friction, then render the frames",
    settings: [
        { key: "frames", type: "string", required: true, eval: "f'{C.scene.frame_start}-{C.scene.frame_end}'",
          description: "Frames to render, such as 1-250 or 1-9, 20" },
        { key: "chunk_size", type: "int32", default: 1, visible: "submission",
          description: "How many frames one task renders" },
        { key: "threads", type: "int32", default: THREADS, description: "Threads of the bake, 0 for one per processor" },
        { key: "blendfile", type: "string", required: true, visible: "web", description: "The .blend file to bake" },
        { key: "scene", type: "string", required: true, eval: "C.scene.name", visible: "web",
          description: "The scene of the file" },
    ],
};

function compileJob(job) {
    const settings = job.settings;
    const baked = settings.blendfile.replace(/\\.blend$/, "") + "_baked.blend";

    const bake = author.Task("bake", "blender");
    bake.addCommand(author.Command("exec", {
        exe: "{blender}",
        args: BAKE,
    }));
    job.addTask(bake);

    for (const chunk of frameChunker(settings.frames, settings.chunk_size)) {
        const render = author.Task(`render-${chunk}`, "blender");
        render.addCommand(author.Command("blender-render", {
            exe: "{blender}",
            exeArgs: "{blenderArgs}",
            argsBefore: [],
            blendfile: baked,
            args: RENDER,
        }));
        render.addDependency(bake);
        job.addTask(render);
    }
}
"""
# A chunk is 1-3,7 in Flamenco, and 1..3,7 in Blender.
CHUNK = 'chunk.replaceAll("-", "..")'
EXPRESSIONS = ("settings.blendfile", "settings.scene", "baked", "`${settings.threads}`", CHUNK)


def flamenco_job_type(job: FarmJob, _folder: Path) -> str:
    """Return the script. It contains only the threads of the job; the file to bake is chosen at submission."""
    file, scene, baked, threads, chunk = EXPRESSIONS
    # Flamenco starts the command with -b and the file.
    render = render_arguments(scene, baked, chunk)[2:]
    script = JOB_TYPE.replace("THREADS", str(job.threads))
    return script.replace("BAKE", array(bake_arguments(file, scene, baked, threads))).replace("RENDER", array(render))


def array(arguments: list[str]) -> str:
    """Return a list in JavaScript, of text or expressions."""
    return f"[{', '.join(one if one in EXPRESSIONS else json.dumps(one) for one in arguments)}]"
