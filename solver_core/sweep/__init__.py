# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameter sweeps: variations of one scene, each baked by a worker process, and one sheet that compares them."""
