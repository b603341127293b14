"""`__cluster_dims__`, which clang's CUDA does not have: read off LLVM IR, where it is an annotation, put into the PTX.

The arguments are expressions, of a template's parameters too, so only the compiler can say what they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME = "__cluster_dims__"
READ = "-DGRIDSTRIDE_READ_CLUSTER_DIMS"
"""The option by which clang_missing.h has kernels annotated."""
_ANNOTATION = re.compile(r"\{ ptr @(?P<kernel>[\w$.]+), ptr @[\w.]+, ptr @[\w.]+, i32 \d+, ptr @(?P<values>[\w.]+) \}")
_VALUES = re.compile(
    r"^@(?P<name>[\w.]+) = [^{\n]*\{[^}\n]*\} \{(?P<values>[^}\n]*)\}, section \"llvm\.metadata\"", re.M
)
_NUMBER = re.compile(r"i\d+ (\d+)")
_MARK = 'c"gridstride_cluster\\00"'


def cluster_dims(ir: str) -> dict[str, tuple[int, int, int]]:
    """Blocks of a cluster along x, y and z of the kernels that have it, by lowered name."""
    if _MARK not in ir:
        return {}
    values = {
        match["name"]: [int(number) for number in _NUMBER.findall(match["values"])] for match in _VALUES.finditer(ir)
    }
    dims = {}
    for match in _ANNOTATION.finditer(ir):
        if values_of_kernel := values.get(match["values"]):
            x, y, z = (*values_of_kernel, 1, 1)[:3]
            dims[match["kernel"]] = (x, y, z)
    return dims


def with_cluster_dims(ptx: str, dims: Mapping[str, tuple[int, int, int]]) -> str:
    """The PTX with the directives that NVRTC writes for `__cluster_dims__`."""
    for kernel, sizes in dims.items():
        head = re.compile(rf"^[ \t.\w]*\.entry[ \t]+{re.escape(kernel)}\([^)]*\)[^\n]*\n", re.MULTILINE)
        if match := head.search(ptx):
            directives = f".explicitcluster\n.reqnctapercluster {', '.join(map(str, sizes))}\n"
            ptx = ptx[: match.end()] + directives + ptx[match.end() :]
    return ptx
