"""`gridstride run`: a whole CUDA program, compiled and run, without a GPU or on one."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gridstride.commands.terminal import WrongUse, emit, print_stderr
from gridstride.programs.calls.activity import KERNEL_COUNTS, Call, failure
from gridstride.programs.calls.fat_binary import NoPtx, ptx_of
from gridstride.programs.calls.peers import MOST
from gridstride.programs.memory_size import memory_size
from gridstride.programs.program_errors import BuildFailed, ProgramError
from gridstride.programs.python.script_run import check_script, is_script, run_script, run_script_on_hardware
from gridstride.programs.run import Built, Ended, Settings, build
from gridstride.programs.run import run as run_program
from gridstride.programs.sources import Options, sources

if TYPE_CHECKING:
    from gridstride.commands.options.program_options import RunOptions
    from gridstride.virtual.chips import Chip

FAILED = 1
STDERR = 2
"""The descriptor."""
_EXPECTED = (signal.SIGINT, signal.SIGPIPE)
"""Signals that need no words: Ctrl-C, and a reader such as `head` that has seen enough."""


def run(
    words: Sequence[str], arguments: Sequence[str], how: RunOptions, *, options: dict[str, Any], as_json: bool
) -> int:  # fmt: skip
    """Exit status: the program's; 1 for what does not compile, or for findings of the sanitizer.

    `options` are the compilers' (programs.sources.Options).
    """
    _check(how)
    failing = _fails(how.fails)
    script = _names_script(words, options, ptx=how.ptx)
    if how.device == "physical":
        return _run_on_hardware(words, arguments, how, options, as_json=as_json)
    model = chip_of(how.device, how.chip)
    nbytes = memory_of(how.memory, model)
    settings = Settings(
        model.key, how.sanitize, how.seed, how.predict, timeline=how.predict and as_json, time_limit=how.time_limit,
        stdout=STDERR if as_json else None, fails=failing, late=how.late, gpus=how.gpus, memory=nbytes,
    )  # fmt: skip
    try:
        if script:
            outcome = run_script(words[0], arguments, settings, progress=print_stderr)
        else:
            files = sources(words)
            built = build(files, Options(**options), arch=model.properties.arch, progress=print_stderr)
            if how.ptx:
                return _show_ptx(built)
            outcome = run_program(built, [str(files[0].with_suffix("")), *arguments], settings)
    except BuildFailed as failed:
        return not_built(failed, as_json)
    except ProgramError as error:
        raise WrongUse(str(error)) from None
    _print_exit(outcome, how.time_limit)
    if failing and outcome.activity and not outcome.activity.get("failed_calls"):
        print_stderr(f"note: --fail {' --fail '.join(how.fails)}: the program made no such call")
    if as_json:
        emit(_json(outcome, predict=how.predict))
    return FAILED if how.sanitize and outcome.findings and outcome.status == 0 else outcome.status


def _check(how: RunOptions) -> None:
    """WrongUse for what cannot be, or not together."""
    if how.time_limit is not None and not how.time_limit > 0:
        raise WrongUse(f"--time-limit {how.time_limit:g} must be above 0 seconds")
    if how.seed is not None and how.seed < 0:
        raise WrongUse(f"--seed {how.seed} must be 0 or above")
    check_gpus(how.gpus)
    if how.sanitize and how.predict:
        raise WrongUse("--sanitize looks for faults and --predict at times: give one of them")
    if how.late and how.predict:
        raise WrongUse("--late puts work off and --predict says how long it takes: give one of them")


def _run_on_hardware(
    words: Sequence[str], arguments: Sequence[str], how: RunOptions, options: dict[str, Any], *, as_json: bool
) -> int:
    """The same with this machine's GPU and CUDA toolkit."""
    from gridstride.device.physical.driver import physical_count
    from gridstride.programs.physical_run import build_and_run

    if options.get("cuda11"):
        raise WrongUse("--cuda11 is the virtual GPU's: with --device physical a toolkit of CUDA 11 is what it takes")
    if names := how.of_virtual_gpu:
        raise WrongUse(f"{names[0]} is the virtual GPU's, and cannot be with --device physical")
    if not physical_count():
        raise WrongUse("--device physical: there is no NVIDIA GPU here, or no driver for it; leave --device out")
    stdout, time_limit = STDERR if as_json else None, how.time_limit
    try:
        if is_script(words):
            outcome = run_script_on_hardware(words[0], arguments, time_limit=time_limit, stdout=stdout)
        else:
            files = sources(words)
            outcome = build_and_run(
                files, Options(**options), [str(files[0].with_suffix("")), *arguments], time_limit=time_limit,
                stdout=stdout, progress=print_stderr,
            )  # fmt: skip
    except BuildFailed as failed:
        return not_built(failed, as_json)
    except ProgramError as error:
        raise WrongUse(str(error)) from None
    _print_exit(outcome, time_limit)
    if as_json:
        emit(_json(outcome, predict=False))
    return outcome.status


