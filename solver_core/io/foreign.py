# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of any exception of a reader of foreign files to one sentence about the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["malformed_refused", "words_of"]


@contextmanager
def malformed_refused(what: str, refusal: Callable[[str], Exception]) -> Iterator[None]:
    """Convert every exception of a reader in the block into the exception that `refusal` makes of a sentence.

    A reader checks what it expects to be wrong, and raises the class of `refusal` by itself. Values of the wrong type, numbers
    beyond every range and libraries with exceptions of their own are converted here, so that no reader needs a list of them.

    Parameters: `what` completes "it is no ...": the kind of file. `refusal` makes an exception of a sentence without the name
    of the file.

    Raises the exception of `refusal`. OSError passes unchanged, because the operating system has already named the file.
    """
    try:
        yield
    except (OSError, type(refusal(""))):
        raise
    except MemoryError as error:
        raise refusal("it asks for more memory than this computer has free; it is damaged, or too large") from error
    except Exception as error:
        said = words_of(error)
        reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise refusal(f"it is no {what}, or is damaged, and nothing of it is read ({reason}); export it again") from error


def words_of(error: Exception) -> str:
    """Return the message of an exception on one line, even if a library quotes bytes that are not text."""
    try:
        words = str(error)
    except UnicodeDecodeError as undecoded:
        words = undecoded.object.decode("utf-8", "backslashreplace")
    return " ".join(words.split())
