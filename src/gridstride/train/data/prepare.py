"""Text to tokens, once: split by document, tokenised, cached on disk under a fingerprint of all that matters."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from gridstride.compiler.cache import cache_root
from gridstride.train.data import tokenizer as bpe
from gridstride.train.data.corpus import Document, Reading, documents
from gridstride.train.errors import TrainError

_FORMAT = 2  # of the cached files, and of how text is split and tokenised
_FEW = 16  # documents below which each gives its own end for validation, as whole ones would be too coarse a share
_SAMPLE = 32 << 20  # characters that the tokenizer is trained on: more changes no merge that matters


@dataclass(frozen=True, slots=True)
class TokenisedText:
    """Tokenised text on disk."""

    folder: Path
    fingerprint: str
    documents: int
    vocabulary: int
    """Tokens of the tokenizer."""
    train_tokens: int
    train_bytes: int
    validation_tokens: int
    validation_bytes: int
    left_out: str = ""
    """Files that are no text, in words."""

    def train(self) -> np.ndarray[Any, Any]:
        return self._tokens("train", self.train_tokens)

    def validation(self) -> np.ndarray[Any, Any]:
        return self._tokens("validation", self.validation_tokens)

    def tokenizer(self) -> Any:
        return bpe.load(self.folder / "tokenizer.json")

    def _tokens(self, name: str, count: int) -> np.ndarray[Any, Any]:
        return np.memmap(self.folder / f"{name}.bin", dtype=_dtype(self.vocabulary), mode="r", shape=(count,))


@dataclass(frozen=True, slots=True)
class _Survey:
    """What one look at all documents gave: `order` has each text once, by its digest."""

    fingerprint: str
    sizes: dict[bytes, int]
    held_out: frozenset[bytes]
    reading: Reading

    @property
    def few(self) -> bool:
        return len(self.sizes) < _FEW


def prepare(
    source: str, *, vocabulary: int, validation_share: float, limit_mb: float = 0, encoding: str = ""
) -> TokenisedText:
    """Tokens of a source (see corpus, `encoding` too), from the cache where the same text was tokenised before.

    A document is held out by the hash of its text: copies of it are dropped, so none is on both sides. Raises
    TrainError for a source that cannot be used.
    """
    survey = _survey(source, validation_share=validation_share, limit_mb=limit_mb, encoding=encoding)
    settings = [_FORMAT, bpe.PATTERN, bpe.SPECIAL, vocabulary, validation_share, limit_mb, survey.fingerprint]
    fingerprint = blake2b(json.dumps(settings).encode(), digest_size=12).hexdigest()
    folder = cache_root() / "tokens" / fingerprint
    if not (folder / "prepared.json").exists():
        _fill(folder, source, survey, vocabulary=vocabulary, share=validation_share)
    try:
        record = json.loads((folder / "prepared.json").read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise TrainError(f"data: the cached tokens in {folder} cannot be read ({error}); delete that folder") from error
    return TokenisedText(folder=folder, fingerprint=fingerprint, left_out=survey.reading.left_out(), **record)


def _survey(source: str, *, validation_share: float, limit_mb: float, encoding: str) -> _Survey:
    reading = Reading(encoding)
    sizes: dict[bytes, int] = {}
    for document in documents(source, reading):
        sizes.setdefault(_digest(document), len(document.text.encode()))
    if limit_mb:
        sizes = _limited(sizes, int(limit_mb * 1e6))
    hash_ = blake2b(digest_size=16)
    for digest in sorted(sizes):
        hash_.update(digest)
    held_out = frozenset[bytes]() if len(sizes) < _FEW else _held_out(sizes, validation_share)
    return _Survey(hash_.hexdigest(), sizes, held_out, reading)


def _digest(document: Document) -> bytes:
    return blake2b(document.text.encode(), digest_size=16).digest()


def _limited(sizes: dict[bytes, int], limit: int) -> dict[bytes, int]:
    """Documents in the order of their hashes, a fair sample, until there are enough bytes."""
    chosen, total = {}, 0
    for digest in sorted(sizes):
        if total >= limit:
            break
        chosen[digest] = sizes[digest]
        total += sizes[digest]
    return {digest: size for digest, size in sizes.items() if digest in chosen}


def _held_out(sizes: dict[bytes, int], share: float) -> frozenset[bytes]:
    """The first documents by hash that make up the share; one that would be a tenth of it or more is passed over."""
    limit, total = share * sum(sizes.values()), 0
    held: set[bytes] = set()
    for most in (limit / 10, limit, float("inf")):  # the larger ones only where there are none but such
        for digest in sorted(sizes):
            if total >= limit / 2 and (most > limit / 10 or total >= limit):
                break
            if sizes[digest] <= most and digest not in held:
                held.add(digest)
                total += sizes[digest]
    return frozenset(held)


def _fill(folder: Path, source: str, survey: _Survey, *, vocabulary: int, share: float) -> None:
    """Write aside, then rename: a cache entry is whole or absent."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        train_texts = (text for text, held in _parts(source, survey, share) if not held)
        tokenizer = bpe.train(_sample(train_texts), vocabulary=vocabulary)
        tokenizer.save(str(aside / "tokenizer.json"))
        counts = _write_tokens(aside, tokenizer, _parts(source, survey, share))
        content = {"documents": len(survey.sizes), "vocabulary": tokenizer.get_vocab_size(), **counts}
        (aside / "prepared.json").write_text(json.dumps(content, indent=1) + "\n")
        if not (folder / "prepared.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(aside, folder)
    except OSError as error:
        if not (folder / "prepared.json").exists():  # else another process was quicker, with the same tokens
            raise TrainError(
                f"data: cannot write tokens to {folder.parent}: {error.strerror}. "
                "GRIDSTRIDE_CACHE names another folder."
            ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _parts(source: str, survey: _Survey, share: float) -> Iterator[tuple[str, bool]]:
    """Each text once, with whether it is held out; what ends a document ends with the end token."""
    digests = set()
    for document in documents(source, Reading(survey.reading.encoding)):
        digest = _digest(document)
        if digest in digests or digest not in survey.sizes:
            continue
        digests.add(digest)
        if not survey.few:
            yield _ended(document, document.text), digest in survey.held_out
            continue
        cut = document.text.rfind("\n", 0, int(len(document.text) * (1 - share))) + 1 or len(document.text)
        yield document.text[:cut], False
        yield _ended(document, document.text[cut:]), True


def _ended(document: Document, text: str) -> str:
    return text + bpe.END if document.ends else text


def _sample(texts: Iterable[str]) -> Iterator[str]:
    size = 0
    for text in texts:
        if size > _SAMPLE:
            return
        size += len(text)
        yield text.removesuffix(bpe.END)


def _write_tokens(folder: Path, tokenizer: Any, parts: Iterator[tuple[str, bool]]) -> dict[str, int]:
    names = {False: "train", True: "validation"}
    counts = dict.fromkeys(("train_tokens", "train_bytes", "validation_tokens", "validation_bytes"), 0)
    dtype = _dtype(tokenizer.get_vocab_size())
    with open(folder / "train.bin", "wb") as train, open(folder / "validation.bin", "wb") as validation:
        files: dict[bool, IO[bytes]] = {False: train, True: validation}
        while batch := _batch(parts):
            encoded = tokenizer.encode_batch_fast([text for text, _ in batch])
            for (text, held), tokens in zip(batch, encoded, strict=True):
                files[held].write(np.asarray(tokens.ids, dtype=dtype).tobytes())
                counts[f"{names[held]}_tokens"] += len(tokens.ids)
                counts[f"{names[held]}_bytes"] += len(text.removesuffix(bpe.END).encode())
    return counts


def _batch(parts: Iterator[tuple[str, bool]], *, most: int = 256) -> list[tuple[str, bool]]:
    return list(islice(parts, most))


def _dtype(vocabulary: int) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if vocabulary <= 1 << 16 else np.uint32


def described(prepared: TokenisedText) -> dict[str, Any]:
    """The figures, for a record."""
    return {name: value for name, value in asdict(prepared).items() if name != "folder"}
