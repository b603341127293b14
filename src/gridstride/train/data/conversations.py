"""Conversations and preferences of JSONL files, as tokens of which some are the model's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridstride.models.errors import ModelError
from gridstride.models.text.answer_spans import rendered
from gridstride.models.text.surrogates import half_character
from gridstride.models.text.tokenizer import Tokenizer, special_tokens
from gridstride.train.data import jsonl
from gridstride.train.errors import TrainError

ROLES = ("system", "developer", "user", "assistant", "tool")
_SFT = '{"messages": [{"role": …, "content": …}, …]}'
_DPO = '{"prompt": …, "chosen": …, "rejected": …}'
Messages = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """Tokens [N] of a text, and which of them the model has to say."""

    tokens: NDArray[np.int32]
    answer: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """Two answers to one prompt."""

    chosen: TrainingExample
    rejected: TrainingExample

    @property
    def length(self) -> int:
        return max(len(self.chosen.tokens), len(self.rejected.tokens))


T = TypeVar("T", TrainingExample, PreferencePair)


@dataclass(slots=True)
class Rows(Generic[T]):
    """What files gave; `prompts` are of rows held out, for a look at what the model answers."""

    train: list[T] = field(default_factory=list)
    validation: list[T] = field(default_factory=list)
    prompts: list[Messages] = field(default_factory=list)
    too_long: list[tuple[int, str]] = field(default_factory=list)  # tokens, and where
    count: int = 0
    fingerprint: str = ""

    def left_out(self, length: int) -> str:
        """Which rows are not used, in words; "" for none."""
        if not self.too_long:
            return ""
        most, where = max(self.too_long)
        share = f"{len(self.too_long)} of {self.count}"
        return (
            f"{share} rows have more than {length} tokens (the longest {most}, {where}); --set data.sequence takes more"
        )


class Template:
    """A tokenizer with its chat template: from messages to examples."""

    def __init__(self, tokenizer: Tokenizer, template: str) -> None:
        self._tokenizer, self._template = tokenizer, template
        own = special_tokens(tokenizer.folder).get("eos_token") if tokenizer.folder else None
        end = None if own is None else tokenizer.id(own)
        self._end = end if end is not None else min(tokenizer.eos, default=None)

    def examples(self, messages: Messages, tools: Any = None, *, last: bool = False) -> list[TrainingExample]:
        """One, or one for each answer: where the template forgets what it has said, or where an answer's beginning is
        cut, as what is said later has it uncut before it. `last`: only the last answer.

        ModelError where the template cannot be followed, or an answer's own words end it.
        """
        self._check_ends(messages)
        texts = rendered(self._tokenizer, self._template, messages, tools=tools, last=last)
        ends = messages[-1]["role"] == "assistant"
        return [example for text in texts for example in self._of_text(text.text, text.spans, ends=ends)]

    def _of_text(self, text: str, spans: Sequence[tuple[int, int]], *, ends: bool) -> Iterator[TrainingExample]:
        if len(spans) == 1 or not self._across(text, [first for first, _ in spans]):
            yield self._example(text, spans, ends=ends)
            return
        for span in spans:
            yield self._example(text[: span[1]], [span], ends=ends and span is spans[-1])

    def prompt(self, messages: Messages) -> list[int]:
        """Tokens of a conversation that the model is to answer."""
        from gridstride.models.text.chat import render

        return self._tokenizer.encode(render(self._tokenizer, messages, chat_template=self._template), special=False)

    def _example(self, text: str, spans: Sequence[tuple[int, int]], *, ends: bool) -> TrainingExample:
        ids, starts = self._encoded(text, [first for first, _ in spans])
        answer = np.zeros(len(ids), dtype=bool)
        for first, end in spans:
            answer |= (starts >= first) & (starts < end)
        after_last = ids[int(np.searchsorted(starts, spans[-1][0])) :]
        if (
            ends and self._end is not None and self._tokenizer.eos.isdisjoint(after_last)
        ):  # else no answer would ever end
            ids, answer = [*ids, self._end], np.append(answer, True)
        return TrainingExample(np.array(ids, dtype=np.int32), answer)

    def _encoded(self, text: str, firsts: Sequence[int]) -> tuple[list[int], NDArray[np.int64]]:
        """Tokens, and the characters that they begin with. None lies across the first character of an answer: when the
        model is asked, the prompt's tokens end there.
        """
        encode, decode = self._tokenizer.encode_with_places, self._tokenizer.decode
        ids, places = encode(text)
        across = self._across(text, firsts)
        if not across:
            return ids, np.array([start for start, _ in places])
        cuts = [0, *across, len(text)]
        parts = [(start, *(self._goes_on(text[start:end]) if start else encode(text[:end])))
                 for start, end in pairwise(cuts)]  # fmt: skip
        apart = [id for _, part, _ in parts for id in part]
        if decode(apart, special=True) == decode(ids, special=True):
            return apart, np.array([start + place for start, _, part in parts for place, _ in part])
        # Nothing spells the answer from there on: what lies across its beginning is learned.
        starts = [next((first for first in across if start < first < end), start) for start, end in places]
        return ids, np.array(starts)

    def _across(self, text: str, firsts: Sequence[int]) -> list[int]:
        """Which of these characters a token lies across that is not the prompt's last one: that takes white space
        behind it, as Phi-3's mark of an answer does, which is then nobody's.
        """
        ids, places = self._tokenizer.encode_with_places(text)
        across = []
        for first in firsts:
            at = next((number for number, (start, end) in enumerate(places) if start < first < end), None)
            if at is not None and self._tokenizer.encode_with_places(text[:first])[0] != ids[: at + 1]:
                across.append(first)
        return across

    def _goes_on(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Tokens of a text that stands behind another one: without the space that some tokenizers begin each with."""
        lead, _ = self._tokenizer.encode_with_places("\n")
        ids, places = self._tokenizer.encode_with_places(f"\n{text}")
        alone = self._tokenizer.encode_with_places(text)
        if ids == lead + alone[0] or ids[: len(lead)] != lead:
            return alone
        return ids[len(lead) :], [(start - 1, end - 1) for start, end in places[len(lead) :]]

    def _check_ends(self, messages: Messages) -> None:
        ends = [token for id in sorted(self._tokenizer.eos) if (token := self._tokenizer.token(id))]
        for index, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            said = [message.get("content"), message.get("reasoning_content"), message.get("tool_calls")]
            words = json.dumps(said, ensure_ascii=False)
            for token in ends:
                if token in words:
                    raise ModelError(
                        f"messages[{index}] has {token} in its words, where the model's answer would have ended: take "
                        "it out, the template writes what ends an answer"
                    )


