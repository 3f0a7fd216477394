# SPDX-License-Identifier: GPL-3.0-or-later
"""Variations of one scene, each baked by the worker, on as many processes as there are, and one sheet about all of them."""
