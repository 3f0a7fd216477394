# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of any exception of a reader of foreign files to one sentence about the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["malformed_refused", "words_of"]


@contextmanager
def malformed_refused(kind: str, refusal: Callable[[str], Exception]) -> Iterator[None]:
    """Convert every exception of a reader in the block into an exception of one sentence.

    A reader raises that class itself for problems that it expects. Values of the wrong type, numbers out of range, and the
    exceptions of libraries are converted here, so that no reader needs a list of them.

    kind: the kind of file, for the message. refusal: returns the exception for a sentence without the name of the file.

    Raises the exception of `refusal`. OSError passes unchanged, because its message names the file.
    """
    try:
        yield
    except (OSError, type(refusal(""))):
        raise
    except MemoryError as error:
        raise refusal("it needs more memory than this computer has free; it is damaged, or too large") from error
    except Exception as error:
        message = words_of(error)
        reason = f"{type(error).__name__}: {message}" if message else type(error).__name__
        raise refusal(f"it is not a {kind}, or it is damaged ({reason}); export it again") from error


def words_of(error: Exception) -> str:
    """Return the message of an exception on one line, even if a library quotes bytes that are not text."""
    try:
        words = str(error)
    except UnicodeDecodeError as undecoded:
        words = undecoded.object.decode("utf-8", "backslashreplace")
    return " ".join(words.split())
