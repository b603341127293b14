"""Text that must satisfy a JSON schema: which tokens may come next, by llguidance."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.references import endless
from gridstride.serve.engine.unions import told_apart

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

OPTIONS: Any = {"whitespace_pattern": r"[\x20\x0A\x0D\x09]{1,24}", "coerce_one_of": True}
"""White space between values ends some time: small models would go on with it until their last token. `oneOf` is held
as `anyOf` where its alternatives overlap: the library cannot count them."""
_KEPT = 64  # compiled schemas


class GrammarError(RuntimeError):
    """A text cannot go on: the schema is too complex at this point."""


class Grammar:
    """One request's text so far. All of its tokens go in but the one that ends it."""

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    def mask(self) -> NDArray[np.uint32]:
        """The tokens that may come next, as in Draw.mask: the ending ones where the text is complete."""
        mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint32)
        if self._matcher.is_error():
            raise GrammarError(_first_line(self._matcher.get_error()))
        if not mask.any():  # say a letter that the tokenizer cannot spell
            raise GrammarError("no token of the model's spells what must come next")
        return mask

    def masks(self, tokens: Sequence[int]) -> list[NDArray[np.uint32]]:
        """`mask` now and after each of these tokens, none of which is taken."""
        copy = Grammar(self._matcher.deep_copy())
        masks = [copy.mask()]
        for token in tokens:
            copy.take(token)
            masks.append(copy.mask())
        return masks

    def mask_after(self, tokens: Sequence[int]) -> NDArray[np.uint32]:
        """The last of `masks`."""
        copy = Grammar(self._matcher.deep_copy())
        for token in tokens:
            copy.take(token)
        return copy.mask()

    def fitting(self, tokens: list[int]) -> list[int]:
        """These tokens up to the first that must not come."""
        return tokens[: self._matcher.validate_tokens(tokens)]

    def take(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            raise GrammarError(_first_line(self._matcher.get_error()))

    def misfit(self, tokens: Sequence[int]) -> str | None:
        """Takes what has been said; the reason where the text cannot follow."""
        try:
            for token in tokens:
                self.take(token)
        except GrammarError as error:
            return words(error)
        return None

    def probe(self) -> None:
        """GrammarError for one that is beyond the library's limits as soon as a first token has been said."""
        bits = np.unpackbits(self.mask().view(np.uint8), bitorder="little")
        copy = Grammar(self._matcher.deep_copy())
        copy.take(int(bits.argmax()))


def words(error: GrammarError) -> str:
    """What the client is told."""
    return f"the text cannot go on by its schema: {error}"


class Grammars:
    """Schemas compiled for a model folder's tokenizer, which is read when the first schema comes."""

    def __init__(self, folder: str | Path, *, vocabulary: int, eos: frozenset[int]) -> None:
        self._file, self._vocabulary, self._eos = Path(folder) / "tokenizer.json", vocabulary, eos
        self._compiled: OrderedDict[str, LLMatcher | Refused] = OrderedDict()  # least recently used first
        self._lock = Lock()  # of `_compiled`
        self._one_tokenizer = Lock()

    def known(self, schema: str) -> bool:
        """Whether `start` takes no time."""
        with self._lock:
            return schema in self._compiled

    def prepare(self, schema: str) -> None:
        """Compile a schema, on any thread: one of thousands of properties takes seconds, in which others go on."""
        with suppress(Refused):
            self._matcher(schema)

    def start(self, schema: str) -> Grammar:
        """The grammar of a schema, "" for any JSON object; Refused with the reason for a schema that is none."""
        if not self._eos:
            raise Refused("this model has no token that ends a text, which a schema needs", field="schema")
        return Grammar(self._matcher(schema).deep_copy())

    def _matcher(self, schema: str) -> LLMatcher:
        with self._lock:
            matcher = self._compiled.pop(schema, None)
            if matcher is not None:
                self._compiled[schema] = matcher
        if matcher is None:
            try:
                matcher = self._compile(schema)
            except Refused as refused:
                matcher = refused
            with self._lock:
                self._compiled[schema] = matcher
                if len(self._compiled) > _KEPT:
                    self._compiled.popitem(last=False)
        if isinstance(matcher, Refused):
            raise Refused(str(matcher), field=matcher.field or "schema")
        return matcher

    def _compile(self, schema: str) -> LLMatcher:
        try:
            from llguidance import LLMatcher
        except ImportError as error:
            raise Refused("a schema needs llguidance: pip install 'gridstride[serve]'", field="schema") from error
        form, _, text = schema.partition(":")
        make = {"regex": LLMatcher.grammar_from_regex, "lark": LLMatcher.grammar_from_lark}.get(form)
        if make is None:
            schema_value = _object(schema) if schema else {"type": "object"}
        try:
            if self._spells_a_token(schema):
                grammar = LLMatcher.grammar_from_lark(_unforced(form, text, schema))
            elif make is None:
                grammar = LLMatcher.grammar_from_json_schema(json.dumps(schema_value), overrides=OPTIONS)
            else:
                grammar = make(text)
            with self._one_tokenizer:
                tokenizer = self._tokenizer
            matcher = LLMatcher(tokenizer, grammar, log_level=0)
            # some schemas fail with the first token alone: {"$ref": "#"}, which says nothing; some, as a{1000}{1000},
            # with the second
            if not matcher.is_error():
                Grammar(matcher).probe()
        except (ValueError, OSError, GrammarError) as error:  # of a tokenizer that it cannot read, too
            raise Refused(f"{_kind(schema)} cannot be used: {error}", field="schema") from error
        if matcher.is_error():
            raise Refused(f"{_kind(schema)} cannot be used: {_first_line(matcher.get_error())}", field="schema")
        return matcher

    def _spells_a_token(self, schema: str) -> bool:
        """Whether it asks for a text that is also an added token's: what is certain to come is given as tokens, and
        of that text it would be that token, which spells nothing.
        """
        texts = [schema, _BACKSLASH.sub(r"\1", schema)]
        with suppress(ValueError, RecursionError):
            plain = json.dumps(json.loads(schema), ensure_ascii=False)
            texts += [plain, _BACKSLASH.sub(r"\1", plain.replace("\\\\", "\\"))]
        return any(token in text for token in self._added for text in texts)

    @cached_property
    def _added(self) -> tuple[str, ...]:
        words = json.loads(self._file.read_text()).get("added_tokens") or ()
        return tuple(token["content"] for token in words)

    @cached_property
    def _tokenizer(self) -> LLTokenizer:
        from llguidance import LLTokenizer

        return LLTokenizer(self._file.read_text(), n_vocab=self._vocabulary, eos_token=sorted(self._eos))


_BACKSLASH = re.compile(r"\\(.)")
_IN_LARK = re.compile(r"(\\.)|[/\n]")
_ESCAPED = {"/": r"\x2f", "\n": r"\n"}
"""What ends a regular expression in Lark."""


def _unforced(form: str, text: str, schema: str) -> str:
    """The same in Lark, with all tokens allowed that spell what must come."""
    if form == "lark":
        rules = text
    elif form == "regex":
        rules = f"start: /{_IN_LARK.sub(lambda found: found[1] or _ESCAPED[found[0]], text)}/"
    else:
        rules = f"start: %json {json.dumps({'x-guidance': OPTIONS, **_object(schema)})}"
    return f'%llguidance {{"no_forcing": true}}\n{rules}'


def _kind(schema: str) -> str:
    return {"regex": "the regular expression", "lark": "the grammar"}.get(schema.partition(":")[0], "the JSON schema")


def _object(schema: str) -> dict[str, Any]:
    try:
        schema_value = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the JSON schema is no JSON: {error}", field="schema") from error
    if not isinstance(schema_value, dict):
        raise Refused(f"the JSON schema is {type(schema_value).__name__}, but must be an object", field="schema")
    if (reference := endless(schema_value)) is not None:
        raise Refused(f"the JSON schema cannot be used: {reference} refers to itself alone", field="schema")
    with suppress(RecursionError):  # the library has a limit of its own, and names it
        return {**told_apart(schema_value)}
    return schema_value


def _first_line(message: str) -> str:
    """llguidance's reasons; its errors at run time go on with the parser's whole state."""
    return message.split("\n<state>")[0].strip() or "the text cannot go on"
