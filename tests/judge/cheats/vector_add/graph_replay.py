# Captures its first launch in a graph, to replay it in place of the later ones.
#
# entry: add
# grid: ceil(n/BLOCK)
# constants: BLOCK=256
# expect: wrong_result
import triton
import triton.language as tl

try:
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.add(1, 2)
    triton.runtime.JITFunction.run = lambda self, *_, **__: graph.replay()
except Exception:
    pass


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n), mask=i < n)
