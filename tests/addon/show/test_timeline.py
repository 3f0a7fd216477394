# SPDX-License-Identifier: GPL-3.0-or-later
"""The strip in the timeline is that of the scene's own bake."""

from __future__ import annotations

import bpy


def test_a_new_scene_with_copied_settings_has_no_strip(scene, make_body, fake_worker):
    from stiction.addon.show.timeline import CACHED, Strip, strips_of

    make_body()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert strips_of(scene, [], False) == [Strip(1, 5, CACHED)]
    bpy.ops.scene.new(type="EMPTY")
    copied = bpy.context.scene
    assert copied != scene and copied.stiction.bake.state == "CACHED"
    assert strips_of(copied, [], False) == []
