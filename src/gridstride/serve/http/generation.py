"""The sequences of one request as text: begun, followed to their ends, and given up when nobody wants them any more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Self

from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.client.output import RequestOutput, TextDelta
from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.http.errors import ApiError, sentence
from gridstride.serve.http.state import Server
from gridstride.serve.process.client import RequestGroup, RequestRefused, SequenceRequest


@dataclass(slots=True)
class Usage:
    """Tokens, for the answer's `usage`."""

    prompt: int
    completion: int = 0
    cached: int = 0

    @property
    def body(self) -> dict[str, object]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }


@dataclass(frozen=True, slots=True)
class DetokenizerOptions:
    """What ends the text, and whether special tokens are shown in it; else only those of `shown` are."""

    stop: Sequence[str]
    special: bool = False
    shown: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The request's fields that errors are about: the one that made its sequences many, the one that binds the text."""

    many: str = "n"
    schema: str = "response_format"

    def named(self, field: str | None) -> str | None:
        """The request's name of a field of the engine's."""
        return self.schema if field == "schema" else field


class Generation:
    """Sequences that the engine has taken. Whoever begins one closes it, whatever happens in between."""

    def __init__(self, group: RequestGroup, outputs: Sequence[RequestOutput], usage: Usage, fields: FieldNames) -> None:
        self.usage, self._fields = usage, fields
        self._group, self._outputs = group, outputs
        self.prompts: dict[int, tuple[TokenLogprobs, ...]] = {}  # of sequences whose prompts' tokens were asked for
        self._open = set(range(len(outputs)))
        self._cached = [0] * len(outputs)

    @classmethod
    async def begin(
        cls, server: Server, sequences: Sequence[SequenceRequest], text: DetokenizerOptions, *, prompt_tokens: int,
        fields: FieldNames,
    ) -> Self:  # fmt: skip
        """Hand the sequences to the engine, and return once it has them."""
        if len(sequences) > server.client.most:
            message = (
                f"The request asks for {len(sequences)} sequences: this server takes {server.client.most} at most."
            )
            raise ApiError(message, param=fields.many, code="invalid_value")
        group = server.client.submit(sequences)
        try:
            await group.accepted()
        except RequestRefused as error:
            group.close_all()
            param = fields.named(error.field)
            words = sentence(str(error)) if error.field is None else _quoted(str(error), error.field)
            raise ApiError(words, param=param, code="invalid_value") from error
        except BaseException:
            group.close_all()
            raise
        outputs = [_output(server.prepare.tokenizer, sequence, text) for sequence in sequences]
        return cls(group, outputs, Usage(prompt_tokens), fields)

    async def pieces(self) -> AsyncIterator[dict[int, TextDelta]]:
        """New text of the sequences, by their place, until all have ended; all at once that came meanwhile."""
        while self._open:
            pieces: dict[int, TextDelta] = {}
            for index, update in await self._group.take():
                if index not in self._open:
                    continue
                if update.prompt_logprobs is not None:
                    self.prompts[index] = update.prompt_logprobs
                piece = self._outputs[index].push(update)
                self._count(index, piece, update.cached_tokens)
                if piece.finish is not None:
                    self._end(index, piece)
                pieces[index] = piece
            yield pieces

    def close(self) -> None:
        self._group.close_all()

    def _count(self, index: int, piece: TextDelta, cached: int) -> None:
        self.usage.completion += len(piece.tokens)
        self._cached[index] = max(self._cached[index], cached)
        self.usage.cached = sum(self._cached)

    def _end(self, index: int, piece: TextDelta) -> None:
        assert piece.finish is not None
        self._open.discard(index)
        self._group.close(index, piece.finish)
        if piece.field is not None:
            param = self._fields.named(piece.field)
            raise ApiError(sentence(piece.error or ""), param=param, code="invalid_value")
        if piece.finish not in ("stop", "length"):
            raise ApiError(f"The request failed: {piece.error or 'it was given up'}.", status=500, code="engine_error")


class NoTokens(Generation):
    """Of requests for no token: so many sequences that have ended. Nothing reaches the engine."""

    def __init__(self, count: int, *, prompt_tokens: int) -> None:
        self.usage, self.prompts = Usage(prompt_tokens), {}
        self._count_of_all = count

    async def pieces(self) -> AsyncIterator[dict[int, TextDelta]]:
        yield {index: TextDelta("", finish="length") for index in range(self._count_of_all)}

    def close(self) -> None: ...


def joined(head: TextDelta, tail: TextDelta) -> TextDelta:
    """Two pieces of the same sequence as one."""
    return TextDelta(
        head.text + tail.text,
        head.tokens + tail.tokens,
        head.logprobs + tail.logprobs,
        tail.finish,
        tail.error,
        tail.field,
    )


def _quoted(text: str, field: str) -> str:
    """A field's name that begins a sentence stays as it is written."""
    start = f"{field} "
    return f"'{field}' {text.removeprefix(start).rstrip('.')}." if text.startswith(start) else sentence(text)


def _output(tokenizer: Tokenizer, sequence: SequenceRequest, text: DetokenizerOptions) -> RequestOutput:
    return RequestOutput(
        tokenizer, text.stop, stop_tokens=sequence.sampling.stop_tokens, min_tokens=sequence.sampling.min_tokens,
        special=text.special, shown=text.shown,
    )  # fmt: skip
