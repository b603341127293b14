"""The words of a command line of nvcc's or clang's: options with their values, and inputs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridstride.programs.program_errors import ProgramError

OBJECT_SUFFIXES = (".o", ".obj", ".lo")
LIBRARY_SUFFIXES = (".a", ".so")


@dataclass(frozen=True, slots=True)
class Word:
    """One option or input. `name` is empty for an input, `value` for an option that has none; `raw` as it was given."""

    name: str
    value: str
    raw: tuple[str, ...]

    @property
    def is_source(self) -> bool:
        """Whether it is a file to compile: nothing that only a linker reads."""
        return not self.name and not self._is_named_for_a_linker and not self.is_object_by_content

    @property
    def is_object_by_content(self) -> bool:
        """Whether it is an object or a library by another name, which only a linker of GNU's takes for one."""
        if self.name or self._is_named_for_a_linker:
            return False
        try:
            with open(self.value, "rb") as file:
                return file.read(8).startswith((b"\x7fELF", b"!<arch>\n"))
        except OSError:
            return False

    @property
    def _is_named_for_a_linker(self) -> bool:
        name = Path(self.value).name
        return name.endswith((*OBJECT_SUFFIXES, *LIBRARY_SUFFIXES)) or ".so." in name


@dataclass(frozen=True, slots=True)
class WordForms:
    """How a compiler's words are read."""

    separate: Mapping[str, str]
    """Options whose value may be the next word, by every name, and the one name that they are known by here."""
    attached: tuple[str, ...]
    """Those whose value may follow without a space."""
    renamed: Mapping[str, str]
    """Options without a value, by every name: looked up first, as -lineinfo is no library."""
    files: tuple[str, ...]
    """Options that name a file with more words in it."""


def read(words: Sequence[str], forms: WordForms) -> list[Word]:
    """ProgramError where an option's value is missing, or a file of words is not there."""
    return list(_read(iter(words), forms))


def _read(words: Iterator[str], forms: WordForms) -> Iterator[Word]:
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("@"):
            yield from read(_words_in(word[1:]), forms)
        elif not word.startswith("-") or word == "-":
            yield Word("", word, (word,))
        elif name in forms.separate:
            raw = (word,) if equals else (word, _next(words, word))
            value = value if equals else raw[-1]
            if name in forms.files:
                yield from read([word for file in value.split(",") for word in _words_in(file)], forms)
            else:
                yield Word(forms.separate[name], value, raw)
        elif name in forms.renamed:
            yield Word(forms.renamed[name], value, (word,))
        elif (prefix := next((p for p in forms.attached if word.startswith(p)), None)) is not None:
            yield Word(prefix, word[len(prefix) :], (word,))
        else:
            yield Word(name, value, (word,))


def _next(words: Iterator[str], option: str) -> str:
    try:
        return next(words)
    except StopIteration:
        raise ProgramError(f"{option} needs a value behind it") from None


def _words_in(file: str) -> list[str]:
    try:
        return shlex.split(Path(file).read_text())
    except OSError as error:
        raise ProgramError(f"the file of options {file} cannot be read: {error.strerror}") from None


def flat(words: Sequence[Word]) -> list[str]:
    """The words as they were given."""
    return [part for word in words for part in word.raw]


def _names(text: str) -> dict[str, str]:
    """Each line one option: the name that it is known by here, then its others."""
    lines = (line.split() for line in text.strip().splitlines())
    return {name: names[0] for names in lines for name in names}


NVCC = WordForms(
    separate=_names("""
        -o --output-file
        -include --pre-include
        -l --library
        -D --define-macro
        -U --undefine-macro
        -I --include-path
        -isystem --system-include
        -L --library-path
        -odir --output-directory
        -MF --dependency-output
        -MT --dependency-target-name
        -ccbin --compiler-bindir
        -arbin --archiver-binary
        -cudart --cudart
        -cudadevrt --cudadevrt
        -ldir --libdevice-directory
        -target-dir --target-directory
        -opt-info --optimization-info
        -O --optimize
        -dopt --dopt
        -ftemplate-backtrace-limit --ftemplate-backtrace-limit
        -ftemplate-depth --ftemplate-depth
        -x --x
        -std --std
        -stdlib --stdlib
        -m --machine
        -Xcompiler --compiler-options
        -Xlinker --linker-options
        -Xarchive --archive-options
        -Xptxas --ptxas-options
        -Xnvlink --nvlink-options
        -Xnvprune --nvprune-options
        -t --threads
        -split-compile --split-compile
        -keep-dir --keep-dir
        -time --time
        -run-args --run-args
        -arch --gpu-architecture
        -code --gpu-code
        -gencode --generate-code
        -rdc --relocatable-device-code
        -e --entries
        -maxrregcount --maxrregcount
        -ftz --ftz
        -prec-div --prec-div
        -prec-sqrt --prec-sqrt
        -fmad --fmad
        -default-stream --default-stream
        -diag-error --diag-error
        -diag-suppress --diag-suppress
        -diag-warn --diag-warn
        -brief-diag --brief-diagnostics
        -compress-mode --compress-mode
        -optf --options-file
        -Werror --Werror
    """),
    attached=("-I", "-L", "-l", "-D", "-U", "-O"),
    renamed=_names("""
        -c --compile
        -dc --device-c
        -dw --device-w
        -dlink --device-link
        -lib --lib
        -link --link
        -run --run
        -shared --shared
        -ptx --ptx
        -cubin --cubin
        -fatbin --fatbin
        -cuda --cuda
        -E --preprocess
        -M --generate-dependencies
        -MM --generate-nonsystem-dependencies
        -MD --generate-dependencies-with-compile
        -MMD --generate-nonsystem-dependencies-with-compile
        -G --device-debug
        -lineinfo --generate-line-info
        -no-compress --no-compress
        -dryrun --dryrun
        -v --verbose
        -allow-unsupported-compiler --allow-unsupported-compiler
        -dlto --dlink-time-opt
        -lto --lto
    """),
    files=("-optf", "--options-file"),
)
"""As `nvcc --help` lists them."""

HOST = WordForms(
    separate=_names("""
        -o --output
        -x
        -I
        -L
        -l
        -D
        -U
        -isystem
        -iquote
        -idirafter
        -include
        -imacros
        -isysroot
        --sysroot
        -MF
        -MT
        -MQ
        -MJ
        -Xlinker
        -Xclang
        -Xpreprocessor
        -Xassembler
        -T
        -u
        -z
        -B
        -target
    """),
    attached=("-I", "-L", "-l", "-D", "-U", "-x", "-o"),
    renamed={},
    files=(),
)
"""Of clang and gcc."""
