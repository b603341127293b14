"""What kernels of a Python program print."""

from __future__ import annotations

import io

import pytest

from gridstride.programs.calls.activity import Activity
from gridstride.programs.python.attach import KernelOutput


def test_kernels_print_to_the_process_behind_what_the_script_has_printed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    activity, redirected = Activity(), io.StringIO()
    print("first")
    monkeypatch.setattr("sys.stdout", redirected)
    print("caught")
    KernelOutput(activity).write("a\nb\n")
    assert redirected.getvalue() == "caught\n"
    assert capfd.readouterr().out.endswith("a\nb\n")
    assert activity.kernel_lines == 2
