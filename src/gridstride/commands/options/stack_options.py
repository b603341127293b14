"""The words of the stack's commands: train, serve, generate, chat, evaluate, load.

As in cli.py a command parses its words and calls one function, which is imported only then.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from gridstride.commands.options.serve_words import serve
from gridstride.commands.options.shared_options import Json, call, record_options
from gridstride.serve.engine.sampling import COMMAND_OPTIONS, Sampling


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model, where it runs, and in which type: None and "auto" leave it to what is there."""

    model: str | None
    device: str | None
    dtype: str
    quantization: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """What a training run is asked for; None where nothing is said."""

    config: Annotated[
        str | None, typer.Option("--config", metavar="F.toml", help="Values over the defaults; or a preset: gpu-100m.")
    ] = None
    changes: Annotated[
        tuple[str, ...],
        typer.Option("--set", metavar="KEY=VALUE", help="A value, as optimiser.lr=0.001; repeatable."),
    ] = ()
    base: Annotated[
        str | None,
        typer.Option("--from", metavar="FOLDER", help="Go on from this model, with conversations or preferences."),
    ] = None
    data: Annotated[
        str | None, typer.Option("--data", metavar="PATH", help="A folder of text, a text file, or .jsonl.")
    ] = None
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The run's folder below runs/.")] = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint.")] = False
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin anew where a run lies.")] = False
    write_config: Annotated[
        str | None, typer.Option("--write-config", metavar="F.toml", help="Write the configuration, explained.")
    ] = None
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="Processes on this machine, a GPU each.")
    ] = None

    @property
    def any_given(self) -> bool:
        return self != TrainOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """Which texts a model is to write, and what is shown of them; `stream` is None where the terminal decides."""

    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", metavar="TEXT", help="What to go on with; - reads stdin.")
    ] = None
    n: Annotated[int, typer.Option("--n", metavar="N", help="So many texts.")] = 1
    stop: Annotated[tuple[str, ...], typer.Option("--stop", metavar="TEXT", help="Ends there; repeatable.")] = ()
    echo: Annotated[bool, typer.Option("--echo", help="Show the prompt too.")] = False
    stream: Annotated[
        bool | None, typer.Option("--stream/--no-stream", help="Show it as it comes, as on a terminal.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """Which texts and questions a model is evaluated on, and how a text is cut; None where nothing is said."""

    data: Annotated[
        tuple[str, ...],
        typer.Option("--data", metavar="FILE", help="A text, or .jsonl with texts or questions; repeatable."),
    ] = ()
    window: Annotated[
        int | None,
        typer.Option("--window", metavar="TOKENS", help="That predict a text's; all that fit, to 2048."),
    ] = None
    stride: Annotated[
        int | None, typer.Option("--stride", metavar="TOKENS", help="From one window to the next; half of one.")
    ] = None
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only a file's first N rows.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """Which requests a server is sent, and how fast."""

    compare: Annotated[
        bool, typer.Option("--compare", help="The same load under each policy: continuous, static, fifo.")
    ] = False
    requests: Annotated[int, typer.Option("--requests", "-n", metavar="N", help="How many.")] = 100
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="R", help="Requests per second in the mean, at random times (Poisson)."),
    ] = None
    concurrency: Annotated[
        int | None,
        typer.Option("-c", "--concurrency", metavar="N", help="So many at a time; by default 16, to compare all."),
    ] = None
    prompt_tokens: Annotated[
        str,
        typer.Option(
            "--prompt-tokens", metavar="LENGTHS", help="128, uniform:16:512 or lognormal:MEDIAN:SIGMA[:MOST]."
        ),
    ] = "lognormal:48:0.8:128"
    output_tokens: Annotated[str, typer.Option("--output-tokens", metavar="LENGTHS", help="As above.")] = (
        "lognormal:32:1.2:192"
    )
    prompts: Annotated[
        str | None,
        typer.Option(
            "--prompts", metavar="FILE.jsonl", help="Your own prompts; pieces of Python's library by default."
        ),
    ] = None
    chat: Annotated[bool, typer.Option("--chat", help="Chat completions instead of completions.")] = False
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="The server's first by default.")] = None
    temperature: Annotated[float, typer.Option("--temperature", metavar="T")] = 1.0
    ignore_eos: Annotated[
        bool,
        typer.Option(
            "--ignore-eos/--no-ignore-eos",
            help="Outputs have the lengths drawn; no: the model may end them, as for OpenAI's servers.",
        ),
    ] = True
    slo: Annotated[
        tuple[str, ...],
        typer.Option("--slo", metavar="ttft=MS,tpot=MS,e2e=MS", help="Say how many requests were within it."),
    ] = ()
    warmup: Annotated[int, typer.Option("--warmup", metavar="N", help="Requests before, which do not count.")] = 2
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed makes the same traffic.")] = 0
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="Without a byte of an answer.")] = 600.0
    api_key_file: Annotated[
        str | None, typer.Option("--api-key-file", metavar="FILE", help="Its first word is sent as the key.")
    ] = None
    device: Annotated[
        str | None, typer.Option("--device", metavar="cpu|cuda", help="Of the servers that --compare starts.")
    ] = None
    max_running: Annotated[
        int, typer.Option("--max-running", metavar="N", help="Sequences that these servers run at a time.")
    ] = 32


def add(app: typer.Typer) -> None:
    """Give the command line these commands."""
    for command in (train, serve, generate, chat, evaluate, load):
        app.command()(command)


@record_options
def train(
    what: Annotated[
        str | None, typer.Argument(metavar="[digits]", help="Without it a language model; `digits`: a classifier.")
    ] = None,
    *,
    options: TrainOptions,
    as_json: Json = False,
) -> int:
    """Train a language model.

    Without options: on the Python standard library's own source, in less than ten minutes, on any machine. The model
    lands in runs/stdlib/model. With --from FOLDER --data ROWS.jsonl a model learns answers ({"messages": […]} on each
    line), by LoRA. `gridstride train digits` is the smallest pipeline: pixels to a classifier, in seconds.
    """
    return call("stack.train", what, options, as_json=as_json)


def sampling_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command, for its `**sampling`, an option for each row of serve/engine/sampling.py that has one."""
    signature = inspect.signature(command, eval_str=True)
    kinds = get_type_hints(Sampling)
    options = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None,
            annotation=Annotated[
                kinds[name] | None,
                typer.Option(f"--{name.replace('_', '-')}", metavar=option.metavar, help=option.help),
            ],
        )
        for name, option in COMMAND_OPTIONS.items()
    ]  # fmt: skip
    own = [
        parameter for parameter in signature.parameters.values() if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    first = next(index for index, parameter in enumerate(own) if parameter.name == "device")
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) if parameter.name != "model" else parameter
        for parameter in own
    ]
    command.__signature__ = signature.replace(parameters=[*own[:first], *options, *own[first:]])  # type: ignore[attr-defined]
    return command


