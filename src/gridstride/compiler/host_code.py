"""The device part of a source that has host code too, as nvcc takes it for the device.

nvcc compiles a file twice and drops each time what belongs to the other side; NVRTC refuses host functions and host
variables. What is one of them only the compiler knows, behind macros and templates: its messages say it, and what they
name is taken out of the text, line for line, so that every other line and column stays where it was.

A host function is declared as deleted rather than cut out where that can be: names then mean what they mean to nvcc,
and a kernel that calls it is told so. What the compiler does not call host code is never touched, unless nothing in it
is said to be for the device.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gridstride.compiler.declarations import Declaration, code_tokens, declarations
from gridstride.compiler.diagnostics import Diagnostic
from gridstride.compiler.lexer import Text

_HOST = re.compile(
    r"is considered a host (function|variable)|explicitly marked as a __host__ function"
    r"|lambda closure class members was inferred to be __host__"
)
_DEVICE_WORDS = frozenset({
    "__global__", "__device__", "__constant__", "__shared__", "__managed__", "__grid_constant__", "__launch_bounds__",
})  # fmt: skip
_USED = re.compile(
    r'identifier "(\w+)" is undefined|function "(?:[^"(]*[\s:*&])?~?(\w+)(?:<[^"]*>)?\([^"]*".* is a deleted function'
    r'|has no member "(\w+)"|constructor of "(\w+)" cannot be referenced'
)
_NEARLY = re.compile(r"(?i)_*(global|device|constant|shared|kernel)_*")  # __golbal__ is not told from a type
_MACRO = re.compile(r"_*[A-Z][A-Z0-9]*_[A-Z0-9_]*")
_DEFINE = re.compile(r"^[^\S\n]*#[^\S\n]*define[^\S\n]+(\w+)(.*)", re.MULTILINE)


def is_about_host_code(diagnostic: Diagnostic) -> bool:
    """Whether the compiler says of what stands there that it is for the host."""
    return _HOST.search(diagnostic.message) is not None


_NO_SIDE = "without execution space annotations"


def has_no_side(diagnostic: Diagnostic) -> bool:
    """Whether the compiler takes a function for the host's because nothing says whose it is."""
    return _NO_SIDE in diagnostic.message


