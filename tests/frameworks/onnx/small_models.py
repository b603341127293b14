"""Small ONNX models of every sort that the engine is to run: from PyTorch by its exporter, by hand, and in int8."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from gridstride.frameworks.onnx.export import Example, default_axes, export_module
from gridstride.frameworks.onnx.graph import Graph, graph_of
from gridstride.frameworks.onnx.input_values import random_inputs
from gridstride.frameworks.onnx.quantize import quantize_file
from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder

Sizes = Mapping[str, int]
BATCH: tuple[Sizes, ...] = ({"batch": 3}, {"batch": 1})
TOKENS: tuple[Sizes, ...] = ({"batch": 2, "length": 9}, {"batch": 1, "length": 1}, {"batch": 3, "length": 16})
FLOAT, HALF, LONG, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL


@dataclass(frozen=True, slots=True)
class Model:
    """`write` makes the file; `shapes`: values of the sizes that vary; `fusions`: those that must be found in it."""

    name: str
    title: str
    write: Callable[[Path], object]
    shapes: tuple[Sizes, ...]
    fusions: tuple[str, ...] = ()
    tokens: int = 32


# -- from PyTorch ------------------------------------------------------------------------------------------------------
def exported(module: nn.Module, inputs: Sequence[Tensor], *, opset: int = 20) -> Callable[[Path], object]:
    """Writes a module with batch and length that vary."""
    example = Example(module.eval(), tuple(inputs), default_axes(module, inputs))
    return lambda path: export_module(example, path, opset=opset)


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 10), nn.Softmax(-1))


class ConvNet(nn.Module):
    """Convolutions with strides, groups and dilation, batch norms, a residual, pools."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Sequential(nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8), nn.Hardswish())
        self.down = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=2, dilation=2), nn.SiLU())
        self.pools = nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2, padding=1))
        self.head = nn.Linear(16, 10)
        for norm in (self.stem[1], self.point[1]):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2.0)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = x + self.point(self.depthwise(x))
        return self.head(self.pools(self.down(x)).mean((2, 3)))


