"""A decoder spread over ranks: replicas (DDP), shards (FSDP2), split matrices (tensor parallel), the last two together.

Whatever the arrangement, a step over the same batch gives the loss and the weights that one process gives, up to the
order of sums. The ranks form a mesh, data x tensor: those of a tensor group work on the same rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn.parallel import DistributedDataParallel

from gridstride.models.decoder import Decoder
from gridstride.train.config.arrangement import Arrangement
from gridstride.train.distributed import collectives, tensor_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelDecoder:
    """A decoder as it is spread, and this process's place.

    `model` takes this rank's rows (inputs, targets) and gives their mean loss. After its backward each parameter has
    its part of the gradient of the mean over all data ranks' rows: ranks must have equally many.
    """

    arrangement: Arrangement
    model: nn.Module
    decoder: Decoder  # inside of it; its parameters are what an optimiser takes
    mesh: DeviceMesh | None
    rank: int

    @property
    def objective(self) -> nn.Module:
        """What was spread, without what was put around it."""
        return self.model.module if isinstance(self.model, DistributedDataParallel) else self.model

    @property
    def data_rank(self) -> int:
        """Which share of the rows is this rank's."""
        return self.rank // self.arrangement.tensor

    @property
    def data_world(self) -> int:
        """How many shares there are."""
        return self.arrangement.data

    @contextmanager
    def accumulating(self, *, last: bool) -> Iterator[None]:
        """Around forward and backward of each of a step's micro-batches: only after the last do ranks sum gradients."""
        if isinstance(self.model, FSDPModule):
            self.model.set_requires_gradient_sync(last)
        waits = isinstance(self.model, DistributedDataParallel) and not last
        with self.model.no_sync() if waits else nullcontext():
            yield

    def total(self, value: Tensor) -> Tensor:
        """The sum of a value over data ranks, on all of them."""
        value = value.detach().clone()
        if self.mesh is not None and self.data_world > 1:
            dist.all_reduce(value, group=self.mesh.get_group("data"))
        return value

    def mean(self, value: Tensor, weight: float = 1.0) -> Tensor:
        """The mean over data ranks of a value that stands for `weight` tokens on this one."""
        sums = self.total(torch.stack((value.detach() * weight, torch.full_like(value.detach(), weight))).double())
        return sums[0] / sums[1]

    def gathered(self) -> Decoder | None:
        """All weights in one decoder: on the CPU of rank 0, None on the others. Called by all ranks together.

        Where each process has all weights it is the decoder itself.
        """
        if not self.arrangement.sharded:
            return self.decoder if self.rank == 0 else None
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        weights = get_model_state_dict(self.decoder, options=options)
        if self.rank != 0:
            return None
        with torch.device("meta"):
            decoder = Decoder(self.decoder.config)
        decoder.load_state_dict(weights, assign=True)
        return _completed(decoder, torch.device("cpu"))

    def refill(self, weights: dict[str, Tensor]) -> None:
        """Give the spread decoder rank 0's weights; what the others give is not looked at."""
        if self.mesh is None:
            self.decoder.load_state_dict(weights)
        else:
            _fill(self.decoder, weights)


def prepare(
    objective: nn.Module,
    arrangement: Arrangement,
    *,
    device: torch.device,
    bf16: bool = False,
    each_layer: Callable[[nn.Module], Any] = lambda layer: None,
) -> ParallelDecoder:
    """Spread an objective, a module with a `decoder` whose call is (inputs, targets) -> mean loss, over all ranks.

    Weights are rank 0's: where they are sharded or split, the other ranks' decoder may be on the meta device (see
    `deferred`). `bf16`: FSDP gathers weights in bf16 and sums gradients in fp32. `each_layer` changes a layer in place
    (compiling it, recomputing its activations) at the point where that must be done.
    """
    decoder: Decoder = objective.decoder
    weights = decoder.state_dict()
    mesh = _mesh(arrangement, device) if arrangement.world > 1 else None
    if mesh is not None and arrangement.sharded:
        _emptied(decoder)
    if mesh is not None and arrangement.tensor > 1:
        tensor_parallel.spread(decoder, mesh["tensor"], sequence=arrangement.sequence)
        loss_parallel().__enter__()  # for good: losses of logits split by vocabulary, and their backward
        objective.register_forward_hook(lambda *call: call[-1].full_tensor())  # the loss is a plain scalar for all
    for layer in decoder.layers:
        each_layer(layer)
    if mesh is not None and arrangement.mode == "fsdp":
        _shard(objective, mesh["data"], bf16=bf16)
    if mesh is not None and arrangement.sharded:
        decoder.to_empty(device=device)
        _fill(decoder, weights)
        _completed(decoder, device)
    objective.to(device)
    if mesh is not None and arrangement.mode == "ddp":
        objective = _replicated(objective, mesh["data"], device)
    return ParallelDecoder(
        arrangement=arrangement, model=objective, decoder=decoder, mesh=mesh, rank=collectives.rank()
    )


def deferred(arrangement: Arrangement) -> torch.device:
    """Where a rank builds a decoder that `prepare` will spread (`with deferred(…):`): only rank 0 needs its weights."""
    return torch.device("meta" if arrangement.sharded and collectives.rank() else "cpu")


def _mesh(arrangement: Arrangement, device: torch.device) -> DeviceMesh:
    """Neighbouring ranks are a tensor group: they exchange most, and neighbours are on one host."""
    sizes = (arrangement.data, arrangement.tensor)
    return init_device_mesh(device.type, sizes, mesh_dim_names=("data", "tensor"))


def _emptied(decoder: Decoder) -> None:
    decoder.to("meta")
    if decoder.config.tied:
        decoder.lm_head.weight = decoder.embed_tokens.weight


def _shard(objective: nn.Module, mesh: DeviceMesh, *, bf16: bool) -> None:
    """Each layer gathers its weights when it is its turn; embedding, last norm and output are one more group."""
    # inputs are not cast: cosines and sines of positions would lose their digits
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, None, False) if bf16 else MixedPrecisionPolicy()
    for layer in objective.decoder.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(objective, mesh=mesh, mp_policy=policy)


def _fill(decoder: Decoder, weights: dict[str, Tensor]) -> None:
    """One tensor at a time: no rank but the first has all at once."""
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(decoder, weights if collectives.rank() == 0 else {}, options=options)


def _completed(decoder: Decoder, device: torch.device) -> Decoder:
    """With what is no weight: ties, and tables that follow from the configuration."""
    if decoder.config.tied:
        decoder.lm_head.weight = decoder.embed_tokens.weight
    decoder.fill_tables(device)
    return decoder


def _replicated(objective: nn.Module, mesh: DeviceMesh, device: torch.device) -> nn.Module:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*broadcast_buffers", FutureWarning)  # its successor is younger than 2.11
        return DistributedDataParallel(
            objective,
            device_ids=None if device.type == "cpu" else [device.index],
            process_group=mesh.get_group(),
            broadcast_buffers=False,  # they are the same everywhere, and stay so
            gradient_as_bucket_view=True,
        )