def without_host_noise(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Errors of a source that is not to be compiled: what is said of host code last, and in words that help.

    NVRTC names every host function beside a missing brace, and advises an option that makes device code of them.
    """
    of_device = [diagnostic for diagnostic in diagnostics if not is_about_host_code(diagnostic)]
    if any(diagnostic.severity == "error" for diagnostic in of_device):
        return of_device
    return [_rephrased(diagnostic) for diagnostic in diagnostics]


def _rephrased(diagnostic: Diagnostic) -> Diagnostic:
    if not has_no_side(diagnostic):
        return diagnostic
    message = "this function is neither a kernel nor device code, and nothing else in the source is"
    note = "write __global__ before a kernel, __device__ before a function that kernels call"
    return replace(diagnostic, message=message, notes=(*diagnostic.notes, note))


def explain_host_use(diagnostic: Diagnostic, taken_out: Mapping[str, str]) -> Diagnostic:
    """An error about a name that was taken out, with where that stands and what would make it device code."""
    match = _USED.search(diagnostic.message)
    name = next((group for group in match.groups() if group), "") if match else ""
    if name not in taken_out:
        return diagnostic
    where = taken_out[name]
    note = (
        f"{name} is host code ({where}), which kernels cannot use: write __device__ or __host__ __device__ before a "
        "function, __device__ or __constant__ before a variable"
    )
    if ": " in where:
        note = f"{name} does not compile as device code ({where})"
    return replace(diagnostic, notes=(*diagnostic.notes, note))


class DevicePart:
    """One file, with the host code that the compiler found in it so far taken out."""

    def __init__(self, source: str, macros: Mapping[str, str] | None = None) -> None:
        self._text = Text(source)
        self._tokens, directives = code_tokens(self._text)
        self._starts = [self._text.origin(token.start) for token in self._tokens]
        self._directives = [(self._text.origin(start), self._text.origin(end)) for start, end in directives]
        self._declarations = declarations(self._tokens)
        self._macros = {**(macros or {}), **macros_of(source)}
        self._device_macros = _device_macros(self._macros)
        self._blank: set[Declaration] = set()
        self._deleted: dict[Declaration, str] = {}
        self._device: set[Declaration] = set()  # constexpr functions
        self.names: dict[str, str] = {}
        """What was taken out, by name: where it stands, and why where the compiler did not call it host code."""

    @property
    def is_device_code(self) -> bool:
        """Whether anything here is for the device; a file without is one whose author forgot __global__."""
        return any(token.text in _DEVICE_WORDS for token in self._tokens)

    def take_out(self, diagnostics: Iterable[Diagnostic]) -> bool:
        """Take out what the messages are about; whether anything new was."""
        old_state = (set(self._blank), dict(self._deleted), set(self._device))
        errors = list(diagnostics)
        for diagnostic in errors:
            if is_about_host_code(diagnostic):
                self._host(self._path(diagnostic), diagnostic)
        for diagnostic in errors:
            if diagnostic.severity == "error" and not is_about_host_code(diagnostic):
                self._other(self._path(diagnostic), diagnostic)
        return old_state != (self._blank, self._deleted, self._device)

    def text(self) -> str:
        """The source without its host code, each line where it was."""
        edits: list[tuple[int, int, str]] = []
        for span in self._blank:
            edits.append((*self._span(span.start, span.end), ""))
        for span in self._deleted:
            edits += self._deleting(span)
        edits += [(self._starts[e.head], self._starts[e.head], "__host__ __device__ ") for e in self._device]
        return self._edited(edits)

    def _host(self, path: Sequence[Declaration], diagnostic: Diagnostic) -> None:
        if not path:
            return
        declaration = path[-1]
        if declaration.kind == "class":  # a variable declared behind its type, or a member that was not understood
            self._blank_member(path, diagnostic)
        elif "variable" in diagnostic.message or "lambda" in diagnostic.message or declaration.kind == "other":
            self._take(declaration)
        elif {"constexpr", "consteval"} & self._specifiers(declaration):
            self._device.add(declaration)
        else:
            self._delete(declaration, path)

    def _delete(self, declaration: Declaration, path: Sequence[Declaration]) -> None:
        """A function: declared as deleted where it is declared first."""
        assert declaration.parameters is not None
        words = self._words(declaration.start, declaration.end)
        head_words = words[: declaration.parameters[0] - declaration.start]
        ending = words[declaration.parameters[1] + 1 - declaration.start :]
        name_at = head_words.index("operator") if "operator" in head_words else len(head_words) - 1
        qualified = head_words[max(name_at - 1, 0)] == "::" or head_words[-3:-1] == ["::", "~"]
        explicit = head_words[:1] == ["template"] and head_words[1:2] != ["<"]
        is_main = declaration.name == "main" and not declaration.member
        if qualified or explicit or is_main or "friend" in head_words or head_words[-1] == ">":
            self._take(declaration)
            return
        if ending[:2] == ["=", "0"] or ending[-3:] == ["=", "0", ";"]:
            self._device.add(declaration)
            return
        key = f"{id(path[-2]) if len(path) > 1 else ''} {declaration.name} {self._key(declaration)}"
        if key in self._deleted.values() and self._deleted.get(declaration) != key:
            self._take(declaration)
        elif declaration not in self._blank and not self._hides_device_code(declaration):
            self._deleted[declaration] = key
            self._name(declaration)

    def _other(self, path: Sequence[Declaration], diagnostic: Diagnostic) -> None:
        """An error of another kind: in a declaration that is for the host by all that it says, it is gone with it."""
        if not path or any(declaration in self._blank for declaration in path):
            return
        for declaration in path:
            if declaration in self._deleted:
                if not self._in_body(declaration, diagnostic):
                    del self._deleted[declaration]
                    self._take(declaration, diagnostic.message)
                return
        inner = path[-1]
        if inner.member and inner.kind == "function" and not self._for_device(inner):
            self._take(inner, diagnostic.message)  # the class keeps its layout
        elif not self._for_device(path[0]):
            self._take(path[0], diagnostic.message)

    def _blank_member(self, path: Sequence[Declaration], diagnostic: Diagnostic) -> None:
        declaration = path[-1]
        if declaration.body is not None and self._index(diagnostic) > declaration.body[1]:
            instance = replace(
                declaration, start=declaration.body[1] + 1, end=declaration.end - 1, kind="other", members=()
            )
            if instance.start <= instance.end:
                self._blank.add(instance)
        elif not self._for_device(path[0]):
            self._take(path[0])

    def _take(self, declaration: Declaration, why: str = "") -> None:
        if self._hides_device_code(declaration):
            return
        self._deleted.pop(declaration, None)
        self._blank.add(declaration)
        self._name(declaration, why)

    def _hides_device_code(self, declaration: Declaration) -> bool:
        """Whether kernels seem to stand in it, which a brace too few or a misspelt word can make of it."""
        words = self._words(declaration.start, declaration.end)
        return "__global__" in words or any(_NEARLY.fullmatch(word) for word in self._specifiers(declaration))

    def _name(self, declaration: Declaration, why: str = "") -> None:
        name = declaration.name or self._declared(declaration)
        if name.isidentifier():
            line, _ = self._text.position(self._tokens[declaration.start].start)
            self.names.setdefault(name, f"line {line}{f': {why}' if why else ''}")

    def _declared(self, declaration: Declaration) -> str:
        """The name of a variable or type: the last word before what ends it."""
        words = self._words(declaration.head, declaration.end)
        stop = next((i for i, word in enumerate(words) if word in {"=", "[", "{", ";"} and i), len(words))
        if words[:1] == ["using"] and len(words) > 1:
            return words[1]
        return words[stop - 1]

    def _for_device(self, declaration: Declaration) -> bool:
        words = set(self._words(declaration.start, declaration.end))
        if words & _DEVICE_WORDS or words & self._device_macros:
            return True
        # A macro of a header that was not read may say it.
        return any(_MACRO.fullmatch(word) and word not in self._macros for word in self._specifiers(declaration))

    def _specifiers(self, declaration: Declaration) -> set[str]:
        return set(
            self._words(declaration.head, declaration.parameters[0] if declaration.parameters else declaration.end)
        )

    def _in_body(self, declaration: Declaration, diagnostic: Diagnostic) -> bool:
        assert declaration.parameters is not None
        return self._index(diagnostic) > declaration.parameters[1]

    def _key(self, declaration: Declaration) -> str:
        """The types of a function's parameters, as far as a redeclaration would repeat them."""
        from gridstride.compiler.signature import parameter_types

        assert declaration.parameters is not None
        opening, closing = declaration.parameters
        trailing = "const" if "const" in self._words(closing + 1, min(closing + 2, declaration.end)) else ""
        return f"{parameter_types(self._tokens[opening + 1 : closing])}{trailing}"

    def _deleting(self, declaration: Declaration) -> list[tuple[int, int, str]]:
        assert declaration.parameters is not None
        i, words = declaration.parameters[1] + 1, self._words(0, len(self._tokens) - 1)
        while i < declaration.end and words[i] not in {"{", ":", "=", ";", "try"}:
            if words[i] == "(":
                depth = 1
                while depth and i < declaration.end:
                    i += 1
                    depth += (words[i] == "(") - (words[i] == ")")
            i += 1
        start, end = self._span(i, declaration.end)
        edits = [(start, end, "=delete;")]
        # Of a deleted function at namespace scope that is no template NVRTC wants to know the side all the same.
        side = "__device__" if not declaration.member and not declaration.template else ""
        host = [j for j in range(declaration.start, i) if words[j] == "__host__"]
        if side and not host:
            edits.append((self._starts[declaration.head], self._starts[declaration.head], f"{side} "))
        return edits + [(*self._span(j, j), side if j == host[0] else "") for j in host]

    def _edited(self, edits: Iterable[tuple[int, int, str]]) -> str:
        source, out, last = self._text.source, [], 0
        for start, end, text in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
            if start < last:
                continue  # within one that went before
            out.append(source[last:start])
            out.append(self._blanked(start, end, text))
            last = end
        return "".join([*out, source[last:]])

    def _blanked(self, start: int, end: int, text: str) -> str:
        """Spaces for what stands there, with line ends and preprocessor lines kept."""
        directives = [(max(a, start), min(b, end)) for a, b in self._directives if a < end and b > start]
        pieces, at = [], start
        for a, b in [*directives, (end, end)]:
            pieces += [_spaces(self._text.source[at:a]), self._text.source[a:b]]
            at = b
        blank = "".join(pieces)
        fits = blank[: len(text)].isspace() and "\n" not in blank[: len(text)]
        return text + (blank[len(text) :] if fits else blank)

    def _span(self, first: int, last: int) -> tuple[int, int]:
        return self._starts[first], self._text.origin(self._tokens[last].end - 1) + 1

    def _words(self, first: int, last: int) -> list[str]:
        return [token.text for token in self._tokens[first : last + 1]]

    def _index(self, diagnostic: Diagnostic) -> int:
        """The token at a message's line and column."""
        line_starts = self._text.line_starts
        if not 1 <= diagnostic.line <= len(line_starts):
            return -1
        at = line_starts[diagnostic.line - 1]
        if not diagnostic.column:
            return bisect_left(self._starts, at)
        return bisect_right(self._starts, at + diagnostic.column - 1) - 1

    def _path(self, diagnostic: Diagnostic) -> list[Declaration]:
        """The declarations around a message's place, from the outermost."""
        index = self._index(diagnostic)
        path: list[Declaration] = []
        level: Sequence[Declaration] = self._declarations
        while inner := next((declaration for declaration in level if declaration.holds(index)), None):
            path.append(inner)
            level = inner.members
        return path


def macros_of(source: str) -> dict[str, str]:
    """What each #define of a text stands for, with its parameters."""
    return dict(_DEFINE.findall(re.sub(r"\\[ \t]*\r?\n", " ", source)))


def _device_macros(macros: Mapping[str, str]) -> set[str]:
    """Macros in whose text something says that it is for the device, also through other macros."""
    words = {name: set(re.findall(r"\w+", text)) for name, text in macros.items()}
    names = {name for name, inside in words.items() if inside & _DEVICE_WORDS}
    while more := {name for name, inside in words.items() if inside & names} - names:
        names |= more
    return names


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
