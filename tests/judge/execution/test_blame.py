"""A wrong result names the line, the block and the thread that wrote it, or that should have."""

from __future__ import annotations

from functools import cache

import pytest

from gridstride.judge.cases.case_list import public_cases
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find
from gridstride.judge.header import parse_kernel
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.verdict import Finding
from gridstride.judge.verify import verify
from gridstride.virtual.gpu import VirtualGPU

HEAD = "// grid: ceil(n/256)\n// block: 256\n"
SIGNATURE = 'extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {\n'
INDEX = "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


@cache
def _vector_add() -> tuple[object, ...]:
    problem = find("vector_add").problem
    return (problem, prepare(problem, [case for case in public_cases(problem) if case.sizes["n"] == 1000][:1]))


def found(body: str, head: str = HEAD) -> Finding:
    """The finding on a vector_add of 1000 elements whose body starts on line 5."""
    problem, prepared = _vector_add()
    kernel = parse_kernel(head + SIGNATURE + INDEX + body + "}\n", filename="mine.cu")
    findings = verify(problem, build(problem, kernel, VirtualGPU("h200")), prepared).findings
    return findings[0]


def test_the_line_that_wrote_the_wrong_element_is_named_and_not_its_neighbour() -> None:
    finding = found("    if (i < n && i != 7) c[i] = a[i] + b[i];\n    if (i == 7) c[i] = a[i] - b[i];\n")
    assert finding.kind == "wrong_result"
    assert finding.line == 6
    assert finding.thread == {"block": (0, 0, 0), "thread": (7, 0, 0)}
    assert "Element 7 was written on line 6" in finding.message


def test_the_last_of_several_writes_is_the_one_that_counts() -> None:
    finding = found("    if (i < n) c[i] = a[i] + b[i];\n    if (i == 300) c[i] = 0;\n")
    assert finding.line == 6
    assert finding.thread == {"block": (1, 0, 0), "thread": (44, 0, 0)}
    assert "the last of 2 writes" in finding.message


def test_a_vector_store_that_covers_the_element_is_found() -> None:
    body = "    if (4 * i + 3 < n) ((float4*)c)[i] = make_float4(1, 2, 3, 4);\n"
    assert (found(body).line, found(body).thread) == (5, {"block": (0, 0, 0), "thread": (0, 0, 0)})


def test_a_grid_that_is_too_small_is_said_to_have_no_such_block() -> None:
    finding = found("    if (i < n) c[i] = a[i] + b[i];\n", HEAD.replace("ceil(n/256)", "n//256"))
    assert finding.pattern == "never_written"
    assert finding.line == 5
    assert "No thread writes element 768" in finding.message
    assert "the next would be block 3, and the grid has only blocks 0 to 2" in finding.message


def test_a_grid_of_which_some_blocks_do_the_work_of_others_is_not_said_to_be_too_small() -> None:
    body = "    const int j = i - 10 * 256;\n    if (j >= 0 && j < 256) c[j] = a[j] + b[j];\n"
    finding = found(body, HEAD.replace("ceil(n/256)", "11"))
    assert "No thread writes element 256" in finding.message
    assert "There are threads enough" in finding.message
    assert "the grid has only blocks" not in finding.message


def test_the_thread_that_should_have_written_is_named() -> None:
    finding = found("    if (i < n && i != 400) c[i] = a[i] + b[i];\n")
    assert finding.thread == {"block": (1, 0, 0), "thread": (144, 0, 0)}
    assert "should have written but did not" in finding.message


def test_a_store_that_nobody_reaches_is_pointed_at() -> None:
    finding = found("    if (i > 5000) c[i] = a[i] + b[i];\n")
    assert finding.line == 5
    assert "No thread reaches the store on line 5" in finding.message


def test_nobody_is_blamed_where_a_write_cannot_be_watched() -> None:
    asm = '    if (i < n) asm volatile("st.global.f32 [%0], %1; membar.gl;" :: "l"(c + i), "f"(a[i]));\n'
    finding = found(asm)
    assert finding.kind == "wrong_result"
    assert finding.line is None
    assert "written on line" not in finding.message


def test_a_kernel_without_a_store_has_no_line() -> None:
    finding = found("    if (a[i % n] == 12345.0f && i > n) __trap();\n")
    assert finding.kind == "wrong_result"
    assert finding.line is None


@pytest.mark.parametrize(("problem", "kernel", "text"), [
    ("transpose", "copied", "out[row * N + column]"),
    ("reduction", "every_lane_adds", "atomicAdd(total"),
    ("saxpy", "lost_tail", "reinterpret_cast<float4*>(y)[group] = q"),
])  # fmt: skip
def test_wrong_kernels_of_the_ladders_get_the_line_that_stores(problem: str, kernel: str, text: str) -> None:
    folder = find(problem)
    file = next(each for each in folder.wrong() if each.name == kernel)
    runnable = build(folder.problem, file, VirtualGPU("h200"))
    finding = verify(folder.problem, runnable, prepare(folder.problem, public_cases(folder.problem))).findings[0]
    assert finding.line is not None
    assert text in file.source.splitlines()[finding.line - 1]
