"""A model in this very process, for whoever asks it one thing after another."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gridstride.models.errors import ModelError
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.client.output import RequestOutput, TextDelta
from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.process.build import engine as build
from gridstride.serve.process.engine_options import EngineOptions
from gridstride.serve.process.protocol import Ready

_WAITING = 64  # prompts with the engine at a time: enough for its batches, and their scores stay few


class Local:
    """An engine with its tokenizer. One thread uses it."""

    def __init__(self, engine: Engine, tokenizer: Tokenizer, ready: Ready) -> None:
        self.tokenizer, self.ready = tokenizer, ready
        self._engine = engine
        self._ids = itertools.count()

    @classmethod
    def load(
        cls, folder: str | Path, *, device: str | None = None, dtype: str | None = None,
        quantization: str | None = None, most: int = 1,
    ) -> Local:  # fmt: skip
        """The folder's model, to give at most `most` answers at a time; ModelError where it cannot be."""
        tokenizer = Tokenizer.load(folder)
        engine, ready = build(
            str(folder),
            EngineOptions(device=device, dtype=dtype, max_running=most, warm=False, quantization=quantization),
        )
        return cls(engine, tokenizer, ready)

    def answers(
        self, prompt: Sequence[int], samplings: Sequence[Sampling], *, stop: Sequence[str] = ()
    ) -> Iterator[tuple[int, TextDelta]]:
        """Pieces of the answers as they come, each with its answer's number; the last one of an answer has `finish`.

        Refused for what cannot fit. Ctrl-C is seen between two steps and raised as KeyboardInterrupt; whoever stops
        reading, for that or another reason, leaves nothing running.
        """
        outputs: dict[str, tuple[int, RequestOutput]] = {}
        try:
            for number, sampling in enumerate(samplings):
                submit = Submit(id=str(next(self._ids)), prompt=tuple(prompt), sampling=sampling, arrived=_now())
                self._engine.submit(submit)
                outputs[submit.id] = number, RequestOutput(self.tokenizer, stop, stop_tokens=sampling.stop_tokens)
            yield from self._pieces(outputs)
        finally:
            with _ctrl_c_waits():
                self._drop(outputs)

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """Tokens of a text, as the tokenizer has them."""
        return self.tokenizer.encode(text, special=special)

    def scores(self, prompts: Iterable[Sequence[int]]) -> Iterator[tuple[int, tuple[TokenLogprobs, ...]]]:
        """Of each prompt its tokens' log-probabilities but the first's, by its number, as they come; as `answers`."""
        numbers: dict[str, int] = {}
        coming = enumerate(prompts)
        sampling = Sampling(max_tokens=0, prompt_logprobs=0)
        try:
            while True:
                for number, prompt in itertools.islice(coming, _WAITING - len(numbers)):
                    submit = Submit(id=str(next(self._ids)), prompt=tuple(prompt), sampling=sampling, arrived=_now())
                    self._engine.submit(submit)
                    numbers[submit.id] = number
                if not numbers:
                    return
                with _ctrl_c_waits():
                    updates = self._engine.step()
                for update in updates:
                    if update.prompt_logprobs is None:
                        raise ModelError(f"the model could not read a prompt: {update.error}")
                    yield numbers.pop(update.id), update.prompt_logprobs
        finally:
            with _ctrl_c_waits():
                self._drop(numbers)

    def _drop(self, ids: Iterable[str]) -> None:
        for id in ids:
            self._engine.abort(id)
        while not self._engine.idle:
            self._engine.step()

    def _pieces(self, outputs: dict[str, tuple[int, RequestOutput]]) -> Iterator[tuple[int, TextDelta]]:
        finished = 0
        while finished < len(outputs):
            with _ctrl_c_waits():
                updates = self._engine.step()
            for update in updates:
                number, output = outputs[update.id]
                piece = output.push(update)
                if piece.finish is not None:
                    finished += 1
                    self._engine.abort(update.id)  # a stop string is not seen by the engine
                yield number, piece


def _now() -> float:
    return time.monotonic()


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """A step is not torn apart by Ctrl-C; the second one, of somebody who has no more patience, is not held back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def note(number: int, frame: Any) -> None:
        nonlocal interrupted
        if interrupted:
            raise KeyboardInterrupt
        interrupted = True

    previous_handler = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if interrupted:
        raise KeyboardInterrupt
