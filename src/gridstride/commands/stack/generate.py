"""`gridstride generate`: a model goes on with a text."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.commands.stack.model import SamplingOptions, loaded, sampling, shown, usage_errors
from gridstride.commands.terminal import WrongUse, emit

if TYPE_CHECKING:
    from gridstride.commands.options.stack_options import ModelChoice, TextOptions
    from gridstride.serve.client.output import TextDelta
    from gridstride.serve.engine.sampling import Sampling
    from gridstride.serve.local import Local

_MAX_TOKENS = 128  # where the user does not say
_MOST = 256  # texts of one prompt
_STRIDE = 0x9E3779B9  # keeps the texts' random numbers apart
_PROMPT_BYTES = 64 << 20


def run(chosen: ModelChoice, texts: TextOptions, *, as_json: bool, **wishes: Any) -> bool:
    """Generate, show it as it comes where one text is wanted; False when the model could not go on."""
    n, stop, echo = texts.n, texts.stop, texts.echo
    wished = SamplingOptions(**wishes)
    wished.check()
    if not 1 <= n <= _MOST:
        raise WrongUse(f"--n {n} must be from 1 to {_MOST}")
    if any(not ending for ending in stop):
        raise WrongUse("--stop needs a text: an empty one would end everything at once")
    with usage_errors():
        from gridstride.models.huggingface.find import find

        folder, text = find(chosen.model), _prompt(texts.prompt)
        local = loaded(folder, device=chosen.device, dtype=chosen.dtype, quantization=chosen.quantization, most=n)
        tokens = _tokens(local, text)
        samplings = _samplings(folder, local, tokens, wished, n)
        streams = not as_json and n == 1 and (sys.stdout.isatty() if texts.stream is None else texts.stream)
        generated = _generate(local, tokens, samplings, stop, show=text if echo and streams else "", streams=streams)
    if as_json:
        emit(generated.as_json(folder, samplings[0].seed), verbatim=True)
    elif not streams:
        generated.show(text if echo else "")
    return generated.error is None


@dataclass(slots=True)
class _Text:
    """One text of those that were generated."""

    pieces: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    finish: str | None = None


@dataclass(slots=True)
class _Made:
    prompt_tokens: int
    texts: list[_Text]
    started: float
    first: float | None = None  # time.perf_counter(), as `started` and `ended`
    ended: float = 0.0
    error: str | None = None

    def take(self, number: int, piece: TextDelta) -> None:
        text = self.texts[number]
        self.first = self.first or time.perf_counter()
        text.pieces.append(piece.text)
        text.tokens += piece.tokens
        if piece.finish is not None:
            text.finish = piece.finish
            self.error = piece.error or self.error

    def as_json(self, folder: Path, seed: int) -> dict[str, Any]:
        seconds, count = self.ended - self.started, sum(len(text.tokens) for text in self.texts)
        return {
            "model": str(folder),
            "seed": seed,
            "prompt_tokens": self.prompt_tokens,
            "choices": [
                {"text": "".join(text.pieces), "finish_reason": text.finish, "tokens": text.tokens}
                for text in self.texts
            ],
            "seconds": seconds,
            "seconds_to_first_token": None if self.first is None else self.first - self.started,
            "tokens_per_second": count / seconds,
            "error": self.error,
        }

    def show(self, start: str) -> None:
        for number, text in enumerate(self.texts, 1):
            if len(self.texts) > 1:
                print(f"--- {number} of {len(self.texts)} ({text.finish}) ---")
            print(start + "".join(text.pieces))


def _generate(
    local: Local, tokens: Sequence[int], samplings: Sequence[Sampling], stop: Sequence[str], *, show: str, streams: bool
) -> _Made:
    generated = _Made(len(tokens), [_Text() for _ in samplings], time.perf_counter())
    for number, piece in local.answers(tokens, samplings, stop=stop):
        if streams and generated.first is None:
            print(show, end="")
        generated.take(number, piece)
        if streams:
            print(shown(piece.text) if sys.stdout.isatty() else piece.text, end="", flush=True)
    generated.ended = time.perf_counter()
    if streams:
        print()
    if generated.error is not None:
        print(f"error: {generated.error}", file=sys.stderr)
    return generated


def _prompt(prompt: str | None) -> str:
    """The prompt's text; from stdin where it is `-`, or where none is given and something is piped in."""
    if prompt in (None, "-") and sys.stdin is None:
        raise WrongUse("there is no prompt, and stdin is closed: --prompt TEXT")
    if prompt is None and sys.stdin.isatty():
        raise WrongUse("there is no prompt: --prompt TEXT, or --prompt - to read it from stdin")
    text = prompt if prompt not in (None, "-") else _stdin()
    if not text:
        raise WrongUse("the prompt is empty")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # bytes of the command line that were none
        raise WrongUse("the prompt is not text in UTF-8") from None
    return text


def _stdin() -> str:
    raw = sys.stdin.buffer.read(_PROMPT_BYTES + 1)
    if len(raw) > _PROMPT_BYTES:
        raise WrongUse(f"the prompt on stdin has more than {_PROMPT_BYTES} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WrongUse(f"the prompt on stdin is not text in UTF-8: byte {error.start}") from error


def _tokens(local: Local, text: str) -> list[int]:
    tokens = local.tokenizer.encode(text)
    if len(tokens) >= local.ready.longest:
        raise WrongUse(f"the prompt has {len(tokens)} tokens; with one more at least, {local.ready.longest} fit")
    return tokens


def _samplings(folder: Path, local: Local, tokens: Sequence[int], wishes: SamplingOptions, n: int) -> list[Sampling]:
    room = local.ready.longest - len(tokens)
    first = sampling(folder, wishes, max_tokens=wishes.max_tokens or min(_MAX_TOKENS, room))
    return [replace(first, seed=first.seed + number * _STRIDE) for number in range(n)]
