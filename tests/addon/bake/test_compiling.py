# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiling in the background begins with the first rigid bodies, can be seen and stopped, and ends."""

from __future__ import annotations

import bpy
import pytest


@pytest.fixture
def compiling(extension, monkeypatch):
    from stiction.addon.bake import compiling

    class FakeBackground:
        """A process that runs until it is stopped."""

        def __init__(self):
            self.runs, self.is_stopped, self.says = True, False, "136 of 544 kernels; now pivoting"

        def stop(self):
            # it takes seconds to end, and says why
            self.is_stopped, self.says = True, "stopped (the process that started it has ended, or wants it to end)"

    monkeypatch.setattr(compiling, "Background", FakeBackground)
    yield compiling
    compiling.Session.background = None


def test_nothing_is_compiled_for_files_without_rigid_bodies(compiling):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert compiling.look() == compiling.SECONDS_BETWEEN_LOOKS
    assert compiling.Session.background is None


def test_it_is_seen_until_it_is_stopped(compiling, scene):
    assert compiling.look() == compiling.SECONDS_BETWEEN_LOOKS
    session = bpy.context.window_manager.stiction
    assert session.compiling == "136 of 544 kernels; now pivoting" and session.compiling_factor == 0.25
    compiling.Session.background.says = "2 of 7  pivoting: 80 kernels, 30 s"
    compiling.look()
    assert session.compiling.startswith("2 of 7") and session.compiling_factor == 0.25
    assert bpy.ops.stiction.stop_compiling() == {"FINISHED"}
    assert compiling.look() == compiling.SECONDS_BETWEEN_LOOKS and session.compiling == ""
    compiling.Session.background.runs = False
    assert compiling.look() is None and session.compiling == ""


@pytest.mark.parametrize("at_work", ["is_baking", "is_reading", "is_checking"])
def test_nobody_waits_for_what_is_compiled_at_low_priority(compiling, scene, at_work):
    """A bake, a live simulation, which is told by is_reading, and a check; the process would hold the lock of their kernel."""
    compiling.look()
    before, session = compiling.Session.background, bpy.context.window_manager.stiction
    setattr(session, at_work, True)
    try:
        assert compiling.look() == compiling.SECONDS_BETWEEN_LOOKS
        assert before.is_stopped and compiling.Session.background is None and session.compiling == ""
        assert compiling.look() == compiling.SECONDS_BETWEEN_LOOKS
    finally:
        setattr(session, at_work, False)
    compiling.look()
    assert compiling.Session.background.runs and not compiling.Session.background.is_stopped


def test_what_the_user_has_stopped_does_not_begin_again_after_a_bake(compiling, scene):
    compiling.look()
    stopped, session = compiling.Session.background, bpy.context.window_manager.stiction
    bpy.ops.stiction.stop_compiling()
    stopped.runs, session.is_baking = False, True
    try:
        assert compiling.look() == compiling.SECONDS_BETWEEN_LOOKS
        # nor is its last count still shown
        assert session.compiling == ""
    finally:
        session.is_baking = False
    assert compiling.look() is None and compiling.Session.background is stopped


def test_a_blender_whose_python_is_not_found_bakes_all_the_same(compiling, scene, monkeypatch, capsys):
    def missing():
        raise compiling.WorkerError("no Python was found")

    monkeypatch.setattr(compiling, "Background", missing)
    assert compiling.look() is None
    assert "no Python was found" in capsys.readouterr().out
