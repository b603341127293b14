"""Declarations of a source at namespace and class scope: where each begins and ends, and where its parts are.

Read from tokens, without the preprocessor and without types: enough to say which declaration the compiler's message
about a line and column belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gridstride.compiler.lexer import Text, Token

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_ATTRIBUTES = frozenset({
    "__launch_bounds__", "__attribute__", "__declspec", "alignas", "__align__", "decltype", "noexcept", "explicit",
    "__cluster_dims__", "__block_size__", "__maxnreg__", "requires",
})  # fmt: skip
_BRACKET_MACRO = re.compile(r"^[A-Z_0-9]*_(BEGIN|END|PROLOGUE|EPILOGUE)\w*$")  # opens or closes a namespace, say
_CLASSES = frozenset({"class", "struct", "union"})
_TRAILING = frozenset({"const", "volatile", "noexcept", "override", "final", "try", "requires", "__attribute__"})
_LABELS = frozenset({"public", "private", "protected"})


@dataclass(frozen=True, slots=True)
class Declaration:
    """Indices into the tokens; `end` is the last one's. `body` is a function's braces or a class's."""

    kind: str  # "function", "class" or "other"
    start: int
    end: int
    head: int  # first token behind a template header and extern "C"
    name: str = ""
    parameters: tuple[int, int] | None = None
    body: tuple[int, int] | None = None
    member: bool = False
    template: bool = False
    members: tuple[Declaration, ...] = field(default=(), compare=False)

    def holds(self, index: int) -> bool:
        """Whether a token is part of the declaration."""
        return self.start <= index <= self.end


def code_tokens(text: Text) -> tuple[list[Token], list[tuple[int, int]]]:
    """Tokens outside preprocessor lines, and where in `clean` the lines stand that must stay: not the #pragmas.

    Where the branches of an #if open braces that are closed behind it, those of the first branch alone are kept.
    """
    tokens: list[Token] = []
    lines: list[tuple[int, int]] = []
    branches: list[_Branches] = []
    directive: list[Token] = []
    at_line_start = True
    for token in text.tokens():
        if token.kind == "newline":
            if directive:
                lines += _finished(directive, tokens, branches)
            directive, at_line_start = [], True
        elif directive or (at_line_start and token.text in {"#", "%:"}):
            directive.append(token)
        else:
            at_line_start = False
            tokens.append(token)
    if directive:
        lines += _finished(directive, tokens, branches)
    return [token for token in tokens if token.kind != "ignored"], lines


@dataclass(slots=True)
class _Branches:
    """Where the branches of an #if begin among the tokens."""

    starts: list[int]


def _finished(directive: Sequence[Token], tokens: list[Token], branches: list[_Branches]) -> Iterator[tuple[int, int]]:
    word = directive[1].text if len(directive) > 1 else ""
    if word in {"if", "ifdef", "ifndef"}:
        branches.append(_Branches([len(tokens)]))
    elif word in {"else", "elif", "elifdef", "elifndef"} and branches:
        branches[-1].starts.append(len(tokens))
    elif word == "endif" and branches:
        _balance(branches.pop().starts, tokens)
    if word not in {"pragma", ""}:
        yield directive[0].start, directive[-1].end


def _balance(starts: Sequence[int], tokens: list[Token]) -> None:
    """Leave out the braces of all branches but the first, where that one opens or closes more than it should."""
    second = starts[1] if len(starts) > 1 else len(tokens)
    depth = sum((token.text == "{") - (token.text == "}") for token in tokens[starts[0] : second])
    if depth and len(starts) > 1:
        for i in range(second, len(tokens)):
            if tokens[i].text in {"{", "}"}:
                tokens[i] = Token("ignored", "", tokens[i].start, tokens[i].end)


