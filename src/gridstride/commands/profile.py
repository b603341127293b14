"""`gridstride profile`: where the time of a PyTorch program goes, or of a CUDA program."""

from __future__ import annotations

import importlib.util
import shlex
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.commands import profile_program
from gridstride.commands.climb import writable
from gridstride.commands.terminal import WrongUse, emit, print_stderr, refuse_what_never_ends, stdout

if TYPE_CHECKING:
    from gridstride.commands.options.profile_options import RecordingOptions, SimulatedGPU
    from gridstride.profile.record import ProfileRequest, ProgramOutcome
    from gridstride.profile.summary import ProgramProfile, Ran
    from gridstride.profile.trace import Trace

_TRACE_ENDS = (".json", ".gz")


def run(words: Sequence[str], recording: RecordingOptions, gpu: SimulatedGPU, *, as_json: bool) -> bool:
    """Profile the program or read the trace, show it, and say whether the program ended well."""
    trace, report = recording.trace, recording.report
    chosen = {"trace": trace, "report": report, "after": recording.after or None}
    if words[0].lower().endswith(profile_program.END) and not recording.module:
        profile_program.refuse([name for name, value in chosen.items() if value is not None])
        return profile_program.run(words, gpu, as_json=as_json)
    cuda = f"is for CUDA programs (PROG{profile_program.END})"
    if gpu.chip is not None:
        raise WrongUse(f"--chip {gpu.chip} {cuda}, which run on the virtual GPU")
    if gpu.gpus != 1:
        raise WrongUse(f"--gpus {gpu.gpus} {cuda}, which run on the virtual GPU")
    if gpu.memory is not None:
        raise WrongUse(f"--memory {gpu.memory} {cuda}, on the virtual GPU")
    if gpu.cuda11:
        raise WrongUse(f"--cuda11 {cuda}")
    from gridstride.profile.record import RecordError

    page = writable(report) if report is not None else None
    trace_file = writable(trace, option="--trace") if trace is not None else None
    try:
        profile = _profiled(words, trace_file, recording)
    except RecordError as error:
        _progress(f"error: {error}")
        if as_json:
            emit({"error": str(error)})
        return False
    if page is not None:
        _write_report(profile, page, _command(words, chosen, recording.module))
    _show(profile, as_json)
    if profile.ran.end == "interrupted":
        raise KeyboardInterrupt
    return not profile.ran.failed


def _profiled(words: Sequence[str], trace_file: Path | None, recording: RecordingOptions) -> ProgramProfile:
    target, args = words[0], words[1:]
    if recording.module or not target.lower().endswith(_TRACE_ENDS):
        return _record(_request(target, args, recording.after, recording.seconds, recording.module), trace_file)
    if args:
        raise WrongUse(f"{target} is a trace and takes no arguments ({shlex.join(args)}); options go before it")
    if trace_file is not None:
        raise WrongUse(f"--trace {trace_file}: {target} is a trace already")
    from gridstride.profile.summary import Ran, named

    return _profile(_read(Path(target)), Ran(named(target)))


def _request(target: str, args: Sequence[str], after: float, seconds: float, module: bool) -> ProfileRequest:
    """What to run, after making sure that it can be."""
    from gridstride.profile.record import ProfileRequest

    for name, value, least in (("after", after, 0), ("seconds", seconds, 0.1)):
        if not least <= value <= 1e6:
            raise WrongUse(f"--{name} {value:g}: a number of seconds from {least:g} on is needed")
    if not module:
        _check_script(target)
    if importlib.util.find_spec("torch") is None:
        raise WrongUse("PyTorch is not installed: pip install 'gridstride[torch]' (a trace can be read without it)")
    return ProfileRequest(target, args, after, seconds, module)


