"""`python -m gridstride.frameworks script.py …`: a script that launches Triton kernels, run unchanged without a GPU."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from gridstride.frameworks import triton


def main(words: list[str]) -> None:
    """Run the script that `words` begin with, as `__main__`, with the rest as its arguments."""
    if not words or not Path(words[0]).is_file():
        reason = f"{words[0]} is no file" if words else "no script was given"
        raise SystemExit(f"{reason}: python -m gridstride.frameworks script.py [argument …]")
    triton()
    sys.argv[:] = words
    sys.path[0] = str(Path(words[0]).resolve().parent)
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