class Logits(nn.Module):
    """A decoder of the `models` room with its head."""

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        sizes = {"vocabulary": 97, "width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "head_width": 8, "hidden": 48}
        self.decoder = Decoder(DecoderConfig(**{**sizes, "context": 64, **fields}))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.decoder.logits(self.decoder(tokens))


GPT2: dict[str, Any] = {
    "family": "gpt2", "rotary_base": None, "norm": "layer", "activation": "gelu_tanh", "kv_heads": 4, "layers": 1,
    "qkv_bias": True, "output_bias": True, "mlp_bias": True, "tied": True,
}  # fmt: skip


class Encoder(nn.Module):
    """BERT's shape: embeddings, attention with a padding mask, norms behind."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True, dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, tokens: Tensor, seen: Tensor) -> Tensor:
        return self.layers(self.embedding(tokens), src_key_padding_mask=~seen)


class VisionTransformer(nn.Module):
    """Patches by a convolution, a class token in front, learned positions, attention written out."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 4, stride=4)
        self.token, self.positions = nn.Parameter(torch.randn(1, 1, 32)), nn.Parameter(torch.randn(1, 17, 32))
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(3))
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.up, self.down, self.head = nn.Linear(32, 64), nn.Linear(64, 32), nn.Linear(32, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        seen = ((q @ k.transpose(-1, -2)) * 8**-0.5).softmax(-1) @ v
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        x = x + self.down(F.gelu(self.up(self.norms[1](x))))
        return self.head(self.norms[2](x)[:, 0])


# -- by hand -----------------------------------------------------------------------------------------------------------
class Builder:
    """A graph, node by node: `b("Add", x, y)` gives the name of the result; arrays become weights."""

    def __init__(self, opset: int, **inputs: tuple[int, Sequence[int | str]]) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs = [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()]

    def __call__(self, op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        names = [self._name(value) for value in inputs]
        made = [f"v{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op, names, made, name=f"{op}_{len(self.nodes)}", **attributes))
        return made[0] if outputs == 1 else made

    def _name(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        self.weights.append(numpy_helper.from_array(np.asarray(value), f"w{len(self.weights)}"))
        return str(self.weights[-1].name)

    def model(self, *outputs: tuple[str, int, int]) -> Any:
        """`outputs`: name, element type, how many axes."""
        ends = [helper.make_tensor_value_info(name, kind, [None] * rank) for name, kind, rank in outputs]
        graph = helper.make_graph(self.nodes, "by_hand", self.inputs, ends, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


def graph(builder: Builder, *outputs: tuple[str, int, int]) -> Graph:
    return graph_of(builder.model(*outputs), "model.onnx")


def normal(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def norms(path: Path) -> None:
    """Softmax along two axes, its logarithm, every norm, two of them from their parts."""
    b = Builder(21, x=(FLOAT, ["batch", 8, "length"]))
    x = b("Softmax", "x", axis=1)
    x = b("Add", b("LogSoftmax", "x", axis=-1), x)
    x = b("GroupNormalization", x, normal(8), normal(8, seed=1), num_groups=4)
    x = b("InstanceNormalization", x, normal(8, seed=2), normal(8, seed=3))
    x = b("Transpose", b("BatchNormalization", x, *(abs(normal(8, seed=n)) + 0.5 for n in range(4))), perm=[0, 2, 1])
    apart = b("Sub", x, b("ReduceMean", x, np.array([-1])))
    variance = b("ReduceMean", b("Pow", apart, np.float32(2)), np.array([-1]))
    root = b("Sqrt", b("Add", variance, np.float32(1e-5)))
    x = b("Add", b("Mul", b("Div", apart, root), normal(8)), normal(8, seed=5))
    root = b("Sqrt", b("Add", b("ReduceMean", b("Mul", x, x), np.array([-1])), np.float32(1e-6)))
    x = b("Mul", normal(8, seed=6), b("Div", x, root))
    y = b("LayerNormalization", x, normal(8, seed=7))
    onnx.save(b.model((y, FLOAT, 3)), path)


def tables(path: Path) -> None:
    """Embeddings and other choices by index, triangles, pads, tiles, slices, reductions."""
    b = Builder(20, tokens=(LONG, ["batch", "length"]))
    x = b("Gather", normal(32, 12), "tokens")
    negative = b("Unsqueeze", b("Sub", "tokens", np.int64(32)), np.array([-1]))
    x = b("Add", x, b("GatherND", normal(40, 12, seed=1), negative))
    best = b("ArgMax", x, axis=-1, keepdims=1)
    chosen = b("GatherElements", x, best, axis=2)
    hot = b("OneHot", b("Squeeze", best, np.array([2])), np.array(12), np.array([0.0, 1.0], np.float32))
    x = b("Where", b("Greater", x, np.float32(0)), x, b("Mul", hot, chosen))
    x = b("Slice", x, np.array([-1]), np.array([-(1 << 40)]), np.array([2]), np.array([-1]))
    x = b("Trilu", b("Transpose", x, perm=[0, 2, 1]), np.array(1), upper=0)
    x = b("Pad", x, np.array([0, 1, 0, 0, 2, 1]), np.float32(0.5))
    x = b("Tile", x, np.array([1, 1, 2]))
    low, high = b("Split", x, np.array([4, 11]), outputs=2, axis=1)
    sums = b("Concat", b("ReduceSum", low, np.array([1])), b("ReduceMax", high, np.array([1])), axis=1)
    sums = b("Concat", sums, b("ReduceL2", x, np.array([1])), b("ReduceMin", x, np.array([1])), axis=1)
    counts = b("Cast", b("ReduceSum", "tokens", np.array([1])), to=FLOAT)
    y = b("Div", sums, b("Reshape", counts, np.array([-1, 1, 1])))
    y = b("Add", y, b("CumSum", y, np.array(2), reverse=1, exclusive=1))
    onnx.save(b.model((y, FLOAT, 3), (best, LONG, 3), (b("CumSum", "tokens", np.array(1)), LONG, 2)), path)


def elementwise(path: Path) -> None:
    """Functions of single elements, broadcast against rows, columns and numbers, in float16 too."""
    b = Builder(20, x=(FLOAT, ["batch", 5, "length"]), y=(FLOAT, [5, 1]))
    x = b("Add", "x", "y")
    functions = "Tanh Sigmoid Erf Softplus Softsign HardSwish Mish Elu Selu LeakyRelu HardSigmoid"
    x = b("Sum", *(b(op, x) for op in functions.split()))
    x = b("Clip", b("Mul", x, b("Exp", b("Neg", b("Abs", "y")))), np.float32(-2), np.float32(2))
    x = b("Max", x, b("Min", b("Sin", x), b("Cos", "y")), np.float32(-1))
    half = b("Gelu", b("Cast", x, to=HALF), approximate="tanh")
    x = b("Add", x, b("Round", b("Floor", b("Sqrt", b("Add", b("Mul", x, x), np.float32(1.0))))))
    mask = b("And", b("Less", x, np.float32(2.5)), b("Not", b("IsNaN", b("Log", x))))
    z = b("Where", mask, b("Pow", x, np.float32(1.5)), b("Reciprocal", x))
    whole = b("Mod", b("Cast", b("Mul", "x", np.float32(10)), to=LONG), np.int64(7))
    onnx.save(b.model((z, FLOAT, 3), (half, HALF, 3), (whole, LONG, 3), (b("CastLike", whole, "y"), FLOAT, 3)), path)


def attention(path: Path) -> None:
    """The operators of opset 23: grouped heads with past keys and a mask, causal, rotary positions, RMS norm."""
    heads = {"q": ["batch", 4, "length", 8], "k": ["batch", 2, "length", 8], "v": ["batch", 2, "length", 8]}
    inputs: dict[str, Any] = {name: (FLOAT, shape) for name, shape in heads.items()}
    b = Builder(23, **inputs, cos=(FLOAT, ["batch", "length", 4]), sin=(FLOAT, ["batch", "length", 4]))
    q = b("RotaryEmbedding", "q", "cos", "sin")
    whole = b("Unsqueeze", b("Concat", "cos", "cos", axis=-1), np.array([1]))
    front = b("Slice", q, np.array([0]), np.array([4]), np.array([3]))
    back = b("Slice", q, np.array([4]), np.array([(1 << 63) - 1]), np.array([3]))
    q = b("Add", b("Mul", q, whole), b("Mul", b("Concat", b("Neg", back), front, axis=-1), whole))
    seen = b("Greater", b("MatMul", q, b("Transpose", q, perm=[0, 1, 3, 2])), np.float32(-3))
    first = b("Attention", q, "k", "v", seen)
    second = b("Attention", first, "k", "v", is_causal=1, scale=0.3)
    y = b("RMSNormalization", second, normal(8), axis=-1)
    onnx.save(b.model((y, FLOAT, 4)), path)


# -- in int8 -----------------------------------------------------------------------------------------------------------
def quantized(
    write: Callable[[Path], object], mode: str, sizes: Sizes, limits: Mapping[str, int]
) -> Callable[[Path], object]:
    """Writes a model, then its int8 form in its place."""

    def make(path: Path) -> None:
        from gridstride.frameworks.onnx.graph import load_graph

        exact = path.with_name("exact.onnx")
        write(exact)
        ports = load_graph(exact).inputs
        data = [random_inputs(ports, sizes, seed, limits) for seed in range(4)]
        quantize_file(exact, path, mode=mode, data=data)

    return make


def models() -> dict[str, Model]:
    """By name; weights are drawn anew with the same seed at each call."""
    torch.manual_seed(0)
    tokens, image, seen = torch.randint(0, 50, (2, 9)), torch.randn(2, 3, 16, 16), torch.ones(2, 9, dtype=torch.bool)
    rows = torch.randn(3, 24)
    block = ("swapped axes", "attention")
    made = [
        Model("mlp", "MLP: ReLU, GELU, softmax", exported(mlp(), [rows]), BATCH, ("bias", "product and activation")),
        Model("cnn", "CNN: grouped, strided and dilated convolutions, pools", exported(ConvNet(), [image]), BATCH,
              ("activation", "product and activation")),
        Model("gpt2", "GPT-2", exported(Logits(**GPT2), [tokens]), TOKENS, (*block, "bias"), 97),
        Model("llama", "Llama, 2 layers, grouped heads", exported(Logits(), [tokens]), TOKENS,
              ("rms norm", "rotary", *block, "grouped heads"), 97),
        Model("qwen3", "Qwen 3, norms of heads", exported(Logits(family="qwen3", head_norm=True, layers=1), [tokens]),
              TOKENS, ("rms norm", "rotary", *block, "grouped heads"), 97),
        Model("llama_half", "Llama in float16, 1 layer", exported(Logits(layers=1).half(), [tokens]), TOKENS[:1],
              block, 97),
        Model("encoder", "BERT-like encoder with a padding mask", exported(Encoder(), [tokens, seen]), TOKENS[:1],
              block, 50),
        Model("vit", "Vision transformer, attention written out", exported(VisionTransformer(), [image]), BATCH,
              ("attention",)),
        Model("attention", "Attention, rotary and RMS norm as operators (opset 23)", attention, TOKENS,
              ("rotary",)),
        Model("norms", "Softmax and norms, whole and from their parts", norms, TOKENS, ("rms norm", "layer norm")),
        Model("tables", "Embeddings, indices, slices, reductions", tables, TOKENS),
        Model("elementwise", "Elementwise functions and broadcasts", elementwise, TOKENS[:1], ("elementwise",)),
        Model("mlp_dynamic", "MLP in int8, dynamic", quantized(exported(mlp(), [rows]), "dynamic", {"batch": 8}, {}),
              BATCH, ("int8 product",)),
        Model("mlp_qdq", "MLP in int8, QDQ", quantized(exported(mlp(), [rows]), "static", {"batch": 8}, {}),
              BATCH, ("int8 product", "integers to integers")),
        Model("cnn_dynamic", "CNN in int8, dynamic",
              quantized(exported(ConvNet(), [image]), "dynamic", {"batch": 2}, {}), BATCH),
        Model("gpt2_dynamic", "GPT-2 in int8, dynamic",
              quantized(exported(Logits(**GPT2), [tokens]), "dynamic", TOKENS[0], {"": 97}), TOKENS[:1],
              ("int8 product",), 97),
    ]  # fmt: skip
    return {model.name: model for model in made}


NAMES = (
    *"mlp cnn gpt2 llama qwen3 llama_half encoder vit attention norms tables elementwise".split(),
    *"mlp_dynamic mlp_qdq cnn_dynamic gpt2_dynamic".split(),
)
"""Of `models`, without making them."""
