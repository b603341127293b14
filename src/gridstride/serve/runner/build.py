"""From a model folder to a runner: which one, with how large a cache."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from gridstride.models import openmp
from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.huggingface import adapter, folder
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.engine.batch import Runner, RunnerCode
from gridstride.serve.runner.cpu.native_shapes import MOST_ROWS
from gridstride.serve.runner.cpu.native_shapes import unsupported as no_native_code
from gridstride.serve.runner.cuda.fused import unsupported
from gridstride.serve.runner.memory import for_cache, free
from gridstride.serve.runner.tensor.parallel_runner import ParallelRunner, Ranks
from gridstride.serve.runner.torch import onednn_linear
from gridstride.serve.runner.torch.int8_linear import quantize
from gridstride.serve.runner.torch.threads import Threads
from gridstride.serve.runner.torch.torch_runner import TorchRunner

BLOCK_SIZE = 8
"""Tokens. Half a block per sequence holds nothing: 4 tokens are under 4 % of a sequence from 100 tokens on."""
MOST_TOKENS = 1 << 22
"""Of a cache; beyond that bookkeeping would be all that grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """Where and how a model is run."""

    device: str | torch.device | None = None
    dtype: torch.dtype | None = None
    memory: int | None = None
    """Bytes of the cache; None: what is left over."""
    block_size: int = BLOCK_SIZE
    running: int = 0
    """Graphs for up to so many sequences are recorded at once, others when they are needed first."""
    longest: int | None = None
    """The context, where it is to be shorter than the model's."""
    tensor_parallel: int = 1
    """Processes that share each layer, by PyTorch's own operators."""
    adapters: Sequence[str | Path] = ()
    """Folders of those that requests may choose, by PyTorch's operators too."""
    draft: str | Path | None = None
    """A folder whose model shall have as many blocks in the same memory: `drafting` makes it."""
    quantization: str | None = None
    """"int8" for weights of 8 bits, on a CPU."""


