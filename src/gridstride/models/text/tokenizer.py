"""Text to tokens and back, by a folder's tokenizer.json; no torch here, as a server's front has none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gridstride.models.errors import ModelError
from gridstride.models.huggingface.fields import Fields, read_object, read_text

_REPLACEMENT = "\ufffd"  # what a decoder gives for bytes that are not UTF-8, or not yet


class Tokenizer:
    """A folder's tokenizer; `eos` ends an answer, `vocabulary` is one above the largest id."""

    def __init__(self, tokenizer: Any, *, eos: Iterable[int] = (), folder: Path | None = None) -> None:
        self.folder = folder
        self._tokenizer = tokenizer
        self._added = tokenizer.get_added_tokens_decoder()
        self.added = frozenset(self._added)
        """Those that stand for one text each, whatever is around it: `special` ones, and others, as marks of calls."""
        self.special = frozenset(id for id, token in self._added.items() if token.special)
        self.vocabulary: int = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        self.eos = frozenset(id for id in eos if 0 <= id < self.vocabulary)
        self._checked_ids: set[int] = set()  # of those that were asked for

    @classmethod
    def load(cls, folder: str | Path) -> Tokenizer:
        """The folder's; ModelError where there is none, or where it has tokens that the model does not know."""
        folder = Path(folder)
        tokenizer = cls(_read(folder / "tokenizer.json"), folder=folder)
        tokenizer.eos = frozenset(id for id in _eos(folder, tokenizer) if id < tokenizer.vocabulary)
        config = folder / "config.json"
        if config.exists():
            _check_size(tokenizer.vocabulary, Fields(read_object(config), str(config)))
        return tokenizer

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """Tokens of a text; `special`: with those that the model wants around it, say one for the beginning."""
        [encoded] = self._tokenizer.encode_batch_fast([text], add_special_tokens=special)  # `encode` would hold the GIL
        ids: list[int] = encoded.ids
        return ids

    def encode_with_places(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Tokens of a text that has its special tokens already, and which characters each stands for, from and to."""
        [encoded] = self._tokenizer.encode_batch([text], add_special_tokens=False)
        return encoded.ids, encoded.offsets

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        """The text of tokens; `special`: special tokens are shown too."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=not special)
        return text

    def stream(self, *, special: bool = False, shown: frozenset[int] = frozenset()) -> IncrementalDecoder:
        """A decoder that takes tokens as they come; `special`: special tokens are shown too; `shown`: these are."""
        return IncrementalDecoder(self, hidden=frozenset() if special else self.special - shown)

    def id(self, token: str) -> int | None:
        """The id of a token given as it is written in tokenizer.json."""
        number: int | None = self._tokenizer.token_to_id(token)
        return number

    def token(self, id: int) -> str | None:
        """A token as it is written in tokenizer.json, which is not its text."""
        text: str | None = self._tokenizer.id_to_token(id)
        return text

    def knows(self, id: int) -> bool:
        """Whether it is one of the tokenizer's, which may be fewer than the model's."""
        if id in self._checked_ids:
            return True
        if self.token(id) is None:
            return False
        self._checked_ids.add(id)
        return True

    def difference(self, other: Tokenizer) -> str:
        """In which token another tokenizer's differ from these, in words; "" where all are the same."""
        mine, others = (each._tokenizer.get_vocab(with_added_tokens=True) for each in (self, other))
        if mine == others:
            return ""
        texts = [{id: token for token, id in tokens.items()} for tokens in (mine, others)]
        id = min(id for id in texts[0].keys() | texts[1].keys() if texts[0].get(id) != texts[1].get(id))
        this, that = (repr(each[id]) if id in each else "nothing" for each in texts)
        return f"its token {id} is {that}, not {this}"

    @cached_property
    def concatenates(self) -> bool:
        """Whether tokens that are whole characters have the same text after any others."""
        decoder = self._tokenizer.decoder
        return decoder is not None and json.loads(decoder.__getstate__()).get("type") == "ByteLevel"

    @cached_property
    def byte_tokens(self) -> frozenset[int]:
        """Tokens that stand for one byte each, and whose text is known only when no more of them follow."""
        decoder = json.loads(self._tokenizer.to_str()).get("decoder")
        if "ByteFallback" not in json.dumps(decoder):
            return frozenset()
        ids = (self.id(f"<0x{byte:02X}>") for byte in range(256))
        return frozenset(id for id in ids if id is not None)


class IncrementalDecoder:
    """What `push` and at last `finish` give is together the decoded text; no character comes in halves.

    A decoder's text for a token depends on those before it (a space that only a first word loses, a character of three
    tokens), so the tokens since the last whole character are decoded with those of the piece before it as context; not
    where a text is its tokens' bytes.
    """

    def __init__(self, tokenizer: Tokenizer, *, hidden: frozenset[int]) -> None:
        self._tokenizer, self._hidden = tokenizer, hidden
        self._context: list[int] = []
        self._pending: list[int] = []
        self._emitted = 0  # characters of context and pending that have been given

    def push(self, *ids: int) -> str:
        """The text that is certain now and was not before. Many tokens together cost little more than one."""
        tokenizer = self._tokenizer
        shown = [id for id in ids if id not in self._hidden and tokenizer.knows(id)]  # as decode does
        self._pending += shown
        length = len(self._pending)  # tokens whose text does not wait for the next one's
        while length and self._pending[length - 1] in tokenizer.byte_tokens:
            length -= 1
        if len(self._pending) - length >= len(shown):
            return ""
        text = tokenizer.decode(self._context + self._pending[:length], special=True)
        # An unfinished character shows as one replacement at the end; those before it will stay what they are.
        certain = len(text) - text.endswith(_REPLACEMENT)
        piece = text[self._emitted : certain]
        self._emitted = max(self._emitted, certain)
        if piece and certain == len(text):
            context, self._pending, self._emitted = self._pending[:length], self._pending[length:], 0
            if not tokenizer.concatenates:
                self._context, self._emitted = context, len(tokenizer.decode(context, special=True))
        return piece

    def finish(self) -> str:
        """The rest, when no more tokens come."""
        text = self._tokenizer.decode(self._context + self._pending, special=True)
        piece, self._emitted = text[self._emitted :], len(text)
        return piece


def _read(path: Path) -> Any:
    import tokenizers

    if not path.exists():
        raise ModelError(f"there is no {path}; `AutoTokenizer…save_pretrained(…)` of transformers writes it")
    text = read_text(path)
    try:
        tokenizer = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing narrower
        raise ModelError(f"{path} is no tokenizer: {error}") from error
    tokenizer.no_truncation()  # a prompt that is too long is to be refused, not cut
    tokenizer.no_padding()
    return tokenizer


def _eos(folder: Path, tokenizer: Tokenizer) -> frozenset[int]:
    """The ends that generation_config.json names, else config.json's, and the tokenizer's own."""
    ids: set[int] = set()
    for name in ("generation_config.json", "config.json"):
        path = folder / name
        if path.exists() and (eos_ids := _ids(Fields(read_object(path), str(path)))):
            ids |= eos_ids
            break
    token = special_tokens(folder).get("eos_token")
    own = None if token is None else tokenizer.id(token)
    return frozenset(ids if own is None else ids | {own})


def _ids(fields: Fields) -> set[int]:
    value = fields.values.get("eos_token_id")
    ids = value if isinstance(value, list) else [] if value is None else [value]
    if any(isinstance(id, bool) or not isinstance(id, int) or id < 0 for id in ids):
        raise fields.wrong("eos_token_id", "a token's id or a list of such is needed")
    return set(ids)


def special_tokens(folder: Path) -> dict[str, str]:
    """Tokens with a role (bos_token, eos_token, …), as tokenizer_config.json and special_tokens_map.json name them."""
    tokens: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        path = folder / name
        for role, token in (read_object(path) if path.exists() else {}).items():
            text = token.get("content") if isinstance(token, dict) else token
            if role.endswith("_token") and isinstance(text, str):
                tokens[role] = text
    return tokens


def _check_size(vocabulary: int, config: Fields) -> None:
    if vocabulary > config.integer("vocab_size"):
        raise config.wrong(
            "vocab_size", f"tokenizer.json has ids up to {vocabulary - 1}, which the model does not know"
        )
