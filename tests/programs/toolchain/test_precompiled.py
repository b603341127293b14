"""Headers that are parsed once: where a file's own text begins, and that nothing else of a program changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.compile import Compiling, compile_all, execute
from gridstride.programs.toolchain.precompiled import PrecompiledHeaders, end_of_headers, header_words
from gridstride.programs.toolchain.wheels import Toolchain

TEXT = b"""# 1 "a.cu"
# 1 "<built-in>"
static char x;
# 1 "a.cu"
#define y
# 61 "/cuda_runtime.h" 3
typedef int z;
# 17 "a.cu"
int main() { }
# 3 "/vector" 3
template class v;
# 20 "a.cu"
"""


def test_a_files_own_text_begins_behind_that_of_the_headers() -> None:
    assert TEXT[end_of_headers(TEXT, "a.cu") :].startswith(b'# 17 "a.cu"\nint main')
    assert end_of_headers(TEXT, "other.cu") == 0
    assert end_of_headers(b'# 1 "a.cu"\nint main() { }\n', "a.cu") == 0


def test_headers_are_compiled_with_the_files_own_words() -> None:
    words = ["clang++", "-c", "-x", "c++", "-O2", "/k/a.cpp", "-o", "a.o"]
    assert header_words(words, "/k/a.cpp") == ["clang++", "-x", "c++-header", "-O2"]


@pytest.mark.timeout(600)
def test_a_second_text_with_the_same_headers_goes_on_from_them(tools: Toolchain, tmp_path: Path) -> None:
    ran: list[Sequence[str]] = []

    def run(words: Sequence[str], folder: Path, more: Mapping[str, str]) -> tuple[int, str]:
        ran.append(words)
        return execute(words, folder, more)

    how = Compiling(run, PrecompiledHeaders(tmp_path / "kept"))
    source = tmp_path / "a.cu"

    def compile(text: str) -> bytes:
        ran.clear()
        source.write_text(f"#include <cstdio>\n{text}")
        ((made,), _) = compile_all(tools, [source], Options(), arch="sm_90", progress=lambda _: None, how=how)
        return made

    main = '__global__ void k() {{ }}\nint main() {{ k<<<1, 1>>>(); return printf("the word {}"); }}\n'
    first = compile(main.format("one"))
    assert sum("c++-header" in words for words in ran) == 1
    second = compile(main.format("two"))
    assert sum("c++-header" in words for words in ran) == 0
    assert "-include-pch" in ran[-1]
    assert (b"word one\0" in first, b"word two\0" in second, b"word one\0" in second) == (True, True, False)
    assert compile(main.format("two") + "// a comment\n") == second  # nothing but the text is looked at
    assert all("-E" in words or "--dryrun" in words for words in ran)
    with pytest.raises(BuildFailed) as failed:  # cudafe++ takes it, clang does not
        compile(main.format("three").replace("return", 'asm("nonsense %%" :: "?"(1)); return'))
    assert "a.cu" in failed.value.output
    assert "pch" not in failed.value.output
    assert len(list((tmp_path / "kept").glob("*.pch"))) == 1
    how = Compiling(run, PrecompiledHeaders(tmp_path / "kept"))  # as another process finds them
    compile(main.format("four"))
    assert sum("c++-header" in words for words in ran) == 0
    (kept,) = (tmp_path / "kept").glob("*.pch")
    kept.write_bytes(b"spoilt")
    assert b"word five\0" in compile(main.format("five"))
    assert not kept.exists()  # it is made anew, not tried again


def test_where_nothing_can_be_kept_headers_are_compiled_with_the_rest(tools: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file in the folder's place")
    (source := tmp_path / "a.cu").write_text('#include <cstdio>\nint main() { return printf("six"); }\n')
    how = Compiling(execute, PrecompiledHeaders(tmp_path / "kept"))
    ((made,), _) = compile_all(tools, [source], Options(), arch="sm_90", progress=lambda _: None, how=how)
    assert b"six\0" in made