def conversations(source: str, template: Template, *, length: int, share: float) -> Rows[TrainingExample]:
    """Of a .jsonl file, or a folder of them: rows of at most `length` tokens, a `share` of them held out.

    TrainError, with file and line, for what is no conversation or has nothing to learn from.
    """
    read = partial(_conversation, template)
    return _collected(source, read, what=_SFT, length=length, share=share, size=lambda example: len(example.tokens))


def preferences(source: str, template: Template, *, length: int, share: float) -> Rows[PreferencePair]:
    """The same of pairs of answers."""
    read = partial(_preference, template)
    return _collected(source, read, what=_DPO, length=length, share=share, size=lambda pair: pair.length)


@dataclass(frozen=True, slots=True)
class _Row(Generic[T]):
    examples: list[T]
    prompt: Messages


def _collected(
    source: str, read: Callable[[dict[str, Any]], _Row[T]], *, what: str, length: int, share: float,
    size: Callable[[T], int],
) -> Rows[T]:  # fmt: skip
    rows: Rows[T] = Rows()
    rows_by_digest: dict[bytes, list[_Row[T]]] = {}
    for file in _files(source):
        for number, row in jsonl.rows(file, read, what=what):
            rows.count += 1
            longest = max(map(size, row.examples))
            if longest > length:
                rows.too_long.append((longest, f"{file.name}:{number}"))
            else:
                rows_by_digest.setdefault(_digest(row.examples), []).append(row)
    _check_enough(source, rows, rows_by_digest, length)
    held = set(sorted(rows_by_digest)[: min(max(1, round(share * len(rows_by_digest))), len(rows_by_digest) - 1)])
    for digest, same in rows_by_digest.items():  # copies are on the same side
        for row in same:
            (rows.validation if digest in held else rows.train).extend(row.examples)
    held_prompts = (same[0].prompt for digest, same in rows_by_digest.items() if digest in held)
    rows.prompts = [prompt for prompt in held_prompts if prompt]  # none before an answer that begins
    digest_of_all = blake2b(b"".join(digest for digest, same in rows_by_digest.items() for _ in same), digest_size=12)
    digest_of_all.update(f"{length} {share}".encode())
    rows.fingerprint = digest_of_all.hexdigest()
    return rows


