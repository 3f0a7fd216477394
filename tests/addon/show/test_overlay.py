# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts are kept where that is asked for, and drawn where they are, with the forces that they bear, on whom they bear on."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np
import pytest


@pytest.fixture
def lines(extension):
    from stiction.addon.show import contact_lines

    return contact_lines


@pytest.fixture
def contacts(fake_worker, scene, make_body):
    """The contacts of frame 3 of a bake of two bodies: sticking at z = 4, sliding at 5, and one that bears nothing at 3."""
    from stiction.addon.output.cached_contacts import CachedContacts

    make_body("A")
    make_body("B")
    scene.stiction.keep_contacts = True
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    scene.frame_set(3)
    found = CachedContacts().of_frame(scene)
    assert found is not None
    return found


def wanted(lines, **changes):
    return lines.Wanted(**{"normals": False, "friction": False, "cones": False, "force_length": 0.1} | changes)


BOTH = np.array([True, True])


def test_contacts_are_points_in_the_colours_of_their_states(lines, contacts):
    drawing = lines.draw_contacts(contacts, wanted(lines), BOTH, False)
    np.testing.assert_allclose(drawing.points, [[0, 0, 4], [0, 0, 5], [0, 0, 3]])
    assert [tuple(np.float32(lines.COLOURS[state])) for state in (1, 2, 0)] == [tuple(c) for c in drawing.point_colours]
    assert len(drawing.lines) == len(drawing.line_colours) == 0


def test_forces_are_lines_of_their_length_on_the_second_body_or_the_only_one_that_counts(lines, contacts):
    on_second = lines.draw_contacts(contacts, wanted(lines, normals=True), BOTH, False).lines.reshape(-1, 2, 3)
    # 3 N up, at 0.1 m for 1 N; what bears nothing has no line
    np.testing.assert_allclose(on_second, [[[0, 0, 4], [0, 0, 4.3]], [[0, 0, 5], [0, 0, 5.3]]], rtol=1e-6)
    on_first = lines.draw_contacts(contacts, wanted(lines, normals=True, friction=True), np.array([True, False]), False)
    ends = on_first.lines.reshape(2, 2, 2, 3)[:, :, 1] - [[[0, 0, 4], [0, 0, 5]]]
    np.testing.assert_allclose(ends, [[[0, 0, -0.3]] * 2, [[-0.1, 0, 0]] * 2], atol=1e-6)
    assert on_first.line_colours.shape == (8, 4)


def test_contacts_of_what_is_not_selected_are_left_out(lines, contacts):
    assert not len(lines.draw_contacts(contacts, wanted(lines, normals=True, cones=True), ~BOTH, True).points)
    assert len(lines.draw_contacts(contacts, wanted(lines), np.array([False, True]), True).points) == 3


def test_a_friction_cone_is_as_wide_as_the_coefficient_and_as_high_as_the_normal_force(lines, contacts):
    drawing = lines.draw_contacts(contacts, wanted(lines, cones=True), BOTH, False)
    ends = drawing.lines.reshape(2, -1, 2, 3)[0]
    rim = ends[ends[..., 2] > 4.01]
    np.testing.assert_allclose(rim[:, 2], 4.3, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(rim[:, :2], axis=1), 0.5 * 0.3, rtol=1e-5)
    assert len(drawing.line_colours) == len(drawing.lines)


def test_the_rim_of_a_cone_is_an_ellipse_where_a_surface_has_a_grain(lines, contacts):
    """0.2 along a grain at 30 degrees to x and 0.5 across it; the other contact keeps its circle."""
    along, across = np.array([np.sqrt(0.75), 0.5]), np.array([-0.5, np.sqrt(0.75)])
    ellipse = np.zeros_like(contacts.ellipse)
    ellipse[0, :, :2] = 0.2 * along, 0.5 * across
    drawing = lines.draw_contacts(replace(contacts, ellipse=ellipse), wanted(lines, cones=True), BOTH, False)
    ends = drawing.lines.reshape(2, -1, 2, 3)
    with_grain, without = (one[one[..., 2] > z][:, :2] / 0.3 for one, z in zip(ends, (4.01, 5.01), strict=True))
    np.testing.assert_allclose((with_grain @ along / 0.2) ** 2 + (with_grain @ across / 0.5) ** 2, 1.0, rtol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(with_grain, axis=1).min(), 0.2, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(without, axis=1), 0.5, rtol=1e-5)


def test_the_length_of_lines_is_fitted_to_the_bodies(scene, contacts):
    assert bpy.ops.stiction.fit_forces() == {"FINISHED"}
    # 3 N on bodies whose largest side is 0.6 m
    assert scene.stiction_display.force_length == pytest.approx(0.2)
    scene.frame_set(1)
    assert bpy.ops.stiction.fit_forces() == {"CANCELLED"}


def test_contacts_are_kept_only_where_that_is_asked_for(scene, make_body, fake_worker):
    from stiction.addon.output.cached_contacts import CachedContacts

    make_body("A")
    make_body("B")
    shown = CachedContacts()
    bpy.ops.stiction.bake()
    scene.frame_set(3)
    reader = shown.reader(scene)
    assert shown.of_frame(scene) is None and reader is not None and not reader.has_contacts
    # kept by a bake of the same, they are found without another frame
    scene.stiction.keep_contacts = True
    bpy.ops.stiction.bake()
    scene.frame_set(3)
    assert shown.of_frame(scene) is not None
    bpy.ops.stiction.free_bake()
    assert shown.of_frame(scene) is None and shown.reader(scene) is None


def test_the_command_line_keeps_contacts(scene, make_body, fake_worker, tmp_path):
    from stiction.addon.bake.bake_files import cache_path
    from stiction.addon.bake.playback import FrameCacheReader
    from stiction.addon.command import cli

    make_body("A")
    make_body("B")
    file = tmp_path / "scene.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    assert int(cli.run(["bake", str(file), "-o", str(tmp_path / "baked.blend"), "--contacts"])) == 0
    assert FrameCacheReader(cache_path(bpy.context.scene)).has_contacts


def test_nothing_is_drawn_without_a_window_and_nothing_stays_behind(extension):
    from stiction.addon.show import overlay

    assert bpy.app.background and not overlay.Overlay.handler.is_added
    extension.unregister()
    try:
        assert not hasattr(bpy.types.Scene, "stiction_display")
        shown = getattr(bpy.types.VIEW3D_PT_overlay.draw, "_draw_funcs", [])
        assert overlay.draw_in_overlays not in shown
    finally:
        extension.register()
