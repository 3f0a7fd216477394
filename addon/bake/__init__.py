# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake from the press of a button to its frames on disk: job, worker processes, cache files, and its inputs."""
