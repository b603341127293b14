"""`gridstride profile PROG.cu`: the modelled timeline of a whole CUDA program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gridstride.commands.run import STDERR, check_gpus, chip_of, memory_of, not_built, say_signal
from gridstride.commands.terminal import WrongUse, emit, print_stderr, stdout
from gridstride.programs.program_errors import BuildFailed, ProgramError
from gridstride.programs.run import Settings, build
from gridstride.programs.run import run as run_program
from gridstride.programs.sources import Options, sources
from gridstride.programs.timeline.picture import lines

if TYPE_CHECKING:
    from gridstride.commands.options.profile_options import SimulatedGPU

END = ".cu"


def refuse(options: Sequence[str]) -> None:
    """WrongUse for options that only PyTorch programs have."""
    if options:
        raise WrongUse(f"--{options[0]} is for PyTorch programs; of PROG{END} there are the timeline and --json")


def run(words: Sequence[str], gpu: SimulatedGPU, *, as_json: bool) -> bool:
    """Run it with modelled times and show when what ran; its own output goes to stderr. Whether it ended well."""
    check_gpus(gpu.gpus)
    model = chip_of(None, gpu.chip)
    nbytes = memory_of(gpu.memory, model)
    try:
        files = sources(words[:1])
        built = build(files, Options(cuda11=gpu.cuda11), arch=model.properties.arch, progress=print_stderr)
    except BuildFailed as failed:
        return not not_built(failed, as_json)
    except ProgramError as error:
        raise WrongUse(str(error)) from None
    settings = Settings(model.key, predict=True, timeline=True, stdout=STDERR, gpus=gpu.gpus, memory=nbytes)
    outcome = run_program(built, [str(files[0].with_suffix("")), *words[1:]], settings)
    say_signal(outcome)
    if not outcome.timeline:
        print_stderr("error: the program did not end by itself: there is no timeline")
    if as_json:
        emit({"status": outcome.status, **outcome.timeline})
    elif outcome.timeline:
        for line in lines(outcome.timeline):
            stdout().print(line, markup=False, highlight=False, no_wrap=True, crop=False, overflow="ignore")
    return outcome.status == 0 and bool(outcome.timeline)
