"""The house: imports run one way, downwards, and no room is dragged in before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "gridstride"
LEVELS = tuple("protocol compiler virtual device testing judge kernels profile models train serve commands cli".split())
HEAVY = ("numpy", "llvmlite", "cuda", "torch", "triton", "numba")


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and room of every import of the project itself, those inside functions too."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            parts = name.split(".")
            if parts[0] == "gridstride" and len(parts) > 1:
                yield node.lineno, parts[1]


def test_imports_run_downwards() -> None:
    upwards = []
    for file in SOURCE.rglob("*.py"):
        room = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room not in LEVELS:
            continue
        for line, other in imports(file):
            if other in LEVELS and LEVELS.index(other) > LEVELS.index(room):
                upwards.append(f"{file.relative_to(SOURCE)}:{line} imports {other}")
    assert upwards == []


def test_every_room_has_its_level() -> None:
    rooms = {p.stem for p in SOURCE.iterdir() if (p.is_dir() and p.name != "__pycache__") or p.suffix == ".py"}
    assert rooms - set(LEVELS) == {"__init__", "__main__"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import gridstride, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
