"""The words of the commands that run whole programs and draw pictures.

As in cli.py a command parses its words and calls one function, which is imported only then.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from typer.core import TyperCommand

from gridstride.commands.options.shared_options import ChipName, Cuda11, DeviceName, Json, call, record_options

_ARGUMENTS = "gridstride.arguments"


class _WithArguments(TyperCommand):
    """A command whose words behind `--` are the program's."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        own = args[: args.index("--")] if "--" in args else args
        ctx.meta[_ARGUMENTS] = tuple(args[len(own) + 1 :])
        return super().parse_args(ctx, own)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerOptions:
    """The fields of programs.sources.Options, which imports more than the parsing of words needs."""

    include: Annotated[
        tuple[str, ...], typer.Option("-I", metavar="DIR", help="Look for headers there; repeatable.")
    ] = ()
    define: Annotated[
        tuple[str, ...], typer.Option("-D", metavar="NAME[=VALUE]", help="Define a macro; repeatable.")
    ] = ()
    libraries: Annotated[tuple[str, ...], typer.Option("-l", metavar="NAME", help="Link a library; repeatable.")] = ()
    std: Annotated[str | None, typer.Option("--std", metavar="c++17", help="The version of C++.")] = None
    relocatable: Annotated[
        bool, typer.Option("--rdc", help="Relocatable device code; done by itself where files need it.")
    ] = False
    flags: Annotated[
        tuple[str, ...], typer.Option("--nvcc", metavar="FLAG", help="Hand a flag to nvcc; repeatable.")
    ] = ()
    cuda11: Cuda11 = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Where and how a program is to run, in the command's words."""

    device: Annotated[str | None, typer.Option("--device", metavar="virtual", help="Where to run.")] = None
    chip: ChipName = None
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="Look for races, uninitialised reads, leaks: exit 1 where there are any.")
    ] = False
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Draw an order of blocks and warps.")] = None
    predict: Annotated[
        bool, typer.Option("--predict", help="Events tell the time predicted for the chip, not this machine's clock.")
    ] = False
    fails: Annotated[
        tuple[str, ...],
        typer.Option("--fail", metavar="CALL=N", help="Make the Nth allocation, copy, launch or kernel fail."),
    ] = ()
    late: Annotated[
        bool, typer.Option("--late", help="Do work no sooner than the host waits for it: is every wait there?")
    ] = False
    ptx: Annotated[bool, typer.Option("--ptx", help="Show what the compiler made of the kernels, and run nothing.")] = (
        False
    )
    gpus: Annotated[int, typer.Option("--gpus", metavar="N", help="How many GPUs the program sees, 1 to 16.")] = 1
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="What a GPU has of it: 64MiB, say; or the chip's."),
    ] = None
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="S", help="End the program after S seconds, exit 124.")
    ] = None

    @property
    def of_virtual_gpu(self) -> list[str]:
        """Those that are given and that only the virtual GPU has."""
        used = {
            "--chip": self.chip, "--sanitize": self.sanitize, "--seed": self.seed is not None,
            "--predict": self.predict, "--fail": self.fails, "--late": self.late, "--gpus": self.gpus != 1,
            "--memory": self.memory, "--ptx": self.ptx,
        }  # fmt: skip
        return [name for name, value in used.items() if value]


def add(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command(cls=_WithArguments)(run)
    app.command()(build)
    app.command(cls=_WithArguments)(env)
    app.command()(draw)


@record_options
def run(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="PROG.cu|SCRIPT.py|DIR|FILES… [-- ARGS]", help="Its source, then its own arguments."),
    ],
    *,
    compilers: CompilerOptions,
    how: RunOptions,
    as_json: Json = False,
) -> int:
    """Run a whole CUDA program, of C++ or Python, with no GPU.

    On the virtual GPU, with compilers from wheels (`pip install 'gridstride[programs]'`). Stdin, stdout and the exit
    status are the program's: 128 + n for signal n; 1 also for what does not compile. Its host code runs as you, in no
    sandbox: only `gridstride check` locks a stranger's code in.
    """
    return call("run", files, context.meta[_ARGUMENTS], how, options=asdict(compilers), as_json=as_json)


@record_options
def build(
    files: Annotated[list[str], typer.Argument(metavar="PROG.cu|DIR|FILES…", help="Its source.")],
    output: Annotated[str | None, typer.Option("-o", metavar="FILE", help="Where it goes.")] = None,
    ptx: Annotated[bool, typer.Option("--ptx", help="Only the kernels of one .cu file, as PTX.")] = False,
    fatbin: Annotated[
        bool, typer.Option("--fatbin", help="Only the kernels of one .cu file, as a fat binary with PTX.")
    ] = False,
    *,
    compilers: CompilerOptions,
    chip: ChipName = None,
    as_json: Json = False,
) -> int:
    """Compile a whole CUDA program, or its kernels, to a file.

    A program that loads its kernels while it runs (cuModuleLoad, cuLibraryLoadFromFile) finds them in a file of --ptx
    or --fatbin.
    """
    return call(
        "build", files, output=output, chip=chip, options=asdict(compilers), ptx=ptx, fatbin=fatbin, as_json=as_json
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentOptions:
    """What programs that are built are to run on, and what their compilers find."""

    chip: ChipName = None
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="Programs look for races, uninitialised reads, leaks.")
    ] = False
    late: Annotated[bool, typer.Option("--late", help="Programs do work no sooner than the host waits for it.")] = False
    gpus: Annotated[int, typer.Option("--gpus", metavar="N", help="How many GPUs programs see, 1 to 16.")] = 1
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="What a GPU has of it: 64MiB, say; or the chip's.")
    ] = None
    cuda11: Cuda11 = False


@record_options
def env(
    context: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="[-- COMMAND…]", help="To run there.")] = None,
    *,
    how: EnvironmentOptions,
    as_json: Json = False,
) -> int:
    """Build a project with its own Makefile or CMake.

    No GPU and no CUDA toolkit is needed.
    `eval "$(gridstride env)"` puts an nvcc and a c++ of ours on PATH, where CUDA_HOME points too; `gridstride env --
    make -j2` does so for one command. What they link runs as any program does, on the virtual GPU.
    """
    return call("env", words or (), context.meta[_ARGUMENTS], how, as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawOptions:
    """How large a picture is, how far its scene goes, and where it is written; None where nothing is said."""

    size: Annotated[str | None, typer.Option("--size", metavar="WxH", help="Width and height in pixels.")] = None
    steps: Annotated[int | None, typer.Option("--steps", metavar="N", help="How far the scene goes.")] = None
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE.png|.apng", help="A still picture, or an animation; SCENE.png by default."),
    ] = None
    frames: Annotated[
        int | None, typer.Option("--frames", metavar="N", help="Of an animation, 2 to 1,000; 60 by default.")
    ] = None


@record_options
def draw(
    scene: Annotated[str | None, typer.Argument(metavar="SCENE", help="Its name; without one they are listed.")] = None,
    *,
    options: DrawOptions,
    device: DeviceName = None,
    chip: ChipName = None,
    as_json: Json = False,
) -> int:
    """Draw a picture that kernels compute.

    A scene goes on step by step on the GPU, or on the virtual one where there is none, and is written behind the last
    step, or as an animation: `gridstride draw mandelbrot --size 480x320 --out mandelbrot.apng`.
    """
    return call("draw", scene, options, device=device, chip=chip, as_json=as_json)
