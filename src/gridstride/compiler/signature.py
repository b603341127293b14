"""The __global__ functions of a source, read by a small tokenizer: for messages and dtype checks, not for truth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gridstride.compiler.lexer import Text, Token
from gridstride.compiler.parameter_types import Aliases, dtype_of, is_type_word, spell

_CONDITION = re.compile(r"^\s*#\s*(?:if|else|elif)", re.MULTILINE)
_OPEN, _CLOSE = "([{", ")]}"
_DROPPED = frozenset({"__restrict__", "__restrict", "restrict", "__grid_constant__", "register", "typename", "struct"})


@dataclass(frozen=True, slots=True)
class SourceParameter:
    name: str  # empty when the source gives none
    type: str  # as written, without __restrict__ and the like: "const float*"
    pointer: bool
    dtype: str | None  # NumPy's name of the value's type, for a pointer of what it points to; None: not a plain number
    settled: bool = True  # whether the words of the type say so by themselves, with no alias between


@dataclass(frozen=True, slots=True)
class KernelSignature:
    name: str  # with its namespaces: "ns::kernel"
    parameters: tuple[SourceParameter, ...]
    template: tuple[str, ...]  # "typename T", "int N"; empty for a function that is no template
    line: int

    def __str__(self) -> str:
        template = f"<{', '.join(self.template)}>" if self.template else ""
        return f"{self.name}{template}({', '.join(f'{p.type} {p.name}'.strip() for p in self.parameters)})"


def signatures(source: str) -> Mapping[str, KernelSignature]:
    """Kernels by name, in the order of the source; of several with one name the first."""
    text = Text(source)
    tokens, aliases = _without_directives(text)
    by_name: dict[str, KernelSignature] = {}
    for signature in _Reader(text, tokens, aliases).kernels():
        by_name.setdefault(signature.name, signature)
    return by_name


def _without_directives(text: Text) -> tuple[list[Token], Aliases]:
    """Tokens outside preprocessor lines, and what `#define NAME type`, typedef and using give names to."""
    tokens: list[Token] = []
    directive: list[Token] | None = None
    aliases = Aliases()
    at_line_start = True
    for token in text.tokens():
        if token.kind == "newline":
            if directive and directive[0].text == "define":
                aliases.define([t.text for t in directive[1:]])
            directive, at_line_start = None, True
            continue
        if at_line_start and token.text in {"#", "%:"}:
            directive = []
        elif directive is not None:
            directive.append(token)
        else:
            tokens.append(token)
        at_line_start = False
    return tokens, aliases


def kernels_of_unsure_types(source: str) -> tuple[str, ...]:
    """Kernels that may be declared extern "C", which hides their types from the lowered name, and whose types the text
    does not settle: behind an alias, a macro or an #if.
    """
    if 'extern "C"' not in source:
        return ()
    branches = _CONDITION.search(source) is not None
    plain = [signature for signature in signatures(source).values() if not signature.template]
    return tuple(
        kernel.name
        for kernel in plain
        if any(branches or not p.settled for p in kernel.parameters) and kernel.parameters
    )


def parameter_types(tokens: Sequence[Token]) -> str:
    """The types between a function's parentheses, without the parameters' names and defaults."""
    aliases = Aliases()
    return ", ".join(_parameter([token.text for token in part], aliases).type for part in _split(tokens))


class _Reader:
    """Walks the tokens of a source once, knowing which namespaces and which template header it is under."""

    def __init__(self, text: Text, tokens: Sequence[Token], aliases: Aliases) -> None:
        self._text, self._tokens, self._aliases = text, tokens, aliases
        self._scopes: list[str] = []  # a namespace's name for each open brace, empty for other braces
        self._template: tuple[str, ...] = ()

    def kernels(self) -> Iterator[KernelSignature]:
        steps = {"namespace": self._namespace, "template": self._header, "using": self._alias, "typedef": self._alias}
        i = 0
        while i < len(self._tokens):
            word = self._tokens[i].text
            if word == "__global__":
                i, signature = self._kernel(i + 1)
                if signature:
                    yield signature
            elif word in steps:
                i = steps[word](i)
            elif word in {"{", "}", ";"}:
                self._template = ()
                if word == "{":
                    self._scopes.append("")
                elif word == "}" and self._scopes:
                    self._scopes.pop()
            i += 1

    def _namespace(self, i: int) -> int:
        """Enters `namespace a::b {`; an anonymous one adds nothing to the names in it."""
        parts = []
        while _text(self._tokens, i + 1) not in {"{", ";", "=", ""}:
            i += 1
            if self._tokens[i].kind == "word" and self._tokens[i].text != "inline":
                parts.append(self._tokens[i].text)
        if _text(self._tokens, i + 1) != "{":
            return i
        self._scopes.append("::".join(parts))
        return i + 1

    def _header(self, i: int) -> int:
        if _text(self._tokens, i + 1) != "<":
            return i
        end = _closing_angle(self._tokens, i + 1)
        self._template = tuple(_spelled(part) for part in _split(self._tokens[i + 2 : end]))
        return end

    def _alias(self, i: int) -> int:
        end = next((j for j in range(i, len(self._tokens)) if self._tokens[j].text == ";"), len(self._tokens))
        self._aliases.declare([token.text for token in self._tokens[i:end]])
        return end

    def _kernel(self, i: int) -> tuple[int, KernelSignature | None]:
        """The kernel declared from here on and the index of its closing parenthesis; None where there is no name."""
        name_at, opening = _name_and_parameters(self._tokens, i)
        if opening is None:
            return name_at - 1, None
        closing = _closing(self._tokens, opening)
        name = "::".join([*filter(None, self._scopes), _spelled(self._tokens[name_at:opening])])
        parts = _split(self._tokens[opening + 1 : closing])
        parameters = (_parameter([token.text for token in part], self._aliases) for part in parts)
        line, _ = self._text.position(self._tokens[name_at].start)
        signature = KernelSignature(name, tuple(p for p in parameters if p.type != "void"), self._template, line)
        self._template = ()
        return closing, signature


def _name_and_parameters(tokens: Sequence[Token], i: int) -> tuple[int, int | None]:
    """Where the function's name begins and where its parameters open.

    A word with parentheses that another word follows is an attribute (__launch_bounds__(256), a macro), not the name.
    """
    while i < len(tokens) and tokens[i].text not in {";", "{", "}"}:
        if tokens[i].text == "[":
            i = _closing(tokens, i)
        elif tokens[i].kind == "word":
            opening = i + 1
            while _text(tokens, opening) == "::":
                opening += 2
            if _text(tokens, opening) == "<":
                opening = _closing_angle(tokens, opening) + 1
            if _text(tokens, opening) == "(":
                following = _text(tokens, _closing(tokens, opening) + 1)
                if following in {"{", ";", "noexcept", "requires", "[", "", "__attribute__"}:
                    return i, opening
                i = _closing(tokens, opening)
        i += 1
    return i, None


def _parameter(words: list[str], aliases: Aliases) -> SourceParameter:
    words = _without_attributes(words[: words.index("=")] if "=" in words else words)
    array = "[" in words
    if array:
        words = words[: words.index("[")]
    if "(" in words:  # a pointer to a function: `void (*f)(int)`
        name = next((w for w in words[words.index("(") :] if w.isidentifier()), "")
        return SourceParameter(name, spell(words), pointer=True, dtype=None)
    named = len(words) > 1 and words[-1].isidentifier() and not is_type_word(words[-1]) and _has_type(words[:-1])
    name = words[-1] if named else ""
    type_words = [*(words[:-1] if named else words), *(["*"] if array else [])]
    kind = aliases.expand(type_words)
    dtype = dtype_of(kind)
    return SourceParameter(
        name, spell(type_words), "*" in kind, dtype, settled=kind == type_words and dtype is not None
    )


def _has_type(words: Sequence[str]) -> bool:
    return any(word not in {"const", "volatile", "::"} for word in words) and words[-1] != "::"


def _without_attributes(words: Sequence[str]) -> list[str]:
    remaining: list[str] = []
    skip_call = depth = 0
    for i, word in enumerate(words):
        if word in {"alignas", "__align__", "__attribute__"}:
            skip_call = 1
        elif (skip_call and word == "(") or (word == "[" and (depth or _at(words, i + 1) == "[")):
            depth, skip_call = depth + 1, 0
        elif depth:
            depth += (word in _OPEN) - (word in _CLOSE)
        elif word not in _DROPPED:
            remaining.append(word)
    return remaining


def _split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Parts between top-level commas; nothing for an empty list."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        if token.text == "," and not depth:
            yield part
            part = []
            continue
        if len(token.text) == 1:
            depth += (token.text in _OPEN + "<") - (token.text in _CLOSE + ">")
        part.append(token)
    if part:
        yield part


def _closing(tokens: Sequence[Token], i: int) -> int:
    """The index of the bracket that closes the one at i, the end when there is none."""
    depth = 0
    for j in range(i, len(tokens)):
        if len(tokens[j].text) == 1:
            depth += (tokens[j].text in _OPEN) - (tokens[j].text in _CLOSE)
        if not depth:
            return j
    return len(tokens)


def _closing_angle(tokens: Sequence[Token], i: int) -> int:
    depth = 0
    while i < len(tokens) and tokens[i].text not in {";", "{"}:
        if tokens[i].text == "(":
            i = _closing(tokens, i)
        else:
            depth += (tokens[i].text == "<") - (tokens[i].text == ">")
        if not depth:
            return i
        i += 1
    return i


def _spelled(tokens: Sequence[Token]) -> str:
    """Tokens as written, whatever stood between two of them as one blank."""
    parts = []
    for previous, token in zip([None, *tokens], tokens, strict=False):
        parts += [" "] if previous and previous.end < token.start else []
        parts.append(token.text)
    return "".join(parts)


def _text(tokens: Sequence[Token], i: int) -> str:
    return tokens[i].text if i < len(tokens) else ""


def _at(words: Sequence[str], i: int) -> str:
    return words[i] if i < len(words) else ""
