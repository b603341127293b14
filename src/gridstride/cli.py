"""The command line: parses words, calls one function for each command, turns what it says into an exit code.

Nothing heavy is imported before a command runs: `gridstride --help` must answer at once.
"""

from __future__ import annotations

import errno
import gc
import importlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, Any

from gridstride.commands.terminal import WrongUse, interrupts_end_at_once, tidy_when_terminated

with interrupts_end_at_once():
    import typer

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130
_LEAVE_FOLDERS = ("check", "explain", "profile")  # commands with processes of their own and folders for them

_START = "Try:  gridstride climb matmul"
# Typer draws its help with rich where it is told to, and importing that takes longer than everything else together.
app = typer.Typer(
    name="gridstride", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, epilog=_START
)

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else there.")]
DeviceName = Annotated[
    str | None, typer.Option("--device", metavar="virtual|physical", help="Where to run; the GPU where there is one.")
]
ChipName = Annotated[
    str | None, typer.Option("--chip", metavar="CHIP", help="Which GPU the virtual one is; see `gridstride chips`.")
]


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Say which.")] = False
) -> None:
    """Write GPU kernels, run them on a real or a virtual GPU, see what they do."""
    if version:
        typer.echo(f"gridstride {_installed_version()}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
    else:
        return
    raise typer.Exit


@app.command()
def climb(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help="A name (`gridstride problems`) or a folder.")],
    rung: Annotated[
        list[str] | None, typer.Option("--rung", metavar="RUNG", help="Only this rung, by name or number; repeatable.")
    ] = None,
    device: DeviceName = None,
    chip: ChipName = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Write the climb as one offline page.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Climb a ladder of kernels, from naive to fast.

    Each rung is verified, counted or timed, and compared with the one before; the wrong kernels beside it must each be
    rejected for their fault.
    """
    return _run("climb", problem, rungs=rung or (), device=device, chip=chip, report=report, as_json=as_json)


@app.command()
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="CUDA C++, or Triton or Numba in a .py file.")],
    problem: Annotated[str, typer.Option("--problem", "-p", metavar="PROBLEM", help="What it is meant to compute.")],
    device: DeviceName = None,
    chip: ChipName = None,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run it in this process, without limits, to debug.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Judge a kernel of your own.

    Is it right, is it safe, and if not, on which line? The file opens with the launch shape: `// grid: …` and
    `// block: …` over the problem's sizes.
    """
    sandbox = not no_sandbox
    return _run("check", file, problem=problem, device=device, chip=chip, as_json=as_json, sandbox=sandbox)


@app.command()
def explain(
    file: Annotated[str, typer.Argument(metavar="FILE", help="CUDA C++, Triton or Numba, or the name of a rung.")],
    problem: Annotated[str, typer.Option("--problem", "-p", metavar="PROBLEM", help="What it is meant to compute.")],
    device: DeviceName = None,
    chip: ChipName = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Write it all as one offline page.")
    ] = None,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run it in this process, without limits, to debug.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Explain a kernel's time, line by line.

    What limits it, how near it is to what the chip can do, what each source line costs, and what to try, with the gain
    that is predicted and the rung of the ladder that does it.
    """
    options = {"device": device, "chip": chip, "report": report, "as_json": as_json, "sandbox": not no_sandbox}
    return _run("explain", file, problem=problem, **options)


@app.command()
def problems(as_json: Json = False) -> int:
    """List the problems there are, with their rungs."""
    return _run("problems", as_json=as_json)


problem = typer.Typer(name="problem", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(problem, help="Write a problem of your own, and prove that it can judge.")


@problem.command("new")
def problem_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and _.")],
    folder: Annotated[
        str | None, typer.Option("--in", metavar="DIR", help="Where to make the folder NAME; here by default.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Write a problem that works, to be changed into your own."""
    return _run("problem", "new", name, folder=folder, as_json=as_json)


@problem.command("prove")
def problem_prove(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of a problem.py, or a problem's name.")],
    device: DeviceName = None,
    chip: ChipName = None,
    as_json: Json = False,
) -> int:
    """Prove that a problem can judge.

    Its rungs and the reference in its own precision must pass; zeros, constants, copies, shifted indices, missing
    tails, lower precision and the kernels in wrong/ must not.
    """
    return _run("problem", "prove", folder, device=device, chip=chip, as_json=as_json)


