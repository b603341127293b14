"""The engine of a model folder, made in the engine's own process: here alone the server meets PyTorch."""

from __future__ import annotations

from importlib.util import find_spec

import torch

from gridstride.models.errors import ModelError
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.grammar import Grammars
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.process.engine_options import EngineOptions
from gridstride.serve.process.protocol import Ready
from gridstride.serve.runner import build

_BATCH_TOKENS = 2048  # at most in one step, so that long prompts do not hold up those that are being answered


def engine(folder: str, options: EngineOptions) -> tuple[Engine, Ready]:
    """The engine, and what is said of it to clients; ModelError in words for the user."""
    where = _device(options.device)
    max_running = options.max_running
    runner = build.runner(
        folder,
        build.RunnerOptions(
            device=where,
            dtype=None if options.dtype is None else getattr(torch, options.dtype),
            memory=options.memory,
            block_size=options.block_size or build.BLOCK_SIZE,
            running=max_running if options.warm else 0,
            longest=options.longest,
            tensor_parallel=options.tensor_parallel,
            adapters=options.adapters,
            draft=options.draft,
            quantization=options.quantization,
        ),
    )
    eos = Tokenizer.load(folder).eos
    built = Engine(
        runner,
        Batching(policy=options.policy, max_running=max_running, max_batch_tokens=max(_BATCH_TOKENS, max_running)),
        eos=eos,
        grammars=Grammars(folder, vocabulary=runner.vocabulary, eos=eos),
        speculation=options.speculation,
        draft=None if options.draft is None else build.drafting(options.draft, runner),
    )
    ready = Ready(
        context=runner.context,
        blocks=runner.blocks,
        block_size=runner.block_size,
        vocabulary=runner.vocabulary,
        max_running=max_running,
        device=_name(where),
        code=runner.code.name,
        code_words=runner.code.words,
        width=runner.width,
        schemas=find_spec("gridstride.serve.engine.grammar") is not None,
    )
    return built, ready


def _device(name: str | None) -> torch.device | None:
    if name is None:
        return None
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ModelError(f"--device {name} is none: cpu, cuda, or cuda:1 for the second GPU") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ModelError(f"--device {name}: PyTorch finds no GPU here; leave it out to run on the CPU")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ModelError(f"--device {name}: there are {torch.cuda.device_count()} GPUs, counted from cuda:0")
    if device.type not in ("cpu", "cuda"):
        raise ModelError(f"--device {name} is not served: cpu or cuda")
    return device


def _name(device: torch.device | None) -> str:
    return str(device) if device is not None else "cuda" if torch.cuda.is_available() else "cpu"
