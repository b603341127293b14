"""The table of sampling options: who must know of a new one."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import numpy as np
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


@pytest.mark.parametrize(("asked", "taken"), [(-1, 0), (5, 5), (10**30, 1 << 24)])
def test_the_likeliest_of_more_tokens_than_there_are_is_all_of_them(asked: int, taken: int) -> None:
    """A GPU's steps hold the number in 32 bits."""
    assert sampling.Sampling.of(top_k=asked).top_k == taken


@pytest.mark.parametrize("penalty", [0.01, 100.0])
def test_no_logit_becomes_infinite_by_a_penalty(penalty: float) -> None:
    """The largest that a model gives in bf16 or fp32 are far below 1e36: either bound leaves them finite."""
    assert sampling.RULES["repetition_penalty"].fits is not None
    assert sampling.RULES["repetition_penalty"].fits(penalty)
    with np.errstate(over="raise"):
        assert np.isfinite([np.float32(1e36) / np.float32(penalty), np.float32(-1e36) * np.float32(penalty)]).all()
