# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the program Blender, with the module bpy: its command `stiction`, and the render of one frame."""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> None:
    """Do what `blender -b FILE --command stiction ...` and `blender -b FILE -S SCENE -f FRAME` do."""
    background, file, *rest = arguments
    assert background == "-b"
    if rest[:2] == ["--command", "stiction"]:
        from tests.addon.loading import load_extension

        load_extension()
        sys.argv = ["stiction", rest[2], file, *rest[3:]]
        from stiction import main as stiction

        stiction()
    import bpy

    assert rest[0] == "-S" and rest[2] == "-f"
    bpy.ops.wm.open_mainfile(filepath=file)
    bpy.context.window.scene = bpy.data.scenes[rest[1]]
    bpy.context.scene.frame_set(int(rest[3]))
    scene = bpy.context.scene
    # as -f names files
    scene.render.filepath = scene.render.frame_path(frame=int(rest[3]))
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main(sys.argv[1:])