def _check_script(target: str) -> None:
    path = Path(target)
    refuse_what_never_ends(path)
    if path.is_dir():
        raise WrongUse(f"{target} is a folder: name a Python file in it, or a trace.json")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise WrongUse(f"{target} cannot be read: {error.strerror}") from error
    if not source.strip():
        raise WrongUse(f"{target} is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python says them again when the program runs
            compile(source, target, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise WrongUse(f"{target} is not Python{line}: {reason}") from error


def _record(request: ProfileRequest, trace_file: Path | None) -> ProgramProfile:
    """Run the program, keep its trace where that was asked for, and read it."""
    from gridstride.profile.record import record
    from gridstride.profile.summary import Ran, named

    with tempfile.TemporaryDirectory(prefix="gridstride-profile-") as folder:
        _progress(f"running {shlex.join([request.program, *request.args])}")
        outcome = record(request, Path(folder), tell=_progress)
        path = Path(folder) / "trace.json"
        if trace_file is not None:
            _keep(path, trace_file)
        trace = _read(path, of=request.program)
        profile = _profile(trace, Ran(named(request.program), outcome.end, outcome.said))
        _print_outcome(outcome, request, profile.cut)
        return profile


def _read(path: Path, of: str | None = None) -> Trace:
    """The trace; of a program that was just run, what is wrong with it is said of the program."""
    from gridstride.profile.record import RecordError
    from gridstride.profile.stream import TraceError
    from gridstride.profile.trace import Empty, read

    refuse_what_never_ends(path)
    if path.is_dir():
        raise WrongUse(f"{path} is a folder: name the trace.json in it")
    try:
        return read(path)
    except OSError as error:
        raise WrongUse(f"{path} cannot be read: {error.strerror or error}") from error
    except Empty as error:
        if of is not None:
            raise RecordError(f"{of} called nothing of PyTorch while it was recorded") from error
        raise WrongUse(str(error)) from error
    except TraceError as error:
        raise WrongUse(str(error)) from error


def _profile(trace: Trace, ran: Ran) -> ProgramProfile:
    from gridstride.profile.summary import summarise

    return summarise(trace, ran)


def _progress(text: str) -> None:
    print_stderr(text)


def _print_outcome(outcome: ProgramOutcome, request: ProfileRequest, cut: str) -> None:
    """How the program ended, where it was not by itself and well."""
    name = request.program
    messages = {
        "raised": f"{name} failed ({outcome.said}): what follows is of the time until then",
        "exited": f"{name} ended with {outcome.said}: what follows is of the time until then",
        "stopped": f"{name} was stopped: {cut}"
        if cut
        else f"{name} was stopped after {request.seconds:g} s of its loop: --seconds records more of it",
    }
    if outcome.end in messages:
        _progress(messages[outcome.end])


def _keep(path: Path, trace_file: Path) -> None:
    """The trace under the name that was asked for, whole or not at all."""
    from gridstride.judge.report.save import save_bytes

    try:
        save_bytes(trace_file, _opened(path, trace_file))
    except OSError as error:
        raise WrongUse(f"--trace {trace_file} cannot be written: {error.strerror}") from error
    _progress(f"trace: {trace_file} (chrome://tracing and ui.perfetto.dev open it)")


def _opened(path: Path, trace_file: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        pieces = iter(lambda: file.read(1 << 20), b"")
        if trace_file.suffix != ".gz":
            yield from pieces
            return
        packer = zlib.compressobj(wbits=31)  # gzip's format
        for piece in pieces:
            yield packer.compress(piece)
        yield packer.flush()


def _write_report(profile: ProgramProfile, target: Path, command: str) -> None:
    from gridstride.judge.report.save import save
    from gridstride.profile.report import render

    try:
        save(target, render(profile, command=command))
    except OSError as error:
        raise WrongUse(f"--report {target} cannot be written: {error.strerror}") from error
    _progress(f"report: {target}")


def _show(profile: ProgramProfile, as_json: bool) -> None:
    if as_json:
        emit(profile.json())
        return
    from gridstride.commands.text.profile_text import show

    show(stdout(), profile)


def _command(words: Sequence[str], options: Mapping[str, Any], module: bool) -> str:
    """The command as it can be typed again."""
    options_shown = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    return shlex.join(["gridstride", "profile", *options_shown, *(["-m"] if module else []), *words])