@app.command()
def chips(as_json: Json = False) -> int:
    """List the GPUs that the virtual one can be."""
    return _run("chips", as_json=as_json)


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
def profile(
    words: Annotated[
        list[str], typer.Argument(metavar="SCRIPT.py [ARGS]… | TRACE.json[.gz]", help="A program, or its trace.")
    ],
    module: Annotated[bool, typer.Option("-m", help="SCRIPT is a module's name, as with `python -m`.")] = False,
    after: Annotated[
        float, typer.Option("--after", metavar="S", help="Begin to record S seconds after the program's start.")
    ] = 0.0,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="Record S seconds of its loop, then stop the program.")
    ] = 3.0,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE.json", help="Keep the Chrome trace; .json.gz packs it.")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Write it all as one offline page.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Say where the time of a PyTorch program goes.

    It is run under the PyTorch profiler, on a GPU or a CPU. Data loading, launch gaps, kernels, copies, Python: every
    microsecond belongs to one of them; then what to change, and what that would win at most.
    """
    options = {"trace": trace, "report": report, "after": after, "seconds": seconds, "module": module}
    return _run("profile", words, **options, as_json=as_json)


@app.command()
def doctor(as_json: Json = False) -> int:
    """Say what this machine has and will use.

    And how to mend what is missing. A one-line kernel is compiled and run to be sure.
    """
    return _run("doctor", as_json=as_json)


@app.command()
def train(
    what: Annotated[
        str | None, typer.Argument(metavar="[digits]", help="Without it a language model; `digits`: a classifier.")
    ] = None,
    config: Annotated[
        str | None, typer.Option("--config", metavar="F.toml", help="Values over the defaults; or a preset: gpu-100m.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A value, as optimiser.lr=0.001; repeatable."),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="PATH", help="A folder of text, a text file, or .jsonl.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The run's folder below runs/.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin anew where a run lies.")] = False,
    write_config: Annotated[
        str | None, typer.Option("--write-config", metavar="F.toml", help="Write the configuration, explained.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="Processes on this machine, a GPU each.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Train a language model.

    Without options: on the Python standard library's own source, in less than ten minutes, on any machine. The model
    lands in runs/stdlib/model. `gridstride train digits` is the smallest pipeline: pixels to a classifier, in seconds.
    """
    return _run(
        "train",
        what=what,
        config=config,
        changes=changes or (),
        data=data,
        name=name,
        resume=resume,
        overwrite=overwrite,
        write_config=write_config,
        processes=processes,
        as_json=as_json,
    )


@app.command()
def serve(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model folder; the one that was trained here by default.")
    ] = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="Whose requests: 0.0.0.0 for all machines.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", help="0 takes any that is free.")] = 8000,
    device: Annotated[
        str | None, typer.Option("--device", metavar="cpu|cuda", help="Where to run; the GPU where there is one.")
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="TYPE", help="float32, bfloat16 or float16; auto: as the folder has it.")
    ] = "auto",
    max_running: Annotated[int, typer.Option(metavar="N", help="Sequences that run at a time.")] = 256,
    max_queue: Annotated[int, typer.Option(metavar="N", help="Sequences that may wait; more get 503.")] = 1024,
    block_size: Annotated[int | None, typer.Option(metavar="TOKENS", help="Of a block of the cache.")] = None,
    cache_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="For keys and values, 4GiB say; what is left over by default.")
    ] = None,
    api_key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Ask for this key; repeatable. Other users see it: see next."),
    ] = None,
    api_key_file: Annotated[str | None, typer.Option(metavar="FILE", help="Keys, one in each line.")] = None,
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="continuous; fifo and static are there to be compared with.")
    ] = "continuous",
    served_name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="What requests call the model; repeatable.")
    ] = None,
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="Of a request.")] = "4MiB",
    grace: Annotated[float, typer.Option(metavar="SECONDS", help="For running requests after SIGTERM.")] = 30.0,
    stall_after: Annotated[
        float, typer.Option(metavar="SECONDS", help="/health fails when requests run so long without a token.")
    ] = 60.0,
    as_json: Json = False,
) -> int:
    """Serve a model as OpenAI's servers do.

    Chat, completions, streaming, metrics. With --json one line says where, once requests can come. Ctrl-C or SIGTERM
    lets running requests end; the second one ends at once.
    """
    return _run(
        "serve", model, host=host, port=port, device=device, dtype=dtype, max_running=max_running, max_queue=max_queue,
        block_size=block_size, cache_memory=cache_memory, api_key=api_key or (), api_key_file=api_key_file,
        policy=policy, served_name=served_name or (), max_body=max_body, grace=grace, stall_after=stall_after,
        as_json=as_json,
    )  # fmt: skip


