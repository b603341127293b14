"""Tokens to text at the client's side: whole characters only, and never a part of a stop string."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.engine.messages import Finish, Update


class TextStream(Protocol):
    def push(self, *ids: int) -> str: ...
    def finish(self) -> str: ...


class Detokenizer(Protocol):
    """What of a tokenizer this room needs: `gridstride.models.text.tokenizer.Tokenizer` has it."""

    eos: frozenset[int]

    def stream(self, *, special: bool = False, shown: frozenset[int] = ...) -> TextStream: ...


@dataclass(frozen=True, slots=True)
class TextDelta:
    """New text of a request, perhaps empty; after one with `finish` none has anything."""

    text: str
    tokens: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] = ()  # of `tokens`, where asked for
    finish: Finish | None = None
    error: str | None = None
    field: str | None = None  # the request's own, where it is at fault


class RequestOutput:
    """One request's text. When a stop string ends it the engine does not know yet: abort the request then."""

    def __init__(
        self, tokenizer: Detokenizer, stop: Sequence[str] = (), *, stop_tokens: Iterable[int] = (), min_tokens: int = 0,
        special: bool = False, shown: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        """`min_tokens`: those before which a stop string ends nothing. `special`: special tokens are shown; else only
        `shown` are.
        """
        if "" in stop:
            raise ValueError("an empty stop string would end every text at once")
        self._stream = tokenizer.stream(special=special, shown=shown)
        self._silent = (
            frozenset() if special else tokenizer.eos | frozenset(stop_tokens)
        )  # not shown where they end the text
        self._stop = tuple(stop)
        self._unstopped = min_tokens
        self._held = ""  # could be the start of a stop string
        self._done = False

    def push(self, update: Update) -> TextDelta:
        if self._done:
            return TextDelta("")
        finish, text, tokens = update.finish, self._held, update.tokens
        if tokens and finish == "stop" and tokens[-1] in self._silent:
            tokens = tokens[:-1]
        if self._stop:
            for count, token in enumerate(tokens, 1):
                text += self._stream.push(token)
                self._unstopped -= 1
                stop = self._find(text)
                if stop is not None:
                    return self._finish(update, count, text[:stop], "stop")
        else:
            text += self._stream.push(*tokens)
        if finish is not None:
            text += self._stream.finish()
            stop = self._find(text)
            cut, finish = (text, finish) if stop is None else (text[:stop], "stop")
            return self._finish(update, len(update.tokens), cut, finish)
        shown = len(text) - self._doubtful(text)
        text, self._held = text[:shown], text[shown:]
        return TextDelta(text, update.tokens, update.logprobs or ())

    def _finish(self, update: Update, count: int, text: str, finish: Finish) -> TextDelta:
        self._done = True
        return TextDelta(
            text, update.tokens[:count], (update.logprobs or ())[:count], finish, update.error, update.field
        )

    def _find(self, text: str) -> int | None:
        """Where the stop string starts that is complete first, however many characters a token has."""
        if self._unstopped > 0:
            return None
        ends = [(start + len(stop), start) for stop in self._stop if (start := text.find(stop)) >= 0]
        return min(ends)[1] if ends else None

    def _doubtful(self, text: str) -> int:
        """Length of the longest end of `text` with which a stop string starts."""
        longest = max((len(stop) for stop in self._stop), default=1) - 1
        sizes = range(min(longest, len(text)), 0, -1)
        return next((n for n in sizes if any(stop.startswith(text[-n:]) for stop in self._stop)), 0)