_OF_COMPILERS = {
    "include": "-I", "define": "-D", "libraries": "-l", "std": "--std", "relocatable": "--rdc", "flags": "--nvcc",
    "cuda11": "--cuda11",
}  # fmt: skip


def _names_script(words: Sequence[str], options: Mapping[str, Any], *, ptx: bool) -> bool:
    """Whether a Python program is named; WrongUse for what cannot be with one."""
    try:
        if not is_script(words):
            return False
        check_script(words[0])
    except ProgramError as error:
        raise WrongUse(str(error)) from None
    refused = [word for name, word in _OF_COMPILERS.items() if options.get(name)] + ["--ptx"] * ptx
    if refused:
        raise WrongUse(
            f"{refused[0]} is for the compilers of .cu files, and {words[0]} is a Python program: leave it out"
        )
    return True


def check_gpus(number: int) -> None:
    """WrongUse for more GPUs than a program may see, or none."""
    if not 1 <= number <= MOST:
        raise WrongUse(f"--gpus {number} must be 1 to {MOST}: so many GPUs a program may see")


def memory_of(text: str | None, chip: Chip) -> int | None:
    """Bytes that each GPU is to have; WrongUse for what is no amount, or more than the chip has."""
    if text is None:
        return None
    try:
        nbytes = memory_size(text)
    except ValueError as error:
        raise WrongUse(f"--memory {error}") from None
    if nbytes > chip.properties.total_memory:
        available = f"{chip.properties.total_memory / 2**30:.0f} GiB"
        raise WrongUse(f"--memory {text} is more than the {available} of this chip ({chip.key})")
    return nbytes


def chip_of(device: str | None, name: str | None) -> Chip:
    """Which GPU a program runs on; WrongUse."""
    from gridstride.virtual.chips import chip

    if device not in (None, "virtual"):
        raise WrongUse(f"--device {device}: virtual or physical belongs there")
    try:
        return chip(name or "h200")
    except ValueError as error:
        raise WrongUse(f"--chip {name}: {error}") from None


def _show_ptx(built: Built) -> int:
    try:
        sys.stdout.write("\n".join(ptx_of(built.program)))
    except NoPtx as error:
        raise WrongUse(str(error)) from None
    return 0


def _fails(words: Sequence[str]) -> dict[Call, int]:
    try:
        return dict(failure(word) for word in words)
    except ValueError as error:
        raise WrongUse(f"--fail {error}") from None


def not_built(failed: BuildFailed, as_json: bool) -> int:
    """What the compilers said; the exit status."""
    sys.stderr.write(failed.output)
    print_stderr(f"error: {failed}")
    if as_json:
        emit({"error": str(failed), "output": failed.output})
    return FAILED


def _json(outcome: Ended, *, predict: bool) -> dict[str, Any]:
    """For `--json`; counts of kernels and modelled times, which a run has with --predict alone, are not zeros else."""
    from gridstride.programs.timeline.totals import Totals

    absent = set() if predict else {*KERNEL_COUNTS, *(field.name for field in fields(Totals))}
    activity = {name: value for name, value in outcome.activity.items() if name not in absent}
    return {
        "status": outcome.status, "signal": outcome.signal, "timed_out": outcome.timed_out,
        "seconds": round(outcome.seconds, 3), "findings": list(outcome.findings),
        "activity": activity, **({"timeline": dict(outcome.timeline)} if outcome.timeline else {}),
    }  # fmt: skip


def _print_exit(outcome: Ended, time_limit: float | None) -> None:
    if outcome.timed_out:
        print_stderr(f"error: the program had not ended after {time_limit:g} s (--time-limit)")
    say_signal(outcome)


def say_signal(outcome: Ended) -> None:
    """Which signal ended the program, where that needs words."""
    if not outcome.timed_out and outcome.signal not in (None, *_EXPECTED):
        print_stderr(f"error: the program was ended by signal {outcome.signal} ({_signal_name(outcome.signal or 0)})")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