def _check_enough(source: str, rows: Rows[T], rows_by_digest: Mapping[bytes, object], length: int) -> None:
    if rows.too_long and not rows_by_digest:
        raise TrainError(f"data: {source}: all {rows.left_out(length)}")
    if len(rows_by_digest) < 2:
        short = f"; {rows.left_out(length)}" if rows.too_long else ""
        raise TrainError(
            f"data: {source} has {len(rows_by_digest)} different rows; at least 2 are needed, as one is held out{short}"
        )


def _files(source: str) -> Iterator[Path]:
    path = Path(source).expanduser()
    if not path.exists():
        raise TrainError(f"data: {source} is not there. Give a .jsonl file, or a folder of them.")
    paths = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not paths:
        raise TrainError(f"data: {source} holds no .jsonl file")
    yield from paths


def _digest(examples: Sequence[TrainingExample | PreferencePair]) -> bytes:
    hash_ = blake2b(digest_size=16)
    for item in examples:
        for example in (item,) if isinstance(item, TrainingExample) else (item.chosen, item.rejected):
            hash_.update(len(example.tokens).to_bytes(8, "little"))
            hash_.update(example.tokens.tobytes() + example.answer.tobytes())
    return hash_.digest()


def _conversation(template: Template, entry: dict[str, Any]) -> _Row[TrainingExample]:
    if "messages" not in entry:
        hint = "; preferences are for --set tune.objective=dpo" if "chosen" in entry else ""
        raise ValueError(f'no "messages" (it has {jsonl.fields(entry)}){hint}')
    _check_characters(entry, ("messages", "tools"))
    messages = _messages(entry["messages"], '"messages"')
    answers = [message for message in messages if message["role"] == "assistant"]
    if not answers:
        raise ValueError("no message of the role assistant: there is nothing to learn")
    tools = entry.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise ValueError('"tools" must be a list')
    last = max(index for index, message in enumerate(messages) if message["role"] == "assistant")
    return _Row(_checked_examples(partial(template.examples, messages, tools)), messages[:last])


def _preference(template: Template, entry: dict[str, Any]) -> _Row[PreferencePair]:
    for name in ("prompt", "chosen", "rejected"):
        if name not in entry:
            hint = "; conversations are for --set tune.objective=sft" if "messages" in entry else ""
            raise ValueError(f'no "{name}" (it has {jsonl.fields(entry)}){hint}')
    _check_characters(entry, ("prompt", "chosen", "rejected"))
    prompt = _turns(entry["prompt"], "prompt", "user")
    answers = [_turns(entry[name], name, "assistant") for name in ("chosen", "rejected")]
    answers = [answer[len(prompt) :] if _begins_with(answer, prompt) else answer for answer in answers]
    for name, answer in zip(("chosen", "rejected"), answers, strict=True):
        if answer[-1]["role"] != "assistant":
            raise ValueError(f'"{name}" ends with the role {answer[-1]["role"]}; it must be the assistant\'s')
    if answers[0] == answers[1]:
        raise ValueError('"chosen" and "rejected" are the same')
    chosen, rejected = (
        _checked_examples(partial(template.examples, [*prompt, *answer], last=True)) for answer in answers
    )
    return _Row([PreferencePair(chosen[-1], rejected[-1])], prompt)


