"""The process that ncu watches: launches one kernel on the physical GPU, once at the observed size and once at the
timed one, and nothing else.

    python -m gridstride.judge.explain.nsight_runner FILE PROBLEM SEED
"""

from __future__ import annotations

import sys

from gridstride.device.choice import device
from gridstride.judge.cases.data import generate
from gridstride.judge.execution.buffers import Buffers
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.judge.problem import Case


def main(words: list[str]) -> None:
    path, name, seed = words
    problem, gpu = find(name).problem, device("physical")
    runnable = build(problem, read_kernel(path), gpu)
    for sizes in (problem.observed, problem.timed):
        case = Case(sizes, "normal", int(seed))
        buffers = Buffers(gpu, problem, sizes, generate(problem, case))
        buffers.fill(0)
        runnable.run(case, buffers.arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
