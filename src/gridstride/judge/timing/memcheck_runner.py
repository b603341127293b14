"""The process that compute-sanitizer watches: launches one kernel on the physical GPU at the timed size.

python -m gridstride.judge.timing.memcheck_runner FILE PROBLEM SEED
"""

from __future__ import annotations

import sys

from gridstride.device.choice import device
from gridstride.judge.cases.data import generate
from gridstride.judge.execution.buffers import Buffers, Placement
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.judge.problem import Case


def main(words: list[str]) -> None:
    path, name, seed = words
    problem, gpu = find(name).problem, device("physical")
    runnable = build(problem, read_kernel(path), gpu)
    case = Case(problem.timed, "normal", int(seed))
    buffers = Buffers(gpu, problem, problem.timed, generate(problem, case), Placement(guarded=False))
    buffers.fill(0)
    runnable.run(case, buffers.arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
