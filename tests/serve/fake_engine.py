"""The real engine over a runner that counts instead of thinking: what comes is known, and so is what goes wrong.

The token after t is t + 1. Prompts that begin with one of the tokens below do something else. Files let a test say
when things happen, so that no test waits for a time: with `ends` requests go on until that file is there, and no engine
is made while the file `holds` is there.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np

from gridstride.serve.engine.batch import Batch, RunnerCode, Sampled, TokenLogprobs
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.process.protocol import Ready

FAILS, DIES, HANGS = 3, 4, 5
END, LETTER = 0, 70


class CountingRunner:
    steps = steps_alone = 1
    width = adapters = 0
    verifies = False
    code = RunnerCode("pytorch", "")

    def __init__(
        self, *, blocks: int, block_size: int, context: int, vocabulary: int, delay: float, ends: str | None
    ) -> None:
        self.blocks, self.block_size, self.context, self.vocabulary = blocks, block_size, context, vocabulary
        self._delay, self._ends = delay, ends

    def execute(self, batch: Batch) -> Sampled:
        time.sleep(self._delay)
        firsts = {draw.prompt[0] for draw in batch.draws}
        if DIES in firsts:
            os.kill(os.getpid(), signal.SIGKILL)
        if HANGS in firsts:
            time.sleep(3600)
        if FAILS in firsts:
            raise RuntimeError("a kernel that does not exist")
        tokens = (batch.tokens[batch.sampled] + 1) % self.vocabulary
        if self._ends is not None:
            tokens[:] = END if os.path.exists(self._ends) else LETTER
        logprobs = tuple(
            None if draw.sampling.logprobs is None else (_logprobs(int(token), draw.sampling.logprobs),)
            for token, draw in zip(tokens, batch.draws, strict=True)
        )
        return Sampled(tokens[:, None].astype(np.int64), logprobs)


def _logprobs(token: int, count: int) -> TokenLogprobs:
    return TokenLogprobs(-0.5, tuple((token + place, -0.5 - place) for place in range(count)))


def build(
    *, delay: float = 0.0, blocks: int = 64, block_size: int = 8, context: int = 128, vocabulary: int = 320,
    max_running: int = 8, fault: str | None = None, ends: str | None = None, holds: str | None = None,
) -> tuple[Engine, Ready]:  # fmt: skip
    if fault == "refused":
        raise ValueError("the model is made of cheese")
    if fault == "broken":
        raise RuntimeError("a bug")
    if fault == "slow":
        time.sleep(3600)
    if fault == "exit":
        os._exit(7)
    while holds is not None and os.path.exists(holds):
        time.sleep(0.02)
    print("what a library has to say")  # must not come out on the parent's stdout
    runner = CountingRunner(
        blocks=blocks, block_size=block_size, context=context, vocabulary=vocabulary, delay=delay, ends=ends
    )
    engine = Engine(
        runner, Batching(max_running=max_running, max_batch_tokens=max(64, max_running)), eos=frozenset({END})
    )
    assert "torch" not in sys.modules
    ready = Ready(
        context=context, blocks=blocks, block_size=block_size, vocabulary=vocabulary, max_running=max_running,
        device="fake",
    )  # fmt: skip
    return engine, ready
