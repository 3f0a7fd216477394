"""Tests of the add-on, in Blender as a Python module."""