def _begins_with(answer: Messages, prompt: Messages) -> bool:
    """Whether an answer is the whole conversation, the prompt before it, as some collections have it."""
    head = answer[: len(prompt)]
    return len(answer) > len(prompt) and all(
        one["role"] == other["role"] and one.get("content") == other.get("content")
        for one, other in zip(head, prompt, strict=True)
    )


def _check_characters(entry: dict[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if (half := half_character(entry.get(name))) is not None:
            raise ValueError(f'"{name}" has half a character, {half!r}')


def _turns(value: Any, name: str, role: str) -> Messages:
    """A text as a message of that role, or messages as they are."""
    if isinstance(value, str):
        return _messages([{"role": role, "content": value}], f'"{name}"')
    return _messages(value, f'"{name}"')


def _messages(value: Any, where: str) -> Messages:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{where} must be a list of messages, at least one")
    messages: Messages = []
    for index, message in enumerate(value):
        if not isinstance(message, dict):
            raise ValueError(f"{where}[{index}] must be an object with role and content")
        role = message.get("role")
        if role is None:
            raise ValueError(f"{where}[{index}] has no role (it has {jsonl.fields(message)})")
        if role not in ROLES:
            raise ValueError(f"{where}[{index}] has the role {str(role)[:24]!r}; it can be {', '.join(ROLES)}")
        calls = role == "assistant" and message.get("tool_calls")
        content = _text(message.get("content"), f"{where}[{index}]")
        if content is None and not calls:
            raise ValueError(f"{where}[{index}] has no text: content must be a string or a list of text parts")
        if role == "assistant" and not calls and not str(content).strip():
            raise ValueError(f"{where}[{index}] is an empty answer")
        if message.get("weight", 1) != 1:
            weight = message["weight"]
            raise ValueError(f"{where}[{index}] has the weight {weight!r}: every answer is learned, with weight 1")
        if calls:
            message = {**message, "tool_calls": _calls(calls, f"{where}[{index}]")}
        messages.append(message if message.get("content") == content else {**message, "content": content})
    return messages


def _calls(calls: Any, where: str) -> list[Any]:
    """With arguments as objects, which OpenAI's form has as text: templates are given objects when served, too."""
    if not isinstance(calls, list):
        raise ValueError(f'{where}: "tool_calls" must be a list')
    made = []
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(function, dict) and isinstance(arguments, str):
            try:
                call = {**call, "function": {**function, "arguments": json.loads(arguments)}}
            except ValueError:
                raise ValueError(f"{where} has a call whose arguments are not JSON: {arguments[:40]!r}") from None
        made.append(call)
    return made


def _text(content: Any, where: str) -> str | None:
    """What a message's content says: a string, or OpenAI's text parts, which become one as they do when served."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            kind = repr(str(part.get("type"))[:24]) if isinstance(part, dict) else type(part).__name__
            raise ValueError(f'{where} has a part {kind}: each must be {{"type": "text", "text": …}}')
    return "".join(part["text"] for part in content) if content else None


def _checked_examples(make: Callable[[], list[TrainingExample]]) -> list[TrainingExample]:
    try:
        examples = make()
    except ModelError as error:
        raise ValueError(str(error)) from error
    if not all(example.answer[1:].any() for example in examples):
        raise ValueError("no token of it is an answer's: there is nothing to learn")
    return examples
