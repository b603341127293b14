"""Volatile loads by which a thread waits, told from those that it only reads."""

from __future__ import annotations

import pytest

from gridstride.compiler import compile_cuda
from gridstride.virtual.lowering.analysis.polls import polls_of
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.flow import cfg

KERNEL = """
extern "C" __global__ void k(volatile int *flag, volatile int *s, int *data, int n) {
    const int t = threadIdx.x;
    BODY
}"""
POLLS = {
    "a loop": "while (*flag != t) {}",
    "sleeps": "while (*flag != t) __nanosleep(20);",
    "a fence in the loop": "while (*flag != t) __threadfence();",
    "one bit": "while (!(*flag >> t & 1)) {}",
    "work in the last round": "for (bool go = true; go;) if (*flag == t) { data[0] += t; *flag = 1; go = false; }",
    "done in the last round": "bool done = false; while (!done) { if (*flag == t) { *flag = t + 1; done = true; } }",
    "so many rounds": "for (int k = 0; k < n && *flag != t; ++k) {}",
}
READS = {
    "a condition": "if (*flag == t) data[0] = t;",
    "a sum in step": "for (int k = 16; k; k /= 2) if (t < k) s[t] = s[t] + s[t + k];",
    "a maximum in step": "for (int k = n; k; k /= 2) if (t < k && s[t] < s[t + k]) s[t] = s[t + k];",
    "a sort in step": "for (int more = 1; more;) { more = s[t] > s[t + 1]; s[t] = s[t + 1]; }",
    "a count": "int k = 0; while (*flag != t) data[k++] = t;",
    "a step and the last one": "for (int go = 1; go;) { s[t] = s[t] + s[t + 16]; if (*flag == t) go = 0; }",
    "a value in a loop": "for (int k = 0; k < n; ++k) data[k] = *flag;",
}


def polls(body: str) -> int:
    (entry,) = parse(compile_cuda(KERNEL.replace("BODY", body)).ptx).entries
    graph = cfg.build(entry)
    return sum(1 for loop in graph.loops for _ in polls_of(graph, loop))


@pytest.mark.parametrize("name", POLLS)
def test_a_loop_that_goes_round_for_a_value_waits(name: str) -> None:
    assert polls(POLLS[name]) == 1


@pytest.mark.parametrize("name", READS)
def test_who_does_something_in_each_round_does_not_wait(name: str) -> None:
    assert polls(READS[name]) == 0
