# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory use of this process, available memory, and reuse of freed memory."""

from __future__ import annotations

import sys

__all__ = ["free_memory", "keep_freed_memory", "most_memory"]

KIBIBYTE = 1024
# of glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
FROM_THE_SYSTEM = 32 * KIBIBYTE**2  # bytes: the most that glibc takes; larger arrays come from the system one by one
KEPT = 1024 * KIBIBYTE**2  # bytes


def keep_freed_memory() -> bool:
    """Let this process keep the memory of freed arrays for reuse. Returns whether that is possible.

    Call it only in a process that runs nothing else. Each step allocates about the same arrays as the previous one. Returning
    their memory to the system, which clears it each time, took a fifth of a step of a wall. Only glibc supports this.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    return mallopt is not None and mallopt(M_MMAP_THRESHOLD, FROM_THE_SYSTEM) == mallopt(M_TRIM_THRESHOLD, KEPT) == 1


def most_memory() -> int:
    """The most that this process had in memory at any time, in bytes."""
    if sys.platform == "win32":
        return most_on_windows()
    if sys.platform == "linux":
        # getrusage counts what the process that started this one had, too
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * KIBIBYTE for line in status if line.startswith("VmHWM:"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def free_memory() -> int | None:
    """Return the available memory in bytes, without swapping out other programs; None if the system does not report it."""
    if sys.platform == "linux":
        with open("/proc/meminfo", encoding="ascii") as statistics:
            return next((int(line.split()[1]) * KIBIBYTE for line in statistics if line.startswith("MemAvailable:")), None)
    if sys.platform == "win32":
        return free_on_windows()
    import os

    # all there is: macOS makes room by itself
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def free_on_windows() -> int | None:
    import ctypes
    from ctypes import wintypes

    class State(ctypes.Structure):
        """MEMORYSTATUSEX"""

        _fields_ = (
            ("length", wintypes.DWORD),
            ("load", wintypes.DWORD),
            ("whole", ctypes.c_ulonglong),
            ("free", ctypes.c_ulonglong),
            ("others", ctypes.c_ulonglong * 5),
        )

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    found = State(length=ctypes.sizeof(State))
    return found.free if kernel.GlobalMemoryStatusEx(ctypes.byref(found)) else None


def most_on_windows() -> int:
    import ctypes
    from ctypes import wintypes

    class Counters(ctypes.Structure):
        """PROCESS_MEMORY_COUNTERS"""

        _fields_ = (
            ("cb", wintypes.DWORD),
            ("PageFaultCount", wintypes.DWORD),
            ("PeakWorkingSetSize", ctypes.c_size_t),
            ("others", ctypes.c_size_t * 7),
        )

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    kernel.GetCurrentProcess.restype = wintypes.HANDLE
    kernel.K32GetProcessMemoryInfo.argtypes = (wintypes.HANDLE, ctypes.POINTER(Counters), wintypes.DWORD)
    found = Counters(cb=ctypes.sizeof(Counters))
    if not kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), ctypes.byref(found), found.cb):
        raise ctypes.WinError(ctypes.get_last_error())  # type: ignore[attr-defined]
    return found.PeakWorkingSetSize
