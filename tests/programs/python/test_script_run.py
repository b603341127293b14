"""Which words name a Python program, and the interpreter that runs it on this machine's GPU."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gridstride.programs.program_errors import ProgramError
from gridstride.programs.python.script_run import check_script, is_script, run_script_on_hardware


def test_a_script_is_known_by_its_ending_and_is_run_alone() -> None:
    assert is_script(["a.py"])
    assert not is_script(["a.cu", "b.cpp"])
    with pytest.raises(
        ProgramError, match=r"a\.py is a Python program, and is run alone.*gridstride run a\.py -- 1000"
    ):
        is_script(["a.py", "1000"])


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"there is no file nowhere\.py"):
        check_script("nowhere.py")
    with pytest.raises(ProgramError, match="is no file"):
        check_script(str(tmp_path))


def test_on_hardware_the_interpreter_runs_it_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_text("import os, sys\nsys.exit(len(sys.argv) + 10 * ('GRIDSTRIDE_PYTHON_PROGRAM' in os.environ))")
    assert run_script_on_hardware(str(script), ["x", "y"], time_limit=60, stdout=None).status == 3
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)")
    assert run_script_on_hardware(str(script), [], time_limit=60, stdout=None).status == 143
    script.write_text("import time\ntime.sleep(60)")
    ended = run_script_on_hardware(str(script), [], time_limit=0.5, stdout=os.open(os.devnull, os.O_WRONLY))
    assert (ended.status, ended.timed_out) == (124, True)
