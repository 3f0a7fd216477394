"""Tests of solver_core, without Blender."""
