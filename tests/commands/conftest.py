"""What tests of commands share."""

from __future__ import annotations

from functools import partial

import pytest
from command_line import Run, outcome


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on the virtual GPU unless the words say otherwise."""
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "virtual")
    return partial(outcome, capsys)
