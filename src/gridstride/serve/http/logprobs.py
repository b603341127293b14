"""Log-probabilities as the two endpoints give them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.client.output import TextDelta
from gridstride.serve.engine.batch import TokenLogprobs

_LEAST = -9999.0  # JSON has no infinity; OpenAI writes this for what cannot be drawn


def of_chat(tokenizer: Tokenizer, piece: TextDelta) -> dict[str, Any]:
    """`choices[].logprobs` of a chat answer or of one of its chunks."""
    content = [
        _entry(tokenizer, token, own.own) | {"top_logprobs": [_entry(tokenizer, *top) for top in own.top]}
        for token, own in zip(piece.tokens, piece.logprobs, strict=False)
    ]
    return {"content": content, "refusal": None}


@dataclass(frozen=True, slots=True)
class Prefix:
    """Tokens before a piece, with what is known of each."""

    tokens: Sequence[str] = ()
    own: Sequence[float | None] = ()
    top: Sequence[dict[str, float] | None] = ()


def of_completion(tokenizer: Tokenizer, piece: TextDelta, *, offset: int, prefix: Prefix = Prefix()) -> dict[str, Any]:
    """`choices[].logprobs` of a completion; `offset`: characters of its text before the prefix and this piece."""
    tokens = [*prefix.tokens, *(token_text(tokenizer, token) for token in piece.tokens)]
    offsets = [*itertools.accumulate(map(len, tokens), initial=offset)][: len(tokens)]
    return {
        "tokens": tokens,
        "token_logprobs": [*prefix.own, *(_finite(logprob.own) for logprob in piece.logprobs)],
        "top_logprobs": [*prefix.top, *(_top(tokenizer, logprob) for logprob in piece.logprobs)],
        "text_offset": offsets,
    }


def of_prompt(tokenizer: Tokenizer, prompt: Sequence[int], logprobs: Sequence[TokenLogprobs], *, count: int) -> Prefix:
    """A prompt's tokens as part of a completion, each with `count` alternatives; nothing is known of the first."""
    texts = [token_text(tokenizer, token) for token in prompt]
    tops = [_top(tokenizer, replace(logprob, top=logprob.top[:count])) for logprob in logprobs]
    # OpenAI's server adds the token itself where it is none of the likeliest.
    tops = [top if text in top else top | {text: _finite(logprob.own)}
            for text, top, logprob in zip(texts[1:], tops, logprobs, strict=True)]  # fmt: skip
    return Prefix(texts, [None, *(_finite(logprob.own) for logprob in logprobs)], [None, *tops])


def of_prompt_by_id(
    tokenizer: Tokenizer, prompt: Sequence[int], logprobs: Sequence[TokenLogprobs]
) -> list[dict[str, Any] | None]:
    """`prompt_logprobs` as vLLM has them: each token's alternatives and itself, by their ids."""
    rows: list[dict[str, Any] | None] = [None]
    for token, logprob in zip(prompt[1:], logprobs, strict=True):
        ranked = {id: (logprob, rank) for rank, (id, logprob) in enumerate(logprob.top, 1)}
        ranked[token] = logprob.own, logprob.rank
        rows.append({
            str(id): {"logprob": _finite(logprob), "rank": rank, "decoded_token": token_text(tokenizer, id)}
            for id, (logprob, rank) in ranked.items()
        })  # fmt: skip
    return rows


def mean(logprobs: Sequence[TokenLogprobs]) -> float:
    """Of a sequence's tokens, by which `best_of` chooses."""
    return sum(logprob.own for logprob in logprobs) / max(len(logprobs), 1)


def token_text(tokenizer: Tokenizer, token: int) -> str:
    """A token by itself; bytes that are no whole character as OpenAI writes them."""
    raw = token_bytes(tokenizer, token)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)


def token_bytes(tokenizer: Tokenizer, token: int) -> bytes:
    """What a token adds to the text, also where that is no whole character."""
    written = tokenizer.token(token) or ""
    if "▁" in written:  # a space, as SentencePiece writes it; decoding a token by itself would lose it
        return written.replace("▁", " ").encode()
    text = tokenizer.decode([token], special=True)
    if "\ufffd" not in text:
        return text.encode()
    if written.startswith("<0x") and written.endswith(">"):
        return bytes([int(written[3:-1], 16)])
    if all(char in _BYTE_LEVEL for char in written):
        return bytes(_BYTE_LEVEL[char] for char in written)
    return text.encode()


def _byte_level() -> dict[str, int]:
    """GPT-2's alphabet: printable bytes stand for themselves, the others for the characters from 256 on."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    escaped = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(256 + number): byte for number, byte in enumerate(escaped)}


_BYTE_LEVEL = _byte_level()


def _entry(tokenizer: Tokenizer, token: int, logprob: float) -> dict[str, Any]:
    raw = token_bytes(tokenizer, token)
    return {"token": token_text(tokenizer, token), "logprob": _finite(logprob), "bytes": list(raw)}


def _top(tokenizer: Tokenizer, logprobs: TokenLogprobs) -> dict[str, float]:
    """The likeliest first; where two tokens have the same text the likelier one stands."""
    by_text: dict[str, float] = {}
    for token, logprob in logprobs.top:
        by_text.setdefault(token_text(tokenizer, token), _finite(logprob))
    return by_text


def _finite(logprob: float) -> float:
    return max(logprob, _LEAST)
