"""The lab that is filled in by hand: what each kind of mistake gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.course.content import day
from gridstride.course.labs import table_lab

RIGHT = day(1).solution.read_text()


def judged(folder: Path, text: str) -> list[tuple[str, int | None, str]]:
    file = folder / "chips.toml"
    file.write_text(text)
    return [(each.kind, each.line, each.message) for each in table_lab.judge(day(1), file).findings]


def test_a_right_table_gives_the_lab_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "chips.toml"
    file.write_text(RIGHT)
    verdict = table_lab.judge(day(1), file)
    assert verdict.passed
    assert verdict.measured == {"requests_of_10000": 626}


@pytest.mark.parametrize(
    ("old", "new", "kind", "said"),
    [
        ("peak_tflops = 19.5", "peak_tflops = 9.75", "wrong_value", "A fused multiply-add counts as two"),
        ("peak_tflops = 19.5", "peak_tflops = 19500", "wrong_value", "That is in GFLOP/s"),
        ("peak_tflops = 19.5", "peak_tflops = 15", "wrong_value", "0.7696 times what the chip's data give"),
        ("peak_tflops = 19.5", "peak_tflops = -19.5", "wrong_value", "it must be above 0"),
        ("peak_tflops = 19.5", 'peak_tflops = ""', "empty_cell", "a100.peak_tflops is empty, in TFLOP/s"),
        ("peak_tflops = 19.5", "", "empty_cell", "a100.peak_tflops is empty"),
        ("peak_tflops = 19.5", 'peak_tflops = "19.5"', "no_number", "is '19.5': remove the quotes, peak_tflops = 19.5"),
        ("peak_tflops = 19.5", 'peak_tflops = "19.5 TFLOP/s"', "no_number", "remove the quotes and what follows the"),
        ("peak_tflops = 19.5", 'peak_tflops = "1,9500"', "no_number", "remove the quotes, peak_tflops = 19500"),
        (
            "peak_tflops = 19.5",
            'peak_tflops = "many"',
            "no_number",
            "a number of TFLOP/s belongs there, without quotes",
        ),
        ("resident_warps = 6912", "resident_warps = 6900", "wrong_value", "give; it must be exact"),
        ("peak_tflops = 19.5", "peak_tflops = true", "no_number", "a number"),
        ("peak_tflops = 19.5", "peak_tflops = nan", "wrong_value", "it must be above 0"),
        ("peak_tflops = 19.5", "peak_tflops = inf", "no_number", "no figure of a chip is that large"),
        ("peak_tflops = 19.5", "peak_tflops = -1e400", "no_number", "no figure of a chip is that large"),
        ("peak_tflops = 19.5", f"peak_tflops = {'9' * 400}", "no_number", "no figure of a chip is that large"),
        ("peak_tflops = 19.5", f"peak_tflops = {'9' * 5000}", "unreadable", "far larger than a cell's"),
        ("peak_tflops = 19.5", f"peak_tflops = {'[' * 3000}{']' * 3000}", "unreadable", "far larger than a cell's"),
        ("peak_tflops = 19.5", "peak_tflops = 19,5", "unreadable", "this is no TOML"),
        ("[a100]", "[a1000]", "unknown_row", "did you mean a100?"),
        ("peak_tflops = 19.5", "peak = 19.5", "unknown_column", "peak is no column"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, old: str, new: str, kind: str, said: str) -> None:
    found = judged(tmp_path, RIGHT.replace(old, new, 1))
    assert kind in [each[0] for each in found]
    assert any(said in each[2] for each in found), found


@pytest.mark.parametrize("line", ["peak_tflops = 19,5", "peak_tflops = 19.5 TFLOP/s", "peak_tflops ="])
def test_what_is_no_toml_is_shown_with_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "chips.toml"
    file.write_text(RIGHT.replace("peak_tflops = 19.5", line, 1))
    (finding,) = table_lab.judge(day(1), file).findings
    assert finding.line == RIGHT.splitlines().index("peak_tflops = 19.5") + 1
    assert finding.shown[-1] == f"{finding.line:>6} | {line}"
    assert "at line" not in finding.message


def test_the_right_value_is_not_told(tmp_path: Path) -> None:
    ((_, line, message),) = judged(tmp_path, RIGHT.replace("peak_tflops = 19.5", "peak_tflops = 15", 1))
    assert line == RIGHT.splitlines().index("peak_tflops = 19.5") + 1
    assert "19.4" not in message


# -- rows that are kernels ---------------------------------------------------------------------------------------------
KERNELS = day(38).solution.read_text()


@pytest.mark.parametrize(
    ("old", "new", "kind", "said"),
    [
        ('limiter = "latency"', 'limiter = "L1"', "wrong_value", "is it busy most of the time"),
        ('limiter = "latency"', 'limiter = "waiting"', "unknown_word", 'one of "DRAM", "L2"'),
        ('limiter = "latency"', "limiter = 7", "unknown_word", "scan.limiter is 7"),
        ('limiter = "latency"', 'limiter = ""', "empty_cell", "scan.limiter is empty: what does"),
        ("busiest = 92", "busiest = 0.92", "wrong_value", "That is a fraction"),
        ("busiest = 92", "busiest = 46", "wrong_value", "it is less than explain gives"),
        ("[scan]", "[scans]", "unknown_row", "did you mean scan?"),
    ],
)
def test_a_mistake_about_a_kernel_is_named(tmp_path: Path, old: str, new: str, kind: str, said: str) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(KERNELS.replace(old, new, 1))
    (found, *_) = table_lab.judge(day(38), file).findings
    assert (found.kind, said in found.message) == (kind, True), found


def test_a_word_is_right_in_any_case(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(KERNELS.replace('"DRAM"', '"dram"'))
    assert table_lab.judge(day(38), file).passed
