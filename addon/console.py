"""The console script `stiction`: Blender as a Python module, this add-on in it, and the same command as inside Blender."""

from __future__ import annotations

import importlib
import sys

import bpy

from . import cli

__all__ = ["main"]


def main() -> int:
    """Run the command line of this process; returns the exit status."""
    # An installed extension may have registered the same properties and operators already.
    if not hasattr(bpy.types.Scene, "stiction"):
        importlib.import_module(__name__.rpartition(".addon.")[0]).register()
    try:
        return cli.run(sys.argv[1:])
    except Exception as error:
        print(f"stiction: error: {type(error).__name__}: {error}", file=sys.stderr)
        return cli.ExitStatus.FAILED


if __name__ == "__main__":
    sys.exit(main())
