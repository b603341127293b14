"""Launches under torch.compile: the graph breaks in front of them, and what they do is not traced."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gridstride as gs

torch = pytest.importorskip("torch")

SCALE = """
extern "C" __global__ void scale(float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
"""


@pytest.fixture(scope="module")
def kernel():
    with gs.use("virtual"):
        return gs.cuda(SCALE)["scale"]


def short(kernel, x):
    kernel[1, 32](x, 2.0, 8)


def long(kernel, x):
    kernel.launch(grid=1, block=32, args=(x, 2.0, 8))


@pytest.mark.parametrize("launch", [short, long])
def test_a_function_with_a_launch_compiles_around_it(kernel, launch):
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph

    def step(x):
        y = x * 3
        launch(kernel, y)
        return y + 1

    torch._dynamo.reset()
    with gs.use("virtual"):
        compiled = torch.compile(step, backend=count)
        assert compiled(torch.ones(8)).tolist() == [7.0] * 8
        assert compiled(torch.full((8,), 2.0)).tolist() == [13.0] * 8
    assert len(graphs) == 2  # in front of the launch and behind it


@pytest.mark.parametrize("launch", [short, long])
def test_one_graph_is_refused_with_what_makes_an_op(kernel, launch):
    torch._dynamo.reset()
    with gs.use("virtual"), pytest.raises(torch._dynamo.exc.Unsupported, match=r"gs\.torch_op makes an op"):
        torch.compile(lambda x: launch(kernel, x), backend="eager", fullgraph=True)(torch.ones(8))


@pytest.mark.slow
def test_a_kernel_made_before_pytorch_is_there(tmp_path):
    script = tmp_path / "late.py"
    script.write_text(
        f"import gridstride as gs\ngs.use('virtual')\nkernel = gs.cuda({SCALE!r})['scale']\nimport torch\n"
        "@torch.compile(backend='eager')\ndef step(x):\n    y = x * 3\n    kernel[1, 32](y, 2.0, 8)\n    return y + 1\n"
        "print(step(torch.ones(8)).tolist())\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{[7.0] * 8}\n"
