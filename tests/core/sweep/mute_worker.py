# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker that is still loading its libraries: `python -m tests.core.sweep.mute_worker`."""

from __future__ import annotations

import time

time.sleep(600.0)
