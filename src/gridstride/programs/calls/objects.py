"""What a program makes and has to destroy by itself, memory aside."""

from __future__ import annotations

from collections.abc import Mapping

OBJECTS: dict[str, str] = {
    "streams": "cudaStreamDestroy", "events": "cudaEventDestroy", "graphs": "cudaGraphDestroy",
    "graph instances": "cudaGraphExecDestroy", "texture objects": "cudaDestroyTextureObject",
    "surface objects": "cudaDestroySurfaceObject", "memory pools": "cudaMemPoolDestroy",
    "green contexts": "cuGreenCtxDestroy",
    "cuBLAS handles": "cublasDestroy", "cuFFT plans": "cufftDestroy", "cuRAND generators": "curandDestroyGenerator",
    "cuSPARSE handles": "cusparseDestroy",
}  # fmt: skip
"""The call that destroys each, in the order of OBJECT_ in runtime/runtime.h."""
KINDS = tuple(OBJECTS)


def left_of(kind: str) -> str:
    """The name under which a run's counts have what is left of a kind: `graph_instances_left`."""
    return f"{kind.lower().replace(' ', '_')}_left"


def left_in_words(counts: Mapping[str, float]) -> str:
    """What a run has left, each kind with its call: `2 streams (cudaStreamDestroy)`; empty for nothing."""
    numbers = {kind: int(counts.get(left_of(kind), 0)) for kind in OBJECTS}
    parts = [
        f"{number} {kind if number > 1 else kind.removesuffix('s')} ({OBJECTS[kind]})"
        for kind, number in numbers.items()
        if number > 0
    ]
    return ", ".join(parts)
