"""The grammar of an answer: thoughts, then text or calls whose arguments satisfy their schemas, in llguidance's Lark.

Text is free up to a format's opening mark. Lexemes are read in parallel: one that ends with a mark ends there, so free
text must not begin as something else does, or it would be taken for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridstride.serve.answers.formats import CallFormat, Glue, Marks
from gridstride.serve.engine.grammar import OPTIONS
from gridstride.serve.engine.unions import told_apart

_ANY = r"(.|\n)*"
_META = frozenset("\\.+*?()|[]{}^$#&-~/")  # not "<" and ">", which escaped are the edges of words
SpecialId = Callable[[str], int | None]
"""The id of a mark that is a special token, which no text spells; None for one that is text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Which tools may be called, and whether one must be."""

    format: CallFormat
    tools: Sequence[tuple[str, Mapping[str, Any]]]  # names and schemas of their arguments
    must: bool
    several: bool


@dataclass(frozen=True, slots=True)
class Thoughts:
    """`begun`: the prompt ends within them; else they may come."""

    marks: Marks
    begun: bool


def grammar(*, calls: Calls | None, thoughts: Thoughts | None, content: Mapping[str, Any] | None, id: SpecialId) -> str:
    """Lark of an answer; `content`: the schema of what is said where nothing is called, None: any text."""
    avoided = [thoughts.marks.opening] if thoughts and not thoughts.begun else []
    rules: list[str] = []
    answers: list[str] = []
    if calls is not None:
        rules += _calls(calls, avoided, free=content is None and not calls.must, id=id)
        answers = ["called"]
        avoided = [*avoided, *([calls.format.bare] if calls.format.bare else [])]
    if content is not None and not (calls and calls.must):
        rules.append(f"content: {_json(content)}")
        answers.append("content")
    elif calls is not None and not calls.must:
        rules.append(f"content: /{avoiding(avoided)}/")
        answers.append("content")
    body = f"({' | '.join(answers)})"
    if thoughts is None:
        return "\n".join([f"start: {body}", *rules])
    return "\n".join([f"start: thought{'' if thoughts.begun else '?'} {body}", *_thought(thoughts, id), *rules])


def avoiding(prefixes: Iterable[str]) -> str:
    """A regular expression of all texts that begin with none of these."""
    rests: dict[str, list[str]] = {}
    for prefix in prefixes:
        rests.setdefault(prefix[0], []).append(prefix[1:])
    if not rests:
        return _ANY
    other_first = f"[^{''.join(map(_escaped, rests))}]{_ANY}"
    deeper = [_escaped(first) + avoiding(suffixes) for first, suffixes in rests.items() if "" not in suffixes]
    return f"(|{'|'.join([other_first, *deeper])})"


def _thought(thoughts: Thoughts, id: SpecialId) -> list[str]:
    opening, closing = (_mark(mark, id) for mark in (thoughts.marks.opening, thoughts.marks.closing))
    rules = [f"thought: {'' if thoughts.begun else opening} thinking /[ \\n]{{0,4}}/"]
    return [*rules, *_until("thinking", _ANY, thoughts.marks.closing, closing)]


def _calls(calls: Calls, avoided: Sequence[str], *, free: bool, id: SpecialId) -> list[str]:
    form = calls.format
    opening = _mark(form.opening, id)
    more = f"({_glue(form.between, id)} call)*" if calls.several else ""
    rules = [f"calls: {_glue(form.first, id)} call {more} {_glue(form.last, id)}"]
    if free:
        text = avoiding([*avoided, *([form.bare] if form.bare else [])])
        rules += _until("opened", text, form.opening, opening)
        rules.append(f"called: opened calls{' | calls' if form.bare else ''}")
    else:
        rules.append(f"called: {opening}{'?' if form.bare else ''} calls")
    rules.append("call: " + " | ".join(f"call_{number}" for number in range(len(calls.tools))))
    for number, (name, schema) in enumerate(calls.tools):
        head, middle, tail = (_glue(glue, id) for glue in (form.head, form.middle, form.tail))
        rules.append(f"call_{number}: {head} {json.dumps(name)} {middle} {_json(schema)} {tail}")
    return rules


def _until(rule: str, text: str, mark: str, written: str) -> list[str]:
    """Text up to the first mark."""
    if written.startswith("<["):
        return [f"{rule}: /{text}/ {written}"]
    return [f"{rule}[lazy]: /{text}/ {written}"]


def _glue(glue: Glue, id: SpecialId) -> str:
    parts = [(f"/{part}/" if part else "") if index % 2 == 0 else _mark(part, id) for index, part in enumerate(glue)]
    return " ".join(part for part in parts if part)


def _mark(mark: str, id: SpecialId) -> str:
    special = id(mark)
    return json.dumps(mark) if special is None else f"<[{special}]>"


def _json(schema: Mapping[str, Any]) -> str:
    return f"%json {json.dumps({'x-guidance': OPTIONS, **told_apart(schema)})}"


def _escaped(char: str) -> str:
    return f"\\{char}" if char in _META else char
