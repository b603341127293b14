"""Updates that have piled up are one, as if their tokens had come together."""

from __future__ import annotations

from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.engine.messages import Update, joined


def test_updates_of_a_request_are_joined_in_their_order() -> None:
    logprobs = [TokenLogprobs(-float(token), ()) for token in range(3)]
    updates = [
        Update(id="a", tokens=(), cached_tokens=8, queued_seconds=0.5, prompt_logprobs=(logprobs[0],)),
        Update(id="a", tokens=(0, 1), logprobs=(logprobs[0], logprobs[1])),
        Update(id="a", tokens=(2,), logprobs=(logprobs[2],)),
        Update(id="a", finish="error", error="it broke"),
    ]
    assert joined(updates) == Update(
        id="a", tokens=(0, 1, 2), logprobs=tuple(logprobs), finish="error", error="it broke", cached_tokens=8,
        queued_seconds=0.5, prompt_logprobs=(logprobs[0],),
    )  # fmt: skip


def test_one_update_stays_as_it_is() -> None:
    update = Update(id="a", tokens=(1,))
    assert joined([update]) is update
    assert joined([update, Update(id="a", tokens=(2,), finish="stop")]).logprobs is None
