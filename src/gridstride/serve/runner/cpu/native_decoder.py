"""A decoder's step on one thread of a CPU, in machine code for its shape: no operator is called for a token.

PyTorch's operators cost some microseconds each, and its products of one to eight rows read the weights at a third of
what memory gives. The weights stay where they are, PyTorch's own tensors: prompts run on them as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import Batch
from gridstride.serve.runner.cpu.native_shapes import MOST_ROWS, lanes, unsupported
from gridstride.serve.runner.cpu.step_code import StepCode, machine
from gridstride.serve.runner.cpu.step_ir import ARGUMENTS, LAYER, PRODUCTS, StepShape
from gridstride.serve.runner.cpu.vector_ir import Element

_ALL = 1 << 40  # positions: a window that is none
_ELEMENTS: dict[torch.dtype, Element] = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.int8: "int8"}
_MODULES = {
    "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "output": "self_attn.o_proj",
    "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj",
}  # fmt: skip
assert tuple(_MODULES) == PRODUCTS
_PLACES = {name: index for index, name in enumerate(ARGUMENTS)}


class NativeDecoder:
    """Hidden states and logits of batches of a few new tokens; writes the runner's cache as it does."""

    def __init__(self, decoder: Decoder, cache: Tensor) -> None:
        """cache [2, layers, blocks + 1, block_size, K, D], of the embedding's type; ValueError where `unsupported`."""
        embedding, config = decoder.embed_tokens.weight, decoder.config
        if reason := unsupported(config, embedding.dtype):
            raise ValueError(reason)
        self._decoder, self._cache, self._size = decoder, cache, cache.shape[3]
        first: Tensor = decoder.layers[0].self_attn.q_proj.weight
        self._quantized = first.dtype == torch.int8
        self.most_rows = MOST_ROWS[_ELEMENTS[first.dtype]]
        host = machine()
        shape = StepShape(
            host, lanes(config, host.lanes), self._size, _ELEMENTS[embedding.dtype], _ELEMENTS[first.dtype]
        )
        self._code = StepCode(config, shape)
        self._retained: list[Tensor] = []  # what stands nowhere else, and code has the address of
        self._layers = np.array([self._layer(number) for number in range(config.layers)], np.int64)
        cosine, sine = (self._fp32(table) for table in decoder.tables(long=config.stretched))
        memory = _memory(config, self.most_rows, shape.lanes)
        self._out = memory["out"]
        self._head = self._product(decoder.lm_head)
        self._arguments = np.zeros(len(ARGUMENTS), np.int64)
        tables = {"embedding": embedding, "norm": decoder.norm.weight, "cosine": cosine, "sine": sine}
        for name, tensor in (tables | memory).items():
            self._retained.append(tensor)
            self._set(name, tensor.data_ptr())
        self._set("layers", self._layers.ctypes.data)

    def takes(self, batch: Batch) -> bool:
        """Whether a batch is to run here: a few tokens, on one thread. More are PyTorch's, but for weights of 8 bits,
        which its products would have to widen for each batch.
        """
        fits = len(batch.tokens) <= self.most_rows and not any(batch.adapters)
        return fits and (self._quantized or torch.get_num_threads() == 1)

    def hidden(self, batch: Batch) -> Tensor:
        """[N, width] fp32 of the batch's tokens, N at most `most_rows`."""
        count = len(batch.tokens)
        assert count <= self.most_rows, count
        fresh = batch.slots[batch.slots % self._size == 0] // self._size
        if fresh.size:  # as PagedAttention does, which may read what lies behind a sequence's end
            self._cache[:, :, torch.from_numpy(fresh)] = 0
        arrays: dict[str, NDArray[Any]] = {
            "tokens": batch.tokens,
            "positions": batch.positions,
            "slots": batch.slots,
            "sequences": np.repeat(np.arange(len(batch.lengths), dtype=np.int64), np.diff(batch.starts)),
            "tables": np.ascontiguousarray(batch.blocks),
        }
        for name, array in arrays.items():
            self._set(name, array.ctypes.data)
        self._set("rows", count)
        self._set("table_width", batch.blocks.shape[1])
        self._code.step(self._arguments.ctypes.data)
        return self._out[:count].clone()  # the next step writes there

    def logits(self, hidden: Tensor) -> Tensor:
        """[M, vocabulary] fp32 of hidden states [M, width]."""
        config, hidden = self._decoder.config, hidden.float().contiguous()
        out = torch.empty(len(hidden), config.vocabulary)
        self._code.linear(
            len(hidden), hidden.data_ptr(), out.data_ptr(), config.vocabulary, *self._head, 0, config.vocabulary,
            config.width,
        )  # fmt: skip
        return out

    def _layer(self, number: int) -> list[int]:
        """A row of the table of LAYER."""
        layer: Any = self._decoder.layers[number]
        row: dict[str, int] = {"window": self._decoder.config.window_of(number) or _ALL}
        for name, path in _MODULES.items():
            addresses = self._product(layer.get_submodule(path))
            row |= {f"{name}_{part}": at for part, at in zip(("weight", "scale", "bias"), addresses, strict=True)}
        attention = layer.self_attn
        norms = layer.input_layernorm, layer.post_attention_layernorm, attention.q_norm, attention.k_norm
        for name, norm in zip(("input_norm", "mlp_norm", "q_norm", "k_norm"), norms, strict=True):
            row[name] = 0 if norm is None else norm.weight.data_ptr()
        row["keys"], row["values"] = (self._cache[part, number].data_ptr() for part in (0, 1))
        return [row[name] for name in LAYER]

    def _product(self, module: Any) -> tuple[int, int, int]:
        """Addresses of a linear layer's weights, scales and bias; 0 for what it does not have."""
        optional = (getattr(module, "scale", None), module.bias)
        scale, bias = (0 if tensor is None else self._fp32(tensor).data_ptr() for tensor in optional)
        assert module.weight.is_contiguous()
        return module.weight.data_ptr(), scale, bias

    def _fp32(self, tensor: Tensor) -> Tensor:
        copy = tensor.detach().float().contiguous()
        self._retained.append(copy)
        return copy

    def _set(self, name: str, value: int) -> None:
        self._arguments[_PLACES[name]] = value


def _memory(config: DecoderConfig, rows: int, lanes: int) -> dict[str, Tensor]:
    """What a step works in."""
    query, key = config.heads * config.head_width, config.kv_heads * config.head_width
    widths = {
        "x": config.width, "normed": config.width, "qkv": query + 2 * key, "mixed": query, "gate": config.hidden,
        "up": config.hidden, "out": config.width,
    }  # fmt: skip
    scores = torch.zeros(config.context + lanes)
    return {name: torch.zeros(rows, width) for name, width in widths.items()} | {"scores": scores}
