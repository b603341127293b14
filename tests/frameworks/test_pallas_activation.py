"""JAX's Pallas on the virtual GPU: kernels in jit, vmap, scan and grad; what is refused; JAX as it was afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

import gridstride as gs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("jax", reason="JAX is not installed: pip install 'jax>=0.10'")
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

if jax.default_backend() != "cpu":
    pytest.skip("JAX has a GPU here, and is left to it", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def _here() -> Iterator[None]:
    with gs.use(gs.VirtualGPU(workers=2, time_limit=60)), gs.frameworks.pallas():
        yield


def double_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def double(x, **how):
    return pl.pallas_call(double_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), **how)(x)


def product_kernel(a_ref, b_ref, o_ref):
    o_ref[...] = plt.dot(a_ref[...], b_ref[...])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8"])
def test_an_array_of_each_type(dtype: str) -> None:
    x = jnp.arange(64, dtype=dtype)
    assert double(x).dtype == dtype
    assert (double(x) == x * 2).all()


def test_a_grid_of_blocks_inside_of_jit() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((64, 32)).astype(np.float16), rng.random((32, 64)).astype(np.float16)
    call = pl.pallas_call(
        product_kernel,
        out_shape=jax.ShapeDtypeStruct((64, 64), jnp.float32),
        grid=(2, 2),
        in_specs=[pl.BlockSpec((32, 32), lambda i, j: (i, 0)), pl.BlockSpec((32, 32), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((32, 32), lambda i, j: (i, j)),
    )
    out = jax.jit(lambda a, b: call(a, b) + 1)(a, b)
    np.testing.assert_allclose(out, a.astype(float) @ b.astype(float) + 1, rtol=1e-3)


def test_vmap_scan_and_an_aliased_output() -> None:
    x = jnp.ones((4, 32))
    alias = partial(double, input_output_aliases={0: 0})
    assert (jax.vmap(alias)(x) == 2).all()
    assert (x == 1).all()
    assert (jax.lax.scan(lambda each, _: (alias(each), None), x, None, length=4)[0] == 16).all()


def test_launches_are_counted_with_the_kernels_lines() -> None:
    with gs.frameworks.observed() as runs:
        jax.block_until_ready(double(jnp.ones(256)))
    assert [run.kernel for run in runs] == ["double_kernel"]
    assert runs[0].counters.global_sectors == 2 * 256 * 4 // 32
    assert "o_ref[...] = x_ref[...] * 2" in str(runs[0])


def test_a_fault_is_said_with_its_line() -> None:
    def beyond(x_ref, o_ref):
        i = pl.program_id(0) * 64 + jnp.arange(64)
        plt.store(o_ref.at[i], plt.load(x_ref.at[i]))

    call = pl.pallas_call(beyond, out_shape=jax.ShapeDtypeStruct((64,), jnp.float32), grid=(2,))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"(?s)KernelFault.*test_pallas_activation.py"):
        jax.block_until_ready(call(jnp.ones(64)))


def test_interpreted_kernels_are_jaxs() -> None:
    with gs.frameworks.observed() as runs:
        assert (double(jnp.ones(8), interpret=True) == 2).all()
    assert runs == []


def test_parameters_of_another_compiler_are_refused() -> None:
    class Others:
        pass

    from gridstride.frameworks.pallas_activation import compiled

    jaxpr = jax.make_jaxpr(double)(jnp.ones(8)).eqns[0].params["jaxpr"]
    with pytest.raises(ValueError, match=r"double_kernel: compiler_params are .*Others"):
        compiled(None, jaxpr=jaxpr, grid_mapping=None, mesh=None, compiler_params=Others(), input_output_aliases=())


def test_jax_is_as_it_was_afterwards() -> None:
    from gridstride.frameworks.pallas_activation import _RULE

    _RULE.leave()
    try:
        with pytest.raises(ValueError, match="Only interpret mode"):
            double(jnp.ones(16))
        with gs.frameworks.pallas() as outer:
            with gs.frameworks.pallas():
                assert (double(jnp.ones(16)) == 2).all()
            assert (double(jnp.ones(16)) == 2).all()
            assert "virtual" in repr(outer)
    finally:
        _RULE.take()
