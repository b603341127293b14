"""The sitecustomize with which a Python program's interpreter begins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gridstride.programs.python.script_run import _START


def python(code: str, *folders: Path) -> str:
    """What an interpreter prints that finds these folders first, and no order."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (_START, *folders)))}
    environment.pop("GRIDSTRIDE_PYTHON_PROGRAM", None)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


def test_without_an_order_nothing_is_begun_and_nothing_stays_in_the_path() -> None:
    assert python(f"import sys; print({str(_START)!r} in sys.path, 'gridstride' in sys.modules)") == "False False"


def test_a_sitecustomize_of_the_users_is_imported(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("MINE = 5\n")
    assert python("import sitecustomize; print(sitecustomize.MINE)", tmp_path) == "5"
