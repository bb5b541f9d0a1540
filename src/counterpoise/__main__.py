"""``python -m counterpoise``: the command line, where the script is not on the path."""

from __future__ import annotations

from .cli.main import main

if __name__ == "__main__":
    main(prog_name="counterpoise")
