"""What has Triton run on the virtual GPU, and what leaves it alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import gridstride as gs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import torch
import triton
from triton.runtime.driver import driver

from gridstride.frameworks.triton_driver import VirtualDriver, hand_over_ptx

ACTIVATION = "gridstride.frameworks.activation"
SCRIPT = """
import sys
import torch
import triton
import triton.language as tl
{imported}

@triton.jit
def fill(x_ptr, value, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), value)

x = torch.zeros(8)
fill[(2,)](x, 7.0, BLOCK=4)
print(x.sum().item(), sys.argv[1:])
"""


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{ACTIVATION}.physical_count", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_what_was_there_before_is_put_back() -> None:
    bench, stages = triton.testing.do_bench, triton.knobs.runtime.add_stages_inspection_hook
    before = driver._active
    with gs.frameworks.triton() as outer:
        assert outer.active
        assert isinstance(driver.active, VirtualDriver)
        assert triton.knobs.runtime.add_stages_inspection_hook is hand_over_ptx
        with gs.frameworks.triton():
            pass
        assert isinstance(driver.active, VirtualDriver)
        assert repr(outer) == "<Triton on the virtual GPU>"
    assert (driver._active, triton.testing.do_bench) == (before, bench)
    assert triton.knobs.runtime.add_stages_inspection_hook is stages
    outer.deactivate()  # a second time does nothing


@pytest.mark.usefixtures("no_gpu")
def test_the_last_to_leave_puts_it_back() -> None:
    before = driver._active
    first, second = gs.frameworks.triton(), gs.frameworks.triton()
    first.deactivate()
    assert isinstance(driver.active, VirtualDriver)
    second.deactivate()
    assert driver._active is before


@pytest.mark.parametrize("where", [f"{ACTIVATION}.physical_count", "torch.cuda.is_available"])
@pytest.mark.usefixtures("no_gpu")
def test_a_physical_gpu_keeps_triton_as_it_is(where: str) -> None:
    before = driver._active
    with mock.patch(where, return_value=1), pytest.warns(UserWarning, match="Triton runs on it as ever") as caught:
        activation = gs.frameworks.triton()
    assert caught[0].filename == __file__
    assert not activation.active
    assert driver._active is before
    assert repr(activation) == "<Triton on the physical GPU, as ever>"


@pytest.mark.parametrize(("module", "command"), [("torch", "'torch>=2.11'"), ("triton", "'triton>=3.6'")])
def test_a_missing_library_is_named_with_the_command_that_brings_it(module: str, command: str) -> None:
    with mock.patch.dict(sys.modules, {module: None}), pytest.raises(RuntimeError, match=f"pip install {command}"):
        gs.frameworks.triton()


@pytest.mark.usefixtures("no_gpu")
def test_the_interpreter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(RuntimeError, match=r"TRITON_INTERPRET=1 .*: unset it"):
        gs.frameworks.triton()


@pytest.mark.usefixtures("no_gpu")
def test_a_driver_has_no_events_and_runs_on_nothing_else() -> None:
    with gs.frameworks.triton():
        with pytest.raises(gs.DeviceError, match=r"frameworks\.observed"):
            driver.active.get_device_interface()
        other = mock.Mock()
        other.name = "GPU 7"
        with gs.use(other), pytest.raises(gs.DeviceError, match="GPU 7 is in use"):
            driver.active.get_current_target()


@pytest.mark.parametrize("value", ["", "0"])
def test_other_values_of_the_variable_change_nothing(value: str) -> None:
    with mock.patch(f"{ACTIVATION}.Activation") as activation:
        gs.frameworks.triton_from_environment(value)
        activation.assert_not_called()
        gs.frameworks.triton_from_environment("1")
        activation.assert_called_once_with()


def test_a_wrong_value_of_the_variable_is_named() -> None:
    with pytest.raises(ValueError, match="GRIDSTRIDE_TRITON='yes': 1 has Triton run"):
        gs.frameworks.triton_from_environment("yes")


def run(words: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), "CUDA_VISIBLE_DEVICES": "", **environment}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=known, timeout=100)


@pytest.mark.parametrize("way", ["variable", "module"])
def test_a_script_runs_as_it_is(way: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(imported="import gridstride" if way == "variable" else ""))
    if way == "variable":
        done = run([str(script), "a"], tmp_path, GRIDSTRIDE_TRITON="1")
    else:
        done = run(["-m", "gridstride.frameworks", str(script), "a"], tmp_path)
    assert done.stdout == "56.0 ['a']\n", done.stderr


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    assert "none.py is no file" in run(["-m", "gridstride.frameworks", "none.py"], tmp_path).stderr
    assert "no script was given" in run(["-m", "gridstride.frameworks"], tmp_path).stderr
