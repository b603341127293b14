"""The words of `gridstride onnx`.

As in cli.py a command parses its words and calls one function, which is imported only then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from gridstride.commands.options.shared_options import ChipName, DeviceName, Json, call, record_options

Size = Annotated[
    tuple[str, ...],
    typer.Option("--size", metavar="NAME=N", help="A size that varies, of random inputs; repeatable."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of random inputs.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWords:
    """What `gridstride onnx run` is to do."""

    inputs: Annotated[
        str | None, typer.Option("--inputs", metavar="FILE.npz", help="An array for each input; random by default.")
    ] = None
    sizes: Size = ()
    seed: Seed = 0
    outputs: Annotated[str | None, typer.Option("--outputs", metavar="FILE.npz", help="Write the results.")] = None
    plugins: Annotated[
        tuple[str, ...],
        typer.Option("--plugin", metavar="FILE.py", help="Registers kernels for operators; repeatable."),
    ] = ()
    compare: Annotated[bool, typer.Option("--compare", help="Compare with ONNX Runtime; exit 1 if it differs.")] = False
    no_fusion: Annotated[bool, typer.Option("--no-fusion", help="Run the nodes as they stand in the file.")] = False
    device: DeviceName = None
    chip: ChipName = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizeWords:
    """What `gridstride onnx quantize` is to do."""

    mode: Annotated[str, typer.Option("--mode", metavar="dynamic|static", help="static: QDQ, by calibration data.")] = (
        "dynamic"
    )
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="FILE.npz", help="Inputs to calibrate by; repeatable.")
    ] = None
    samples: Annotated[int, typer.Option("--samples", metavar="N", help="Random sets of inputs without --data.")] = 8
    sizes: Size = ()
    seed: Seed = 0
    per_tensor: Annotated[
        bool, typer.Option("--per-tensor", help="One scale for a weight, not one for each column.")
    ] = False


def add(app: typer.Typer) -> None:
    """Give the command line these commands."""
    onnx = typer.Typer(name="onnx", no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(onnx, help="ONNX models: export, check, run by our own engine, quantize.")
    for command in (export, check, run, quantize):
        onnx.command()(command)


def export(
    model: Annotated[
        str, typer.Argument(metavar="DIR|FILE.py:FUNCTION", help="A model folder, or what returns (module, inputs).")
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE.onnx", help="Where it goes.")],
    opset: Annotated[int, typer.Option("--opset", metavar="N", help="Version of the operators, 18 to 24.")] = 20,
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="float32|float16", help="Of a model folder's weights.")
    ] = "float32",
    no_check: Annotated[bool, typer.Option("--no-check", help="Do not compare the file with PyTorch.")] = False,
    as_json: Json = False,
) -> int:
    """Write a PyTorch model as an ONNX file.

    Batch and length vary. The file is then checked as `gridstride onnx check` does it. FUNCTION returns a module and a
    tuple of inputs, and as a third, where axes 0 and 1 are not the ones that vary, {parameter: {axis: name}}.
    """
    return call("onnx.onnx_export", model, out=out, opset=opset, dtype=dtype, check=not no_check, as_json=as_json)


def check(
    file: Annotated[str, typer.Argument(metavar="FILE.onnx", help="The model.")],
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="DIR|FILE.py:FUNCTION", help="What it was exported from, to compare."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> int:
    """Check a model, and compare it with PyTorch.

    onnx's full checker, then ONNX Runtime on three shapes. With --model each result is compared with PyTorch's: exit 1
    where an error is above the tolerance of its dtype.
    """
    return call("onnx.onnx_check", file, model=model, seed=seed, as_json=as_json)


@record_options
def run(
    file: Annotated[str, typer.Argument(metavar="FILE.onnx", help="The model.")],
    *,
    words: RunWords,
    as_json: Json = False,
) -> int:
    """Run a model by our own graph engine, on our kernels.

    Weights are folded, nodes fused; the table says of each what it launched, how long that takes and what it counts.
    """
    return call("onnx.onnx_run", file, words, as_json=as_json)


@record_options
def quantize(
    file: Annotated[str, typer.Argument(metavar="FILE.onnx", help="The model, in float32.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE.onnx", help="Where it goes.")],
    *,
    words: QuantizeWords,
    as_json: Json = False,
) -> int:
    """Quantize a model to int8, by ONNX Runtime's quantizer.

    dynamic: weights now, activations at run time. static: all by calibration data, with QuantizeLinear and
    DequantizeLinear in the file. Size and error against the float model are told.
    """
    return call("onnx.onnx_quantize", file, words, out=out, as_json=as_json)