MaxTokens = Annotated[int | None, typer.Option("--max-tokens", metavar="N", help="Of an answer, at most.")]
Temperature = Annotated[
    float | None, typer.Option("--temperature", metavar="T", help="0 takes the likeliest; as the model's folder says.")
]
TopK = Annotated[int | None, typer.Option("--top-k", metavar="K", help="Only the K likeliest tokens.")]
TopP = Annotated[float | None, typer.Option("--top-p", metavar="P", help="Only the likeliest that make up P together.")]
MinP = Annotated[float | None, typer.Option("--min-p", metavar="P", help="Only P times as likely as the likeliest.")]
Repetition = Annotated[
    float | None, typer.Option("--repetition-penalty", metavar="X", help="Above 1: tokens seen become less likely.")
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="The same seed draws the same text.")]
ModelDevice = Annotated[
    str | None, typer.Option("--device", metavar="cpu|cuda", help="Where to run; the GPU where there is one.")
]
ModelType = Annotated[
    str, typer.Option("--dtype", metavar="TYPE", help="float32, bfloat16, float16; auto: the folder's.")
]


@app.command()
def generate(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model folder; the one that was trained here by default.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", metavar="TEXT", help="What to go on with; - reads stdin.")
    ] = None,
    n: Annotated[int, typer.Option("--n", metavar="N", help="So many texts.")] = 1,
    stop: Annotated[list[str] | None, typer.Option("--stop", metavar="TEXT", help="Ends there; repeatable.")] = None,
    echo: Annotated[bool, typer.Option("--echo", help="Show the prompt too.")] = False,
    stream: Annotated[
        bool | None, typer.Option("--stream/--no-stream", help="Show it as it comes, as on a terminal.")
    ] = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    repetition_penalty: Repetition = None,
    seed: Seed = None,
    device: ModelDevice = None,
    dtype: ModelType = "auto",
    as_json: Json = False,
) -> int:
    """Let a model go on with a text."""
    return _run(
        "generate", model, prompt=prompt, n=n, stop=stop or (), echo=echo, stream=stream, max_tokens=max_tokens,
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=repetition_penalty,
        seed=seed, device=device, dtype=dtype, as_json=as_json,
    )  # fmt: skip


@app.command()
def chat(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model folder, or with --url a model of that server.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Talk with a server's model.")] = None,
    system: Annotated[str | None, typer.Option("--system", metavar="TEXT", help="Who it is to be.")] = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    repetition_penalty: Repetition = None,
    seed: Seed = None,
    device: ModelDevice = None,
    dtype: ModelType = "auto",
    api_key_file: Annotated[
        str | None, typer.Option("--api-key-file", metavar="FILE", help="Its first word is sent as the key.")
    ] = None,
) -> int:
    """Talk with a model in the terminal.

    Ctrl-C stops an answer, Ctrl-D ends the chat; /help says what else there is.
    """
    return _run(
        "chat", model, url=url, system=system, max_tokens=max_tokens, temperature=temperature, top_k=top_k,
        top_p=top_p, min_p=min_p, repetition_penalty=repetition_penalty, seed=seed, device=device, dtype=dtype,
        api_key_file=api_key_file,
    )  # fmt: skip