def declarations(tokens: Sequence[Token]) -> list[Declaration]:
    """All declarations of a file, those within namespaces among them, in order."""
    return list(_Reader(tokens).scope(0, len(tokens), member=False))


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._words = [token.text if token.kind not in {"string", "raw", "char"} else '"' for token in tokens]

    def scope(self, i: int, end: int, *, member: bool) -> Iterator[Declaration]:
        """What is declared between two tokens, at namespace scope or in a class."""
        while i < end:
            word = self._words[i]
            inner = self._namespace(i, end)
            if inner is not None:
                close = self._closing(inner, end)
                yield from self.scope(inner + 1, close, member=False)
                i = close + 1
            elif word in {";", "}"} or _BRACKET_MACRO.search(word):
                i += 1
            elif member and word in _LABELS and self._at(i + 1) == ":":
                i += 2
            else:
                declaration = self._declaration(i, end, member)
                yield declaration
                i = declaration.end + 1

    def _namespace(self, i: int, end: int) -> int | None:
        """The brace of `namespace … {` or `extern "C" {`."""
        if self._words[i] == "extern" and self._at(i + 1) == '"' and self._at(i + 2) == "{":
            return i + 2
        first = i + 1 if self._words[i] == "inline" else i
        if self._at(first) != "namespace":
            return None
        while first < end and self._words[first] not in {"{", ";", "="}:
            first += 1
        return first if self._at(first) == "{" else None

    def _declaration(self, i: int, end: int, member: bool) -> Declaration:
        head, template = self._head(i, end)
        if self._words[head : head + 1] and self._words[head] == "enum":
            return Declaration("other", i, self._until_semicolon(head, end), head, member=member, template=template)
        braces = self._class_body(head, end)
        if braces is not None:
            members = tuple(self.scope(braces[0] + 1, braces[1], member=True))
            last = self._until_semicolon(braces[1] + 1, end)
            return Declaration("class", i, last, head, self._at(head + 1), None, braces, member, template, members)
        return self._function_or_other(i, head, end, member, template)

    def _head(self, i: int, end: int) -> tuple[int, bool]:
        """Behind `template <…>` and `extern "C"`."""
        head, template = i, False
        while head < end:
            if self._words[head] == "template" and self._at(head + 1) == "<":
                head, template = self._closing_angle(head + 1, end) + 1, True
            elif self._words[head] == "extern" and self._at(head + 1) == '"':
                head += 2
            else:
                break
        return min(head, end - 1), template

    def _class_body(self, head: int, end: int) -> tuple[int, int] | None:
        """The braces of a class that is defined here; None where the declaration only uses one, or none."""
        i = head
        while i < end and self._words[i] in {"typedef", "static", "const", "constexpr", "volatile", "friend", "inline"}:
            i += 1
        if self._at(i) not in _CLASSES:
            return None
        i += 1
        while i < end and self._words[i] not in {"{", ";", "=", ")", "&", "*"}:
            if self._words[i] == "(":
                attribute = self._words[i - 1] in _ATTRIBUTES
                if not attribute:
                    return None
                i = self._closing(i, end)
            elif self._words[i] == "<":
                i = self._closing_angle(i, end)
            i += 1
        return (i, self._closing(i, end)) if self._at(i) == "{" else None

    def _function_or_other(self, start: int, head: int, end: int, member: bool, template: bool) -> Declaration:
        i, name, parameters, initialisers = head, "", None, False
        while i < end:
            word = self._words[i]
            if word == "operator" and parameters is None:
                i, name, parameters = self._operator(i, end)
            elif word == "(" and parameters is None and self._is_name(i - 1):
                name, parameters = self._words[i - 1], (i, self._closing(i, end))
                i = parameters[1]
                if parameters[0] == head + 1 and self._at(i + 1).isidentifier() and self._at(i + 1) not in _TRAILING:
                    break  # a macro with arguments and no semicolon: what follows is a declaration of its own
            elif word in {"(", "["}:
                i = self._closing(i, end)
            elif word == "=":
                last = self._until_semicolon(i, end)
                kind = "function" if parameters else "other"
                return Declaration(kind, start, last, head, name, parameters, None, member, template)
            elif word == ":" and parameters:
                initialisers = True
            elif word == "{":
                close = self._closing(i, end)
                if parameters is None:
                    i = close
                elif initialisers and self._words[i - 1].isidentifier():
                    i = close  # a member that is initialised with braces
                else:
                    return Declaration("function", start, close, head, name, parameters, (i, close), member, template)
            elif word == ";":
                break
            elif word == "}":  # of something that was not understood
                i -= 1
                break
            i += 1
        last = max(start, min(i, end - 1))
        return Declaration("function" if parameters else "other", start, last, head, name, parameters, None, member,
                           template)  # fmt: skip

    def _operator(self, i: int, end: int) -> tuple[int, str, tuple[int, int] | None]:
        opening = i + 1
        if self._at(opening) == "(" and self._at(opening + 1) == ")":
            opening += 2
        while opening < end and self._words[opening] not in {"(", ";", "{"}:
            opening += 1
        if self._at(opening) != "(":
            return opening - 1, "operator", None
        name = "".join(self._words[i:opening])
        close = self._closing(opening, end)
        return close, name, (opening, close)

    def _is_name(self, i: int) -> bool:
        word = self._words[i]
        if word in _ATTRIBUTES:
            return False
        return word.isidentifier() or word == ">"

    def _until_semicolon(self, i: int, end: int) -> int:
        while i < end and self._words[i] != ";":
            i = self._closing(i, end) + 1 if self._words[i] in _PAIRS else i + 1
        return min(i, end - 1)

    def _closing(self, i: int, end: int) -> int:
        depth = 0
        for j in range(i, end):
            depth += (self._words[j] in _PAIRS) - (self._words[j] in {")", "]", "}"})
            if not depth:
                return j
        return end - 1

    def _closing_angle(self, i: int, end: int) -> int:
        depth = 0
        while i < end and self._words[i] not in {";", "{"}:
            if self._words[i] == "(":
                i = self._closing(i, end)
            else:
                depth += (self._words[i] == "<") - (self._words[i] == ">")
            if not depth:
                return i
            i += 1
        return min(i, end - 1)

    def _at(self, i: int) -> str:
        return self._words[i] if 0 <= i < len(self._words) else ""
