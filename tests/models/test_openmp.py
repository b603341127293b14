"""Threads that wait sleep, unless the user has said otherwise, and it is said before OpenMP's library can be loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gridstride.models.openmp import counts, fixed, let_waiting_threads_sleep


def test_waiting_threads_sleep() -> None:
    environment: dict[str, str] = {}
    let_waiting_threads_sleep(environment)
    assert environment == {"OMP_WAIT_POLICY": "passive"}


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_what_the_user_said_of_waiting_stays(name: str) -> None:
    environment = {name: "7"}
    let_waiting_threads_sleep(environment)
    assert environment == {name: "7"}


def test_a_number_of_threads_that_was_said_is_not_measured() -> None:
    assert fixed({"OMP_NUM_THREADS": "3"})
    assert not fixed({})


@pytest.mark.parametrize(("most", "tried"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6)), (16, (1, 2, 4, 8, 16))])
def test_numbers_worth_trying(most: int, tried: tuple[int, ...]) -> None:
    assert counts(most) == tried


@pytest.mark.parametrize("call", ["train._needs_torch()", "model.usage_errors().__enter__()"])
def test_commands_say_it_before_they_import_pytorch(tmp_path: Path, call: str) -> None:
    (tmp_path / "torch").mkdir()
    says = "import os; print(os.environ.get('OMP_WAIT_POLICY'), flush=True); os._exit(0)"
    (tmp_path / "torch" / "__init__.py").write_text(says)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from gridstride.commands.stack import model, train; {call}"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "passive", done.stderr
