"""Hints behind the traceback of an import that failed."""

from __future__ import annotations

import sys

import pytest

from gridstride.programs.python.hints import give_hints


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModuleNotFoundError("no", name="numba"), "pip install 'gridstride[numba]'"),
        (ModuleNotFoundError("no", name="cuda.core"), "pip install 'gridstride[numba]'"),
        (ModuleNotFoundError("no", name="cupy.cuda"), "CuPy is linked with NVIDIA's static runtime"),
        (ModuleNotFoundError("no", name="nowhere"), None),
        (ModuleNotFoundError("no"), None),
        (ImportError("no", name="numba"), None),
        (ValueError("numba"), None),
    ],
)
def test_a_module_that_is_known_has_one(
    error: Exception, said: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: seen.append(error))
    give_hints()
    sys.excepthook(type(error), error, None)
    assert seen == [error]
    shown = capsys.readouterr().err
    assert said in shown if said else shown == ""