ModelDevice = Annotated[
    str | None, typer.Option("--device", metavar="cpu|cuda", help="Where to run; the GPU where there is one.")
]
ModelQuantization = Annotated[
    str | None, typer.Option("--quantization", metavar="int8", help="Weights of 8 bits, on a CPU.")
]
ModelType = Annotated[
    str, typer.Option("--dtype", metavar="TYPE", help="float32, bfloat16, float16; auto: the folder's.")
]


@sampling_options
@record_options
def generate(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model folder; the one that was trained here by default.")
    ] = None,
    *,
    texts: TextOptions,
    device: ModelDevice = None,
    dtype: ModelType = "auto",
    quantization: ModelQuantization = None,
    as_json: Json = False,
    **sampling: Any,
) -> int:
    """Let a model go on with a text."""
    return call(
        "stack.generate", ModelChoice(model, device, dtype, quantization), texts, as_json=as_json, **sampling,
    )  # fmt: skip


@sampling_options
def chat(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model folder, or with --url a model of that server.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Talk with a server's model.")] = None,
    system: Annotated[str | None, typer.Option("--system", metavar="TEXT", help="Who it is to be.")] = None,
    device: ModelDevice = None,
    dtype: ModelType = "auto",
    quantization: ModelQuantization = None,
    api_key_file: Annotated[
        str | None, typer.Option("--api-key-file", metavar="FILE", help="Its first word is sent as the key.")
    ] = None,
    **sampling: Any,
) -> int:
    """Talk with a model in the terminal.

    Ctrl-C stops an answer, Ctrl-D ends the chat; /help says what else there is.
    """
    return call(
        "stack.chat", model, url=url, system=system, device=device, dtype=dtype, quantization=quantization,
        api_key_file=api_key_file, **sampling,
    )  # fmt: skip


@record_options
def evaluate(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model folder; the one that was trained here by default.")
    ] = None,
    *,
    options: EvaluateOptions,
    device: ModelDevice = None,
    dtype: ModelType = "auto",
    quantization: ModelQuantization = None,
    as_json: Json = False,
) -> int:
    """Say how well a model knows texts, and answers questions.

    Rows {"text": …} of a .jsonl file, or any other file as one text, give perplexity and bits per byte. Rows
    {"prompt": …, "choices": […], "answer": 0} give how often the likeliest choice is the right one.
    """
    return call("stack.evaluate", ModelChoice(model, device, dtype, quantization), options, as_json=as_json)


@record_options
def load(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[URL]", help="A server; with --compare a model folder to be served."),
    ] = None,
    *,
    options: LoadOptions,
    as_json: Json = False,
) -> int:
    """Put a load on a server, and measure what its users feel.

    Time to first token, per token and for the whole answer, rates, and how many requests were within given objectives.
    """
    return call("stack.load", target, options, as_json=as_json)
