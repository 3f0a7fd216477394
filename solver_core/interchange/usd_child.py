# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of the process that reads a USD file for `usd_process.py`: PYTHON usd_child.py -- ORDER

ORDER is a JSON file with the `path` to import from, the `file`, the `folder` for the answer, and the bytes of `memory` that the
process may take from now on, which is enforced on Linux. The answer is written by `hand_over`. A byte on standard output is a
sign of life. The process ends when its standard input does.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

SECONDS_BETWEEN_SIGNS = 1.0


def main(order: dict[str, Any], signs: Signs) -> None:
    """Read the file that an order names, and write the answer."""
    from solver_core.interchange.described import Found
    from solver_core.interchange.files import read_usd_here
    from solver_core.interchange.usd_process import hand_over
    from solver_core.validation.findings import SceneError, SceneProblem

    found, file, folder = Found(signs=signs.give), Path(order["file"]), Path(order["folder"])
    if importlib.util.find_spec("pxr") is not None:
        # The memory of the libraries does not count.
        importlib.import_module("solver_core.interchange.usd_read")
    limit_memory(order["memory"])
    try:
        scene = read_usd_here(file, found)
    except SceneError as error:
        hand_over(folder, None, found, error.problems)
    except OSError as error:
        hand_over(folder, None, found, (SceneProblem(str(file), "file", f"it cannot be read: {error}"),))
    else:
        hand_over(folder, scene, found, ())


class Signs:
    """Signs of life on standard output, at most one per second.

    On systems that limit processor time, the process ends after `work` seconds of it without a sign [s].
    """

    def __init__(self, work: float) -> None:
        self._work, self._given_at = work, 0.0
        self.limit_work()

    def give(self) -> None:
        """Give a sign, if the last one is older than a second."""
        now = time.monotonic()
        if now - self._given_at > SECONDS_BETWEEN_SIGNS:
            self._given_at = now
            os.write(1, b".")
            self.limit_work()

    def limit_work(self) -> None:
        """Limit the processor time of the process to `work` seconds from now."""
        if sys.platform == "win32":
            return
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        limit, (_, hard) = math.ceil(used.ru_utime + used.ru_stime + self._work), resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def limit_memory(more: int) -> None:
    """Limit the memory of this process, on Linux, to `more` bytes above its present size. Mapped files do not count."""
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as statistics:
        data = int(statistics.read().split()[5]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = data + more if hard == resource.RLIM_INFINITY else min(data + more, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def end_with_the_parent() -> None:
    """End this process when its parent process has ended."""
    from solver_core.process.ending import lines_heard

    def listen() -> None:
        for _ in lines_heard():
            pass
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()


if __name__ == "__main__":
    with open(sys.argv[-1], encoding="utf-8") as given:
        asked = json.load(given)
    sys.path[:] = [*asked["path"], *sys.path]
    end_with_the_parent()
    main(asked, Signs(asked["work"]))
    # Blender would go on, and libraries may not survive their own end after what they have read
    os._exit(0)