@app.command()
def load(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[URL]", help="A server; with --compare a model folder to be served."),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="The same load under each policy: continuous, static, fifo.")
    ] = False,
    requests: Annotated[int, typer.Option("--requests", "-n", metavar="N", help="How many.")] = 100,
    rate: Annotated[
        float | None, typer.Option(metavar="R", help="Requests per second in the mean, at random times (Poisson).")
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option("-c", "--concurrency", metavar="N", help="So many at a time; by default 16, to compare all."),
    ] = None,
    prompt_tokens: Annotated[
        str, typer.Option(metavar="LENGTHS", help="128, uniform:16:512 or lognormal:MEDIAN:SIGMA[:MOST].")
    ] = "lognormal:48:0.8:128",
    output_tokens: Annotated[str, typer.Option(metavar="LENGTHS", help="As above.")] = "lognormal:32:1.2:192",
    prompts: Annotated[
        str | None, typer.Option(metavar="FILE.jsonl", help="Your own prompts; pieces of Python's library by default.")
    ] = None,
    chat: Annotated[bool, typer.Option("--chat", help="Chat completions instead of completions.")] = False,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The server's first by default.")] = None,
    temperature: Annotated[float, typer.Option(metavar="T")] = 1.0,
    ignore_eos: Annotated[
        bool, typer.Option(help="Outputs have the lengths drawn; no: the model may end them, as for OpenAI's servers.")
    ] = True,
    slo: Annotated[
        list[str] | None, typer.Option(metavar="ttft=MS,tpot=MS,e2e=MS", help="Say how many requests were within it.")
    ] = None,
    warmup: Annotated[int, typer.Option(metavar="N", help="Requests before, which do not count.")] = 2,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed makes the same traffic.")] = 0,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Without a byte of an answer.")] = 600.0,
    api_key_file: Annotated[str | None, typer.Option(metavar="FILE", help="Its first word is sent as the key.")] = None,
    device: Annotated[
        str | None, typer.Option("--device", metavar="cpu|cuda", help="Of the servers that --compare starts.")
    ] = None,
    max_running: Annotated[int, typer.Option(metavar="N", help="Sequences that these servers run at a time.")] = 32,
    as_json: Json = False,
) -> int:
    """Put a load on a server, and measure what its users feel.

    Time to first token, per token and for the whole answer, rates, and how many requests were within given objectives.
    """
    return _run(
        "load", target, compare=compare, requests=requests, rate=rate, concurrency=concurrency,
        prompt_tokens=prompt_tokens, output_tokens=output_tokens, prompts=prompts, chat=chat, model=model,
        temperature=temperature, ignore_eos=ignore_eos, slo=slo or (), warmup=warmup, seed=seed, timeout=timeout,
        api_key_file=api_key_file, device=device, max_running=max_running, as_json=as_json,
    )  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    """Run the words given, by default the process's own, and exit: 0 pass, 1 fail, 2 wrong usage, 130 Ctrl-C."""
    given = list(sys.argv[1:] if words is None else words)
    gc.set_threshold(20_000, *gc.get_threshold()[1:])  # imports make many objects and no rubbish to look for
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (closed by the caller, `>&-`)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # "×" on a terminal that knows ASCII only
    warnings.simplefilter("default", RuntimeWarning)  # whatever the environment says, a warning is no failure here
    warnings.showwarning = _warn
    sys.exit(_outcome(given))


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("gridstride")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "(from source, not installed)"


def _run(command: str, *args: Any, **options: Any) -> int:
    try:
        with tidy_when_terminated() if command in _LEAVE_FOLDERS else nullcontext():
            passed: bool = importlib.import_module(f"gridstride.commands.{command}").run(*args, **options)
    except KeyboardInterrupt:  # here, as typer's versions make different things of it
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0 if passed else FAILED


def _outcome(words: list[str]) -> int:
    try:
        code = int(app(words, prog_name="gridstride", standalone_mode=False) or 0)
        sys.stdout.flush()  # here, where it can be told what went wrong
        return code
    except WrongUse as error:
        return _refused(str(error), words)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (the interpreter flushes it at exit)
        return FAILED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return FAILED
    except Exception as error:
        # Typer's own errors, whose classes have moved between its versions, know how to say what was wrong.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        return _refused(message(), words)


def _refused(message: str, words: list[str]) -> int:
    """Say what was wrong on stderr, and as the one object on stdout where JSON was asked for."""
    print(f"error: {message}", file=sys.stderr)
    if "--json" in words:
        print(json.dumps({"error": message}))
    return WRONG_USE
