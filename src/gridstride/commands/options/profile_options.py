"""The words of `gridstride profile`.

As in cli.py a command parses its words and calls one function, which is imported only then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from gridstride.commands.options.shared_options import Cuda11, Json, call, record_options


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """What is recorded of a PyTorch program, and where it is kept; times in seconds."""

    module: Annotated[bool, typer.Option("-m", help="SCRIPT is a module's name, as with `python -m`.")] = False
    after: Annotated[
        float, typer.Option("--after", metavar="S", help="Begin to record S seconds after the program's start.")
    ] = 0.0
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="Record S seconds of its loop, then stop the program.")
    ] = 3.0
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE.json", help="Keep the Chrome trace; .json.gz packs it.")
    ] = None
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Write it all as one offline page.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedGPU:
    """What a CUDA program runs on: which chip, how many of it, how much memory each has; and what it is written for."""

    chip: Annotated[
        str | None, typer.Option("--chip", metavar="CHIP", help="Of PROG.cu: which GPU its times are modelled for.")
    ] = None
    gpus: Annotated[int, typer.Option("--gpus", metavar="N", help="Of PROG.cu: how many GPUs it sees, 1 to 16.")] = 1
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="Of PROG.cu: what a GPU has of it, 64MiB say.")
    ] = None
    cuda11: Cuda11 = False


def add(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})(profile)


@record_options
def profile(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="SCRIPT.py [ARGS]… | PROG.cu [ARGS]… | TRACE.json[.gz]", help="A program, or its trace."
        ),
    ],
    *,
    recording: RecordingOptions,
    gpu: SimulatedGPU,
    as_json: Json = False,
) -> int:
    """Say where the time of a PyTorch or a CUDA program goes.

    A Python program is run under the PyTorch profiler, on a GPU or a CPU. Data loading, launch gaps, kernels, copies,
    Python: every microsecond belongs to one of them; then what to change, and what that would win at most. A CUDA
    program is run on the virtual GPU: the timeline of its streams, copies and kernels, modelled for a chip.
    """
    return call("profile", words, recording, gpu, as_json=as_json)
