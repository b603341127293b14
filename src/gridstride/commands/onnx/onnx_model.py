"""What the commands of `gridstride onnx` share: mistakes in one sentence, and the model that a word names."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gridstride.commands.terminal import WrongUse, interrupts_held, kernels_print_on_stderr
from gridstride.frameworks.onnx.export import Example, example_of
from gridstride.frameworks.onnx.onnx_errors import OnnxError

_TOKENS = (2, 9)
"""Sequences and tokens of each, to trace a decoder by."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """Inside, what is wrong with a model, an input or the installation is wrong use of the command."""
    try:
        with kernels_print_on_stderr(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning)  # of libraries, about one another
            yield
    except OnnxError as error:
        raise WrongUse(str(error)) from error


def example(word: str, *, dtype: str = "float32") -> Example:
    """A model folder, or `FILE.py:FUNCTION`."""
    if ":" in word or word.endswith(".py"):
        if dtype != "float32":
            raise WrongUse(f"--dtype {dtype} is for model folders: {word} gives its module as it is, module.half() say")
        return example_of(word)
    return _decoder(word, dtype)


def _decoder(folder: str, dtype: str) -> Example:
    """Tokens [batch, length] to logits, of a folder as `gridstride generate` reads it."""
    from gridstride.commands.stack.model import needs

    needs("torch", "safetensors", extra="torch")
    with interrupts_held():
        import torch
    from gridstride.models.errors import ModelError
    from gridstride.models.huggingface.find import find
    from gridstride.models.huggingface.folder import load

    if dtype not in ("float32", "float16"):
        raise WrongUse(f"--dtype {dtype} is none of float32, float16")
    try:
        decoder = load(find(folder), dtype=getattr(torch, dtype))
    except ModelError as error:
        raise WrongUse(str(error)) from error
    config = decoder.config
    length = min(_TOKENS[1], config.context)
    tokens = torch.arange(_TOKENS[0] * length).reshape(_TOKENS[0], length) % config.vocabulary
    axes = {"tokens": {0: "batch", 1: "length"}}
    return Example(logits_module(decoder), (tokens,), axes, {"length": config.context}, config.vocabulary)


def logits_module(decoder: Any) -> Any:
    """The decoder with its head, as a module of tokens alone."""
    import torch

    class Logits(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.decoder = decoder

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.decoder.logits(self.decoder(tokens))

    return Logits().eval()


def sizes_of(words: Sequence[str]) -> dict[str, int]:
    """`batch=2` of each --size."""
    sizes = {}
    for word in words:
        name, _, number = word.partition("=")
        if not name or not number.isdigit():
            raise WrongUse(f"--size {word}: NAME=NUMBER belongs there, such as batch=2")
        sizes[name] = int(number)
    return sizes


def check_suffix(option: str, file: str, suffix: str) -> Path:
    """The path of a file to write."""
    path = Path(file)
    if path.suffix != suffix:
        raise WrongUse(f"{option} {file} must end in {suffix}")
    if not path.parent.is_dir():
        raise WrongUse(f"{option} {file}: there is no folder {path.parent}")
    return path


def megabytes(nbytes: int) -> str:
    """For people."""
    return f"{nbytes / 1e6:.2f} MB" if nbytes >= 1e5 else f"{nbytes / 1e3:.1f} kB"
