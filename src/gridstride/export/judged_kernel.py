"""A kernel of a problem as it compiles: its entry, its launch, and the dtypes that its element type may be."""

from __future__ import annotations

import re
from dataclasses import replace

from gridstride.compiler import CompileError
from gridstride.device.choice import use
from gridstride.device.modules.module import cuda
from gridstride.export.export_errors import ExportError
from gridstride.export.operator_signature import ELEMENTS, NUMERIC, OperatorSignature, signature
from gridstride.judge.execution.runnable import RefusedError, build
from gridstride.judge.find import Folder, find, problem_names
from gridstride.judge.header import KernelFile
from gridstride.judge.problem import Problem
from gridstride.virtual.gpu import VirtualGPU

_ELEMENT = re.compile(r"^#ifndef ELEMENT\b", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*#\s*include\s*([\"<][^\">]+[\">])", re.MULTILINE)


def compiled(problem: Problem, kernel: KernelFile) -> OperatorSignature:
    """The op of a kernel file; ExportError for one that does not compile, or that another file belongs to."""
    if kernel.filename.endswith(".py"):
        raise ExportError(f"{kernel.filename} is Python: kernels in CUDA C++ can be exported")
    if quoted := [header for header in headers(kernel) if header.startswith('"')]:
        raise ExportError(f"{kernel.filename} includes {quoted[0]}: what is exported is one file")
    gpu = VirtualGPU("h200")
    try:
        runnable = build(problem, kernel, gpu)
    except RefusedError as refused:
        raise ExportError(f"{kernel.filename} cannot be run: {refused.finding.message}") from None
    with_launch = replace(kernel, entry=runnable.kernel.name, launch=runnable.launch)
    elements, of_element = (
        _elements(problem, with_launch, gpu) if _ELEMENT.search(kernel.source) else ((), frozenset[str]())
    )
    return signature(problem, with_launch, elements=elements, of_element=of_element)


def headers(kernel: KernelFile) -> tuple[str, ...]:
    """What the file includes, as it is written."""
    return tuple(dict.fromkeys(_INCLUDE.findall(kernel.source)))


def backward_of(folder: Folder) -> Folder | None:
    """The problem that is named for a problem's gradient, where there is one with a ladder."""
    name = f"{folder.problem.name}_backward"
    return find(name) if name in problem_names() else None


def _elements(problem: Problem, kernel: KernelFile, gpu: VirtualGPU) -> tuple[tuple[str, ...], frozenset[str]]:
    """The dtypes for which it compiles, and the arrays that change with them."""
    by_name: dict[str, list[str | None]] = {}
    assert kernel.entry is not None
    with use(gpu):
        for element in ELEMENTS:
            options = [f"-DELEMENT={NUMERIC[element].kernel}"]
            try:
                bound = cuda(kernel.source, options, filename=kernel.filename)[kernel.entry].bound()
            except CompileError:
                continue  # it has no code for that one
            by_name[element] = [parameter.dtype for parameter in bound.parameters]
    names = [parameter.name for parameter in problem.parameters]
    of = {name for number, name in enumerate(names) if all(by_name[name][number] == name for name in by_name)}
    return (tuple(by_name), frozenset(of)) if of else ((), frozenset())
