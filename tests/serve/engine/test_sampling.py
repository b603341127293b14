"""The table of sampling options: who must know of a new one."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from gridstride.serve.engine import sampling
from gridstride.serve.http.requests import generate
from gridstride.serve.runner.cuda import graph_inputs


def test_a_request_without_the_field_of_an_option_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "REQUESTED", sampling.REQUESTED | {"a_new_one"})
    with pytest.raises(ImportError, match="no field for the sampling options a_new_one"):
        fresh(generate, monkeypatch)


def test_recorded_steps_that_do_not_know_how_to_draw_are_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sampling.RULES, "a_new_one", sampling.RULES["min_p"])
    with pytest.raises(ImportError, match=r"recorded steps must know every option that draws.*a_new_one"):
        fresh(graph_inputs, monkeypatch)


def test_an_option_that_is_not_given_is_at_its_default() -> None:
    assert sampling.Sampling.of(temperature=None, top_k=3) == sampling.Sampling(top_k=3)


def fresh(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Import it anew, and leave the one that others use in its place."""
    monkeypatch.delitem(sys.modules, module.__name__)
    importlib.import_module(module.__name__)
