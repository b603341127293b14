"""What is refused at once, with the field and the limit."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fake_runner import FakeRunner, submit

from gridstride.serve.engine.admission import Refused, check

RUNNER = FakeRunner(blocks=10, block_size=4, context=64)


def refusal(prompt: list[int], **sampling: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        check(submit("a", prompt, **sampling), RUNNER)
    return refused.value


def test_what_fits_is_accepted() -> None:
    check(submit("a", [1] * 20, max_tokens=21), RUNNER)
    check(submit("a", [39], temperature=0.0, top_p=1.0, logit_bias={0: -100.0}, logprobs=40), RUNNER)


@pytest.mark.parametrize(
    ("prompt", "max_tokens", "field", "limit", "message"),
    [
        ([1] * 20, 22, "max_tokens", 41, "20 tokens and max_tokens=22 make 42 tokens, but the cache has room for 41"),
        ([1] * 41, 1, "prompt", 41, "a prompt of 41 tokens"),
        ([1] * 60, 5, "max_tokens", 64, "make 65 tokens, but the model's context is 64"),
        ([1] * 64, 1, "prompt", 64, "context is 64"),
        ([1], 0, "max_tokens", 1, "max_tokens is 0, but must be at least 1"),
        ([], 1, "prompt", 1, "no token"),
        ([1, 40], 1, "prompt", 39, "token 40, but the vocabulary ends at 39"),
        ([-1, 2], 1, "prompt", 39, "token -1"),
    ],
)
def test_sizes_and_tokens(prompt: list[int], max_tokens: int, field: str, limit: int, message: str) -> None:
    found = refusal(prompt, max_tokens=max_tokens)
    assert (found.field, found.limit) == (field, limit)
    assert message in str(found)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("top_p", math.nan),
        ("min_p", -0.1),
        ("presence_penalty", math.inf),
        ("frequency_penalty", math.nan),
        ("repetition_penalty", 0.0),
        ("repetition_penalty", 1e-300),
        ("repetition_penalty", 1e300),
        ("logit_bias", {40: 1.0}),
        ("logit_bias", {1: math.inf}),
        ("logprobs", -1),
        ("logprobs", 41),
    ],
)
def test_wishes_out_of_range(field: str, value: Any) -> None:
    found = refusal([1], **{field: value})
    assert found.field == field
    assert field in str(found)
