# SPDX-License-Identifier: GPL-3.0-or-later
# USD has no types for Python.
from typing import Any

def __getattr__(name: str) -> Any: ...