def runner(model: str | Path, options: RunnerOptions | None = None) -> Runner:
    """The model on a GPU where there is one, else on the CPU.

    On a GPU the project's own kernels run it where they are for its shape (`fused.unsupported`), else PyTorch's.
    """
    options = options or RunnerOptions()
    adapters, tensor_parallel, draft = options.adapters, options.tensor_parallel, options.draft
    dtype, block_size, quantization = options.dtype, options.block_size, options.quantization
    if adapters and tensor_parallel > 1:
        raise ModelError("--adapter goes with one process: leave --tensor-parallel-size out, or merge the adapter")
    if draft is not None and tensor_parallel > 1:
        raise ModelError("--draft-model goes with one process: leave --tensor-parallel-size out, or --speculate ngram")
    updates = [adapter.read(path, Path(model)) for path in adapters]  # known to fit before the model takes memory
    where = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if draft is not None and where.type != "cpu":
        raise ModelError(f"--draft-model is not tried on {where} yet: --device cpu, or --speculate ngram")
    if quantization is not None:
        stored = dtype or folder.stored_dtype(model)
        alone = tensor_parallel == 1 and not adapters
        _check_quantization(quantization, folder.read_config(model), stored, where, alone=alone)
    ranks = Ranks(model, device=where, dtype=dtype, count=tensor_parallel) if tensor_parallel > 1 else None
    decoder = folder.load(model, device=where, dtype=dtype) if ranks is None else ranks.load()
    _shorten(decoder, options.longest)
    if quantization is not None:
        quantize(decoder)
    if where.type == "cpu" and ranks is None:
        onednn_linear.use(decoder)
    if options.memory is not None:  # as it was asked for: fewer blocks may be of use to a small model
        _check_free(where, options.memory)
    room = for_cache(where) if options.memory is None else options.memory
    element = decoder.embed_tokens.weight.element_size()
    shared = tensor_parallel if where.type == "cuda" else 1  # each GPU has a part of the keys, and room of its own
    token = _token_bytes(decoder.config, element) + (
        0 if draft is None else _draft_bytes(draft, model, decoder.config, element)
    )
    blocks = blocks_in(room * shared, token, block_size=block_size)
    _check_free(where, blocks * block_size * token // shared)
    if ranks is not None:
        return ParallelRunner(ranks, decoder, blocks=blocks, block_size=block_size)
    if where.type == "cuda" and not updates and _fused(decoder.config, decoder.embed_tokens.weight.dtype):
        from gridstride.serve.runner.cuda.cuda_runner import CudaRunner

        weights = sum(p.numel() * p.element_size() for p in decoder.parameters())
        # A second copy of the weights makes a lone sequence fast; it must not take what the cache was promised.
        cuda_runner = CudaRunner(decoder, blocks=blocks, block_size=block_size, one_launch=weights * 10 < room)
        if options.running:
            cuda_runner.warm(options.running)
        return cuda_runner
    return TorchRunner(
        decoder,
        blocks=blocks,
        block_size=block_size,
        threads=_threads(where),
        adapters=updates,
        code=_code(decoder, where, adapters=bool(updates), quantized=quantization is not None),
    )


def _check_quantization(
    name: str, config: DecoderConfig, dtype: torch.dtype, device: torch.device, *, alone: bool
) -> None:
    """ModelError where weights cannot be so."""
    if name != "int8":
        raise ModelError(f"--quantization {name} is none: int8")
    if device.type != "cpu":
        raise ModelError(f"--quantization int8 is for CPUs, not for {device}: --device cpu, or --dtype bfloat16")
    if not alone:
        raise ModelError("--quantization int8 goes with one process and no --adapter: merge the adapter first")
    if reason := no_native_code(config, dtype):
        raise ModelError(f"--quantization int8 does not know this model: {reason}; --dtype bfloat16 does")


def _code(decoder: Decoder, device: torch.device, *, adapters: bool, quantized: bool) -> RunnerCode:
    """Machine code of the decoder's own, for the steps that it is for; PyTorch's operators, and why."""
    config, dtype = decoder.config, decoder.embed_tokens.weight.dtype
    if device.type != "cpu":
        return RunnerCode("pytorch", f"PyTorch's operations: {_cuda_reason(config, dtype, adapters=adapters)}")
    if reason := no_native_code(config, dtype):
        return RunnerCode("pytorch", f"PyTorch's operators: {reason}")
    threads = torch.get_num_threads()
    if openmp.fixed() and threads > 1 and not quantized:
        words = f"PyTorch's operators: OMP_NUM_THREADS is {threads}, and the model's own code is for one thread"
        return RunnerCode("pytorch", words)
    most = MOST_ROWS["int8" if quantized else "bfloat16" if dtype == torch.bfloat16 else "float32"]
    which = f"steps of up to {most} new tokens" + ("" if quantized or threads == 1 else " that get one thread")
    other_operators = "those for adapters and larger ones" if adapters else "larger ones"
    return RunnerCode("llvm", f"machine code of the model's own for {which}, PyTorch's operators for {other_operators}")


def _cuda_reason(config: DecoderConfig, dtype: torch.dtype, *, adapters: bool) -> str:
    return "the project's kernels know no adapters" if adapters else unsupported(config, dtype)


def _fused(config: DecoderConfig, dtype: torch.dtype) -> bool:
    """Whether the project's kernels are for this decoder; says why where they are not."""
    reason = unsupported(config, dtype)
    if reason:
        print(f"PyTorch's operations run this model, which is slower: {reason}", file=sys.stderr)
    return not reason


def drafting(draft: str | Path, large: Runner) -> Runner:
    """The small model of a speculation, in as many blocks as the large one's, for which `runner` has left room."""
    assert isinstance(large, TorchRunner), "runner has refused others"
    like = large.decoder.embed_tokens.weight
    decoder = folder.load(draft, device=like.device, dtype=like.dtype)
    onednn_linear.use(decoder)
    return TorchRunner(
        decoder,
        blocks=large.blocks,
        block_size=large.block_size,
        threads=_threads(like.device),
        code=_code(decoder, like.device, adapters=False, quantized=False),
    )


def _draft_bytes(draft: str | Path, model: str | Path, large: DecoderConfig, element: int) -> int:
    """Of a token in the small model's cache; ModelError for one that cannot guess for the large one.

    Their tokenizers must be the same, not the sizes of their tables of embeddings, which are often padded.
    """
    small = folder.read_config(draft)
    ours, theirs = (Tokenizer.load(path) for path in (model, draft))
    if difference := ours.difference(theirs):
        raise ModelError(f"--draft-model {draft}: a draft model needs the model's tokenizer, and {difference}")
    if small.context < large.context:
        raise ModelError(
            f"--draft-model {draft}: its context is {small.context}, the model's {large.context}: "
            f"--max-model-len {small.context} makes them fit"
        )
    return _token_bytes(small, element)


def _shorten(decoder: Decoder, longest: int | None) -> None:
    context = decoder.config.context
    if longest is not None and longest > context:
        raise ModelError(f"--max-model-len {longest}: the model's context is {context}")
    decoder.config = replace(decoder.config, context=longest or context)


def _threads(device: torch.device) -> Threads | None:
    """None where there is nothing to choose, or the user has chosen."""
    if device.type != "cpu" or openmp.fixed() or torch.get_num_threads() == 1:
        return None
    return Threads(openmp.counts(torch.get_num_threads()))


def blocks_in(room: int, token: int, *, block_size: int) -> int:
    """How many blocks fit into `room` bytes; ModelError if none. `token`: bytes of one token's keys and values."""
    blocks = min(room // (token * block_size), MOST_TOKENS // block_size)
    if blocks < 1:
        raise ModelError(
            f"{room} bytes are too few for the cache: one block of {block_size} tokens takes {token * block_size}"
        )
    return blocks


def _token_bytes(config: DecoderConfig, element: int) -> int:
    """Of one token's keys and values."""
    return 2 * config.layers * config.kv_heads * config.head_width * element


def _check_free(device: torch.device, size: int) -> None:
    """ModelError for a cache that would be taken from others: on a CPU it grows until something is killed."""
    have = free(device)
    if size > have:
        raise ModelError(f"a cache of {size >> 20} MiB does not fit: {have >> 20} MiB are free on {device}")
