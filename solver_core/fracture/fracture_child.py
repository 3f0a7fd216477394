# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of the process that fractures a mesh for `fracture_process.py`: PYTHON fracture_child.py -- PATH FOLDER

PATH is a JSON list of folders to import from. FOLDER has the order and gets the answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Carry out the order in a folder. Raises OSError."""
    from solver_core.fracture.fracture_process import answer

    answer(folder)


if __name__ == "__main__":
    sys.path[:] = [*json.loads(sys.argv[-2]), *sys.path]
    main(Path(sys.argv[-1]))
