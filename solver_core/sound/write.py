# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the sound of a bake, or the table of its contact events, by the ending of the file's name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..io.bake_command import bake_of
from ..io.outputs import TABLE, refuse_output, write_output
from ..process.command_line import UsageError
from .contact_table import contact_table
from .materials import read_materials
from .synthesis import SoundOrder, contacts_with_voices, sound_of
from .wav import WAV, wav_bytes

__all__ = ["WrittenSound", "refuse_sound", "write_sound"]

KIND_BY_ENDING = {".wav": WAV, ".csv": TABLE}


@dataclass(frozen=True)
class WrittenSound:
    """What was written.

    Attributes
    ----------
    events : number of hits and scrapes
    without_modes : why bodies have no modes, by name
    """

    events: int
    without_modes: dict[str, str]


def refuse_sound(file: Path) -> None:
    """Raise UsageError for a name with another ending, PathRefused where the file would destroy something, and OSError."""
    if file.suffix.lower() not in KIND_BY_ENDING:
        raise UsageError(f"{file}: the name has to end with .wav for the sound, or with .csv for the table of its events")
    refuse_output(file, KIND_BY_ENDING[file.suffix.lower()])


def write_sound(snapshot: Path, cache: Path, file: Path, order: SoundOrder) -> WrittenSound:
    """Write the sound of a bake, or the table of its contact events.

    Parameters
    ----------
    snapshot, cache : of the bake, with contacts kept
    file : its name ends with .wav or .csv
    order : how the bake is made audible

    Raises CacheError, ContainerError and OSError, and UsageError where there is nothing to hear.
    """
    refuse_sound(file)
    spec, reader = bake_of(snapshot, cache)
    names = {body.name for body in spec.bodies}
    unknown = sorted({*order.materials, *order.volumes} - names)
    if unknown:
        raise UsageError(f"{unknown[0]}: there is no such body in the bake")
    contacts = contacts_with_voices(reader, spec, order.materials, read_materials())
    without_modes: dict[str, str] = {}
    if file.suffix.lower() == ".csv":
        data = contact_table(contacts.events, spec, contacts.voices.materials)
    else:
        sound = sound_of(contacts, spec, reader, order)
        data, without_modes = wav_bytes(sound.pressure), sound.without_modes
    write_output(file, KIND_BY_ENDING[file.suffix.lower()], data)
    return WrittenSound(len(contacts.events), without_modes)
