"""The command line: parses words, calls one function for each command, turns what it says into an exit code.

Nothing heavy is imported before a command runs: `gridstride --help` must answer at once.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

from gridstride import ONE_BLAS_THREAD, WINDOWS
from gridstride.commands.terminal import WrongUse, interrupts_end_at_once, print_stderr
from gridstride.plain import plain

with interrupts_end_at_once():
    import typer

    from gridstride.commands.course import course_words
    from gridstride.commands.options import onnx_options, profile_options, program_options, stack_options
    from gridstride.commands.options.shared_options import (
        FAILED,
        INTERRUPTED,
        WRONG_USE,
        ChipName,
        DeviceName,
        Json,
        call,
    )

_START = "Try:  gridstride climb matmul"
# Typer draws its help with rich where it is told to, and importing that takes longer than everything else together.
app = typer.Typer(
    name="gridstride", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, epilog=_START
)


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
    return call("climb", problem, rungs=rung or (), device=device, chip=chip, report=report, as_json=as_json)


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
    return call("check", file, problem=problem, device=device, chip=chip, as_json=as_json, sandbox=sandbox)


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
    return call("explain", file, problem=problem, **options)


@app.command()
def export(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help="A name (`gridstride problems`) or a folder.")],
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="FILE|RUNG", help="Your own kernel, or a rung; the last rung by default."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Of the package; PROBLEM_op by default.")
    ] = None,
    folder: Annotated[
        str | None, typer.Option("--in", metavar="DIR", help="Where to make the folder NAME; here by default.")
    ] = None,
    wheel: Annotated[
        bool, typer.Option("--wheel", help="Build its wheel, too, by nvcc and c++ or those that come as wheels.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Make a PyTorch extension of a kernel.

    A folder of its own: the kernel, its op in C++ by PyTorch's stable interface, fake tensors and gradient in Python, a
    build and a test with recorded answers. Your own kernel is judged first.
    """
    return call("export", problem, kernel=kernel, name=name, folder=folder, wheel=wheel, as_json=as_json)


@app.command()
def problems(as_json: Json = False) -> int:
    """List the problems there are, with their rungs."""
    return call("problems", as_json=as_json)


problem = typer.Typer(name="problem", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(problem, help="What a problem asks for; write and prove one of your own.")


@problem.command("new")
def problem_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and _.")],
    folder: Annotated[
        str | None, typer.Option("--in", metavar="DIR", help="Where to make the folder NAME; here by default.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Write a problem that works, to be changed into your own."""
    return call("problem", "new", name, folder=folder, as_json=as_json)


@problem.command("show")
def problem_show(
    name: Annotated[str, typer.Argument(metavar="PROBLEM", help="A name (`gridstride problems`) or a folder.")],
    starter: Annotated[bool, typer.Option("--starter", help="Only a kernel file to start from.")] = False,
    as_json: Json = False,
) -> int:
    """Show what a problem asks for.

    Statement, formula, signature, sizes, data, tolerance, what every verdict must have seen, and a file to start from:
    `gridstride problem show saxpy --starter > mine.cu`.
    """
    return call("problem", "show", name, starter=starter, as_json=as_json)


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
    return call("problem", "prove", folder, device=device, chip=chip, as_json=as_json)


@app.command()
def chips(as_json: Json = False) -> int:
    """List the GPUs that the virtual one can be."""
    return call("chips", as_json=as_json)


profile_options.add(app)


@app.command()
def doctor(as_json: Json = False) -> int:
    """Say what this machine has and will use.

    And how to mend what is missing. A one-line kernel is compiled and run to be sure.
    """
    return call("doctor", as_json=as_json)


program_options.add(app)
onnx_options.add(app)
course_words.add(app)
stack_options.add(app)


def main(words: Sequence[str] | None = None) -> None:
    """Run the words given, by default the process's own, and exit: 0 pass, 1 fail, 2 wrong usage, 130 Ctrl-C."""
    arguments = list(sys.argv[1:] if words is None else words)
    if sys.platform == "win32":
        sys.exit(_refused(WINDOWS, arguments))
    os.environ.setdefault(*ONE_BLAS_THREAD)
    gc.set_threshold(20_000, *gc.get_threshold()[1:])  # imports make many objects and no rubbish to look for
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (closed by the caller, `>&-`)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # "×" on a terminal that knows ASCII only
    warnings.simplefilter("default", RuntimeWarning)  # whatever the environment says, a warning is no failure here
    warnings.showwarning = _warn
    sys.exit(_outcome(arguments))


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    print_stderr(f"warning: {message}")


def _installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("gridstride")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "(from source, not installed)"


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
    except MemoryError as error:
        return _refused(f"this process has no more memory ({error}): free some, or raise its limit (ulimit -v)", words)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return _refused(f"{error.filename} cannot be opened: the name is too long for this system", words)
        if error.errno != errno.ENOSPC:
            raise
        print_stderr(f"error: the output cannot be written: {error.strerror}")
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
    print_stderr(f"error: {message}")
    if "--json" in words:
        print(json.dumps({"error": plain(message)}))
    return WRONG_USE
