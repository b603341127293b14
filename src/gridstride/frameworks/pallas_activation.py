"""Telling JAX how `pallas_call` is lowered for the processor, and taking that back."""

from __future__ import annotations

from typing import Any

from gridstride.compiler.frontends import require
from gridstride.compiler.python.triton_text import AT_LEAST
from gridstride.frameworks.pallas_kernel import FunctionLine, PallasCall, PallasKernel
from gridstride.frameworks.shared_setting import SettingUser, SharedSetting
from gridstride.frameworks.triton_launcher import virtual_gpu

_JAX = (0, 10)
_CPU = "cpu"
_WARPS, _STAGES = 4, 3
"""Where a kernel names none: JAX's own for its GPUs."""


class PallasActivation(SettingUser):
    """Pallas on the virtual GPU from the moment that this is made; at the end of a `with` JAX is as it was.

    JAX forgets then what it compiled.
    """

    def __init__(self) -> None:
        super().__init__(_RULE)
        require("jax", distribution="jax", at_least=_JAX, install="'jax>=0.10'", what="JAX")
        require("triton", distribution="triton", at_least=AT_LEAST, install="'triton>=3.6'", what="Triton")
        self.take()

    def __repr__(self) -> str:
        return f"<Pallas {'on the virtual GPU' if self._active else 'as ever'}>"


class _Rule(SharedSetting):
    """How JAX lowers a kernel for the processor."""

    def put_ours(self) -> None:
        from jax._src.interpreters import mlir
        from jax._src.pallas.pallas_call import pallas_call_p

        mlir.register_lowering(pallas_call_p, lower, platform=_CPU)

    def put_back(self) -> None:
        import jax
        from jax._src.interpreters import mlir
        from jax._src.pallas.pallas_call import pallas_call_p

        del mlir._platform_specific_lowerings[_CPU][pallas_call_p]
        jax.clear_caches()


_RULE = _Rule()


def lower(context: Any, *operands: Any, interpret: Any, **parameters: Any) -> Any:
    """A call of the host in the place of a kernel; JAX's own where it is to interpret the kernel."""
    from jax._src.callback import emit_python_callback
    from jax._src.pallas.pallas_call import _pallas_call_lowering

    if interpret:
        return _pallas_call_lowering(context, *operands, interpret=interpret, **parameters)
    kernel = compiled(context, **parameters)
    results, _, _ = emit_python_callback(
        context, kernel, None, list(operands), context.avals_in, context.avals_out, has_side_effect=False
    )
    return results


def compiled(
    context: Any, *, jaxpr: Any, grid_mapping: Any, mesh: Any, compiler_params: Any, input_output_aliases: Any,
    **_: Any,
) -> PallasKernel:  # fmt: skip
    """The kernel of one pallas_call; ValueError for what Pallas' Triton has not."""
    from jax._src.pallas.triton import core, lowering

    name = jaxpr.debug_info.func_name
    if compiler_params is not None and not isinstance(compiler_params, core.CompilerParams):
        kind = f"{type(compiler_params).__module__}.{type(compiler_params).__name__}"
        raise ValueError(f"{name}: compiler_params are {kind}, and the virtual GPU takes Pallas' Triton only")
    if grid_mapping.num_dynamic_grid_bounds or grid_mapping.num_index_operands or mesh is not None:
        raise ValueError(f"{name}: Pallas' Triton has no dynamic grid, scalar prefetch or mesh")
    params = compiler_params or core.CompilerParams()
    device = virtual_gpu()
    major, minor = device.properties.compute_capability
    lowered = lowering.lower_jaxpr_to_triton_module(
        jaxpr, grid_mapping, "cuda", 10 * major + minor, mlir_ctx=context.module_context
    )
    if len(lowered.grid) > 3:
        raise ValueError(f"{name}: the grid {tuple(lowered.grid)} has more than three dimensions")
    x, y, z = (*lowered.grid, 1, 1, 1)[:3]
    call = PallasCall(
        lowered.module.operation.get_asm(enable_debug_info=True),
        FunctionLine.of(jaxpr.debug_info.func_src_info),
        grid=(x, y, z),
        num_warps=params.num_warps or _WARPS,
        num_stages=params.num_stages or _STAGES,
        names=_names(jaxpr, len(context.avals_in) + len(context.avals_out)),
        outputs=[(aval.shape, aval.dtype) for aval in context.avals_out],
        aliases={to: of for of, to in input_output_aliases},
    )
    return PallasKernel(call, device)


def _names(jaxpr: Any, count: int) -> list[str]:
    names = list(jaxpr.debug_info.arg_names or ())
    return [names[i] if i < len(names) and names[i] else f"ref {i}" for i in range(count)]
