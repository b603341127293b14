"""gs.torch_op: a kernel as an op of PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gridstride.extension.definition import define

if TYPE_CHECKING:
    from gridstride.device.launch.kernel import Kernel

Dimensions = int | tuple[int, ...]


def torch_op(
    name: str,
    kernel: Kernel | Sequence[Kernel],
    *,
    shape: Mapping[str, str | Callable[..., Sequence[int]]],
    grid: Dimensions | Callable[..., Dimensions],
    block: Dimensions | Callable[..., Dimensions],
    shared: int | Callable[..., int] = 0,
    scalars: Mapping[str, float | Callable[..., float]] | None = None,
    in_place: Sequence[str] = (),
    zeroed: Sequence[str] = (),
    cooperative: bool = False,
    cluster: Dimensions | None = None,
    backward: Callable[..., Any] | None = None,
    cpu: Callable[..., Any] | None = None,
) -> Any:
    """The op `name` ("mine::gelu") whose kernel is `kernel`, as `torch.ops.mine.gelu.default`.

    Its arguments are the kernel's parameters in their order, but for those that follow: a pointer to const is a tensor
    that is given, another pointer one that is made, unless `in_place` names it; a number is an argument, unless it is a
    symbol of a given tensor's shape or `scalars` gives it. Several instances of a template are one op for their dtypes.

    `shape` has the shapes by parameter in symbols: "*n" any number of axes, n their product; "*rows width"; "m k"; of
    an output also a function. `grid`, `block`, `shared` (bytes) and each of `scalars` are values, or functions of any
    of arguments, symbols, and scalars before them, by the names of their parameters. `zeroed` outputs hold zeros when
    the kernel begins, the others whatever the memory held.

    `backward` is an op, or a function of arguments, outputs and their gradients (`dy` of `y`) by name, that gives a
    gradient, one for each tensor that is given, or some by name; an op's returns are named for theirs (`dx`).

    CUDA tensors run on their GPU and PyTorch's current stream. CPU tensors run on the virtual GPU where `gs.use` or
    GRIDSTRIDE_DEVICE asks for one, which is said once, else by `cpu`, a function of the same arguments. Tensors that
    are not contiguous are copied, in place refused; a grid of 0 launches nothing.

    Raises ValueError and TypeError, that name the parameter, for what does not fit, here and at each call; ImportError
    without PyTorch.
    """
    try:
        from gridstride.extension.registration import register
    except ModuleNotFoundError as error:
        raise ImportError(f"gs.torch_op needs PyTorch ({error}): pip install 'gridstride[torch]'") from None
    definition = define(
        name, kernel, shape=shape, grid=grid, block=block, shared=shared, scalars=scalars or {}, in_place=in_place,
        zeroed=zeroed, cooperative=cooperative, cluster=cluster,
    )  # fmt: skip
    return register(definition, backward, cpu)
