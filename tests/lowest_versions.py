"""Prints the lowest versions that pyproject.toml allows, as pip takes them: what `make test-lowest` installs.

torch is not among them: its other versions bring gigabytes each. It stays at the one that constraints.txt names.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = ("torch", "triton", "numba", "onnx", "train", "serve", "workbench", "test")
NOT_INSTALLED = ("gridstride", "torch", "mypy", "ruff")
"""The project itself; torch, see above; and what reads the source and is no part of any run."""

_BOUND = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,]+\])?(>=(?P<version>[\d.]+))?$")


def requirements() -> Iterator[tuple[str, str, str]]:
    """(name, extras in brackets, lowest version) of all that is asked for; ValueError where no version is named."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    for line in [*project["dependencies"], *(each for e in EXTRAS for each in project["optional-dependencies"][e])]:
        found = _BOUND.match(line)
        if found is None or not (found["version"] or found["name"] == "gridstride"):
            raise ValueError(f"{line!r} in pyproject.toml has no lower bound that could be tried")
        yield found["name"], found["extras"] or "", found["version"] or ""


if __name__ == "__main__":
    for name, extras, version in requirements():
        if name not in NOT_INSTALLED:
            print(f"{name}{extras}=={version}")
