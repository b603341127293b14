"""Triton's own text to PTX: hints for caches in either spelling, and what cannot be read."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
from gridstride.compiler.python.triton_text import compile_text

COPY = """
module @copy {
  tt.func public @copy(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>) {
    %0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %1 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %3 = tt.load %2 evictionPolicy = evict_last : tensor<128x!tt.ptr<f32>>
    %4 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %5 = tt.addptr %4, %0 : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    tt.store %5, %3 : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
"""


def test_a_module_becomes_ptx_and_what_a_launch_needs() -> None:
    code = compile_text(COPY, parameters=2, num_warps=2, num_stages=3, arch="sm_90a")
    assert code.entry == "copy"
    assert code.threads == 64
    assert ".visible .entry copy(" in code.ptx
    assert code.ptx.split(")")[0].count(".param") == 2 + code.hidden
    assert compile_text(COPY, parameters=2, num_warps=2, num_stages=3, arch="sm_90a") == code


def test_what_is_no_module_of_tritons_is_an_error() -> None:
    with pytest.raises(RuntimeError):
        compile_text("module {", parameters=0, num_warps=4, num_stages=3, arch="sm_90a")
