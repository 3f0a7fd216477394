# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker that says one thing and hears nothing any more: `python -m tests.core.sweep.deaf_worker`."""

from __future__ import annotations

import sys
import time

sys.stdin.readline()
print('{"event": "compiled", "kernels": 1}', flush=True)
time.sleep(600.0)
