"""No control character, bidirectional mark or zero width leaves the command line, whatever file it came from."""

from __future__ import annotations

import contextlib
import io
import json
import unicodedata
from pathlib import Path

import pytest

from gridstride import cli
from gridstride.judge.sandbox.limits import WorkerLimits

MARKS = "\033]0;owned\007\033[2J\x9b31m\u202egnp\u2066\u200b"
RACE = f"""// {MARKS} title
// entry: add
// grid: ceil(n/64)
// block: 64
#include <cstdio>
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {{
    __shared__ float s[64]; /* {MARKS} */
    s[threadIdx.x] = a[threadIdx.x < n ? threadIdx.x : 0]; /* {MARKS} */
    if (blockIdx.x + threadIdx.x == 0) printf("\\033[2J\\x9b\\n");
    c[0] = s[63 - threadIdx.x]; /* {MARKS} */
}}
"""
CHATTY = """// grid: ceil(n/64)
// block: 64
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
    for (int k = 0; i == 0 && k < 40; ++k) printf("line %d of thread 0, the same in all cases\\n", k);
}
"""
BROKEN = RACE.replace("float s[64];", f"float {MARKS} s[64];")


def out_of(*words: str) -> tuple[str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit):
        cli.main(list(words))
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return texts[0], texts[1]


def assert_plain(text: str) -> None:
    assert text
    odd = {c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert not odd, sorted(map(hex, map(ord, odd)))


@pytest.fixture(params=[RACE, BROKEN], ids=["race", "broken"])
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "k.cu"
    path.write_text(request.param)
    return path


def test_a_file_with_a_strange_name_is_named_without_one(tmp_path: Path) -> None:
    path = tmp_path / "k\033[31m\u202e.cu"
    path.write_text(RACE)
    out, err = out_of("check", str(path), "-p", "vector_add", "--device", "virtual")
    assert not out
    assert_plain(err)


def test_what_a_kernel_prints_in_all_its_launches_is_shown_up_to_one_bound(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(CHATTY)
    out, err = out_of("check", str(path), "-p", "vector_add", "--device", "virtual")
    assert out.startswith("pass")
    assert "\nline 0 of thread 0" in err
    assert err.count("what the kernel prints from here on is not shown") == 1
    assert err.count("of thread 0") < WorkerLimits().printed / len("line 0 of thread 0")


def test_check_shows_no_code(kernel: Path) -> None:
    out, err = out_of("check", str(kernel), "-p", "vector_add", "--device", "virtual")
    assert_plain(out)
    assert_plain(err)
    assert "]0;owned" in out  # the line at fault is there
    assert ("race, line 8" in out) == ("[2J" in err)  # and what was printed, where it ran


def test_json_holds_none(kernel: Path) -> None:
    out, _ = out_of("check", str(kernel), "-p", "vector_add", "--device", "virtual", "--json")
    found = json.loads(out)
    assert found["findings"]
    assert_plain(json.dumps(found, ensure_ascii=False))


def test_a_report_holds_none(kernel: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    out, err = out_of("explain", str(kernel), "-p", "vector_add", "--device", "virtual", "--report", str(page))
    assert_plain(out)
    assert_plain(err)
    assert_plain(page.read_text())


def test_a_wrong_use_says_none() -> None:
    _, err = out_of("check", f"no such file{MARKS}", "-p", "vector_add")
    assert_plain(err)
    _, err = out_of("check", __file__, "-p", f"no such problem{MARKS}")
    assert_plain(err)
