"""Messages survive the way between the two processes; what is no message is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.engine.messages import Abort, Stats, Submit, Update
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.process.protocol import Accepted, Rejected
from gridstride.serve.process.wire import HEADER, MOST, FrameError, length, packed, unpacked

ids, counts = st.text(max_size=8), st.integers(0, 1 << 40)
tokens = st.lists(st.integers(0, 1 << 20), max_size=5).map(tuple)
numbers = st.floats(allow_nan=False)
logprobs = st.builds(TokenLogprobs, numbers, st.lists(st.tuples(counts, numbers), max_size=3).map(tuple))
updates = st.builds(
    Update, id=ids, tokens=tokens, logprobs=st.none() | st.lists(logprobs, max_size=3).map(tuple),
    finish=st.sampled_from([None, "stop", "length", "abort", "error"]), error=st.none() | st.text(max_size=5),
    cached_tokens=counts, queued_seconds=st.none() | numbers,
)  # fmt: skip
stats = st.builds(
    Stats, running=counts, waiting=counts, blocks_total=counts, blocks_used=counts, blocks_cached=counts,
    slots_wasted=counts, preemptions=counts, prefix_queries=counts, prefix_hits=counts, steps=counts,
    native_steps=counts,
)  # fmt: skip
samplings = st.builds(
    Sampling, seed=counts, top_k=st.integers(0, 9), logit_bias=st.dictionaries(counts, numbers, max_size=2),
    stop_tokens=st.frozensets(counts, max_size=2), schema=st.none() | st.text(max_size=5), logprobs=st.none() | counts,
)  # fmt: skip
submits = st.builds(Submit, id=ids, prompt=tokens, sampling=samplings, arrived=numbers, adapter=counts)
messages = st.one_of(
    updates, stats, submits, st.builds(Abort, ids), st.builds(Accepted, ids), st.builds(Rejected, ids, ids)
)


@settings(max_examples=50, deadline=None)
@given(st.lists(messages, max_size=6))
def test_what_is_packed_comes_out_again(sent: list[object]) -> None:
    frame = packed(sent)
    assert length(frame[: HEADER.size]) == len(frame) - HEADER.size
    assert unpacked(frame[HEADER.size :]) == sent


def test_a_length_that_no_frame_has_is_refused() -> None:
    with pytest.raises(FrameError, match=str(MOST)):
        length(HEADER.pack(MOST + 1))


@pytest.mark.parametrize("body", [b"", b"\x80\x05", b"GET / HTTP/1.1", packed([Abort("a")])])
def test_bytes_that_are_no_frame_are_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        unpacked(body)
