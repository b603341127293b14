"""Frameworks that launch GPU kernels themselves, unmodified and without a GPU: Triton, torch.compile, Pallas, TVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gridstride.frameworks.observers import observed

if TYPE_CHECKING:
    from gridstride.frameworks.activation import Activation
    from gridstride.frameworks.explanation import Explanation
    from gridstride.frameworks.pallas_activation import PallasActivation
    from gridstride.frameworks.tvm_program import TvmProgram

__all__ = ["TRITON_VARIABLE", "explain", "observed", "pallas", "triton", "triton_from_environment", "tvm"]

TRITON_VARIABLE = "GRIDSTRIDE_TRITON"


def triton() -> Activation:
    """Have Triton run its kernels on the virtual GPU, with CPU tensors: from here on, or until the end of a `with`.

    Where a physical GPU is, Triton is left as it is: a warning says so and `active` of what is returned is False.
    RuntimeError, with the command that mends it, where Triton or PyTorch is missing or too old.
    """
    from gridstride.frameworks.activation import Activation

    return Activation()


def pallas() -> PallasActivation:
    """Have JAX run the kernels of `pallas_call` on the virtual GPU, with arrays on the CPU: from here on, or until the
    end of a `with`.

    What is around the kernels is XLA's, on the CPU; arrays on a GPU are JAX's as ever. RuntimeError, with the command
    that mends it, where JAX or Triton is missing or too old.
    """
    from gridstride.frameworks.pallas_activation import PallasActivation

    return PallasActivation()


def tvm(library: Any) -> TvmProgram:
    """What `tvm.compile(…, target="cuda")` gave, to be called with NumPy arrays on the virtual GPU.

    RuntimeError, with the command that mends it, where TVM is missing or too old; ValueError for a library without CUDA
    kernels.
    """
    from gridstride.frameworks.tvm_program import TvmProgram

    return TvmProgram(library)


def explain(function: Callable[..., Any], *args: Any, backward: bool = False, **named: Any) -> Explanation:
    """The kernels that torch.compile makes of `function` for the virtual GPU, counted in one call of it.

    `backward`: gradients of the result's sum too. PyTorch forgets what it compiled before. RuntimeError where Triton or
    PyTorch is missing, or a physical GPU is there.
    """
    from gridstride.frameworks.explanation import explain

    return explain(function, *args, backward=backward, **named)


def triton_from_environment(value: str | None) -> None:
    """`triton()` where the variable GRIDSTRIDE_TRITON is "1"; ValueError for what is neither "1" nor "0"."""
    if value in (None, "", "0"):
        return
    if value != "1":
        raise ValueError(f"{TRITON_VARIABLE}={value!r}: 1 has Triton run on the virtual GPU, 0 leaves it alone")
    triton()
