"""What is found in a program's run: how it ended, what it printed, which errors it passed over."""

from __future__ import annotations

import re
import signal
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.course.figures.arithmetic import evaluate
from gridstride.course.labs.lab_verdict import LabFinding, with_line, without_more_time
from gridstride.course.lesson import LabSpec, PrintedLine
from gridstride.programs.calls.objects import left_in_words

if TYPE_CHECKING:
    from gridstride.programs.process.confined import Outcome

KINDS: dict[str, str] = {
    "crash": "the program was ended by a signal",
    "too_much": "the program took more memory, threads or disk than a lab has, or printed more",
    "exit_status": "the program ended with another exit status",
    "no_result": "a file that the program was to write is missing, or of another length",
    "wrong_lines": "the lines that were printed are not those that must come",
    "not_by_kernel": "lines that a kernel was to print came from the host",
    "error_ignored": "a call failed, and the program went on or did not say so",
    "not_waited": "the program ended before a launch was waited for",
}
"""What is found in programs, besides what the judge finds in kernels and what a bound does."""

_REPORTED = "gridstride: "
"""How lines begin that are reported of a program."""
_REFUSED = " is not supported: "
"""As runtime/errors.c says it."""
_NUMBER = r"([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)"
_NEAR = 0.02  # of a number, as it is printed with few digits
_SHOWN = 3  # lines that are missing or too many
_WIDE = 60  # characters of a printed line that are quoted
_PLACE = re.compile(r"^(?P<file>[^\n:(]+)(?::|\()(?P<line>\d+)(?:\)|:\d+)?:\s*(?:fatal )?error:?\s*(?P<said>.+)$", re.M)
_SIGNALS: Mapping[int, str] = {
    signal.SIGSEGV: "Host code cannot use an address of device memory, nor a pointer that was never set",
    signal.SIGABRT: "A failed assert does that, and an exception that nobody catches, such as std::bad_alloc for more "
                    "memory than a lab has",
    signal.SIGFPE: "A whole number was divided by zero",
}  # fmt: skip


def device_finding(finding: Mapping[str, Any], source: str) -> LabFinding:
    """A kernel's finding; of one in another file than `source`, such as a library's, its kernel and no line."""
    if finding["file"] is None or Path(finding["file"]).name == source:
        return LabFinding(finding["kind"], without_more_time(finding["message"]), finding["line"])
    message = (
        f"{finding['message']} This is in kernel {finding['kernel']} of {Path(finding['file']).name}, of a library "
        "that the program calls: do the sizes and arrays that it is given fit each other?"
    )
    return LabFinding(finding["kind"], message)


def ended_otherwise(outcome: Outcome) -> Iterator[LabFinding]:
    """A program that did not end by itself."""
    if outcome.stopped:
        kind = "timeout" if "had not ended" in outcome.stopped else "too_much"
        findings = [finding for finding in outcome.ended.findings if finding["kind"] in ("timeout", "deadlock")]
        if findings:
            yield LabFinding(findings[0]["kind"], without_more_time(findings[0]["message"]), findings[0]["line"])
        more = f"; it had printed {outcome.lost:,} bytes more than are kept" if outcome.lost else ""
        yield LabFinding(kind, f"the program was stopped: {outcome.stopped}{more}", shown=last_lines(outcome))
    elif (number := outcome.ended.signal) is not None:
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        why = f". {_SIGNALS[number]}" if number in _SIGNALS else ""
        yield LabFinding("crash", f"the program was ended by {name}{why}", shown=last_lines(outcome))


def ended_otherwise_modelled(outcome: Outcome, status: int) -> Iterator[LabFinding]:
    """A program that ended well, and does not where its times are modelled: work is then under way when it is given."""
    yield from ended_otherwise(outcome)
    if outcome.ended.status != status and outcome.ended.signal is None:
        message = (
            f"the program ended with exit status {outcome.ended.status}, {status} was expected, as soon as its work "
            "takes time on the device: gridstride run --predict does the same"
        )
        shown = (f"exit status: {message}", *last_lines(outcome))
        yield LabFinding("exit_status", message, shown=shown)


def not_destroyed(counts: Mapping[str, float]) -> Iterator[LabFinding]:
    """Of objects that a program made and left."""
    if leaked := left_in_words(counts):
        message = (
            f"all is right, and when the program ended it had left {leaked}: what is made is destroyed by its call"
        )
        yield LabFinding("leak", message, shown=(f"leak: {message}",))


def left_behind(leaks: Sequence[Mapping[str, Any]], objects: str) -> str:
    """Of memory that was not given back, and of what was never destroyed: a graph has memory of its own."""
    more = f"; there are {len(leaks)} such allocations" if len(leaks) > 1 else ""
    memory = f"{leaks[0]['message']}{more}"
    if not objects:
        return memory
    return f"when the program ended it had left {objects}: what is made is destroyed by its call. Of memory, {memory}"


def not_waited(launches: int) -> str:
    what = "a launch" if launches == 1 else f"{launches} launches"
    return (
        f"the program ended, and no call had waited for {what}. A launch only hands work over: on hardware the program "
        "may end before the kernel has begun, and what it prints or computes is lost. cudaDeviceSynchronize() waits"
    )


def too_early(finding: LabFinding) -> LabFinding:
    """Of what is wrong only where the device does its work no sooner than the host waits for it."""
    name = finding.message.partition(":")[0]
    result = f"{name}: right" if finding.kind == "wrong_result" else f"{finding.message}; all was well"
    if finding.kind == "wrong_lines":
        question = "and what nobody waited for it never did. Which call waits for the stream that the kernel is in?"
    else:
        question = (
            "and what no stream, event or edge of a graph orders, it did the other way round. Which wait or which edge "
            "is missing?"
        )
    return LabFinding(
        "not_waited",
        f"{result} in the runs before this one, in which the device was late: it did its work when the host waited for "
        f"it, {question} gridstride run --late does the same",
        where=finding.where,
        shown=finding.shown,
    )


def only_in_an_order(seed: int) -> str:
    """Of what is wrong only where blocks, warps and lanes come in another order than they mostly do."""
    return (
        "with the same data all is well when blocks, warps and lanes come in the order of their numbers, and CUDA "
        f"promises no order: gridstride run --seed {seed} has the one of this run"
    )


def printed_too_much(lost: int) -> str:
    """Of a program whose output did not fit."""
    return f"the program printed {lost:,} bytes more than are kept: does a loop in it ever end?"


def wrong_lines(lab: LabSpec, sizes: Mapping[str, int], outcome: Outcome) -> Iterator[LabFinding]:
    """Lines that are missing or too many, or that come in another order where the lab has one."""
    in_turn = [line for rule in lab.lines for line in lines_of(rule, sizes)]
    expected, came = Counter(in_turn), Counter(outcome.stdout.splitlines())
    if outcome.lost:
        yield LabFinding("wrong_lines", printed_too_much(outcome.lost))
    elif came != expected:
        # How many must come is not told: it may be what the quiz asks for.
        differing = {"missing:": expected - came, "too often, or not expected:": came - expected}
        parts = [f"{what} {_quoted(list(lines))}" for what, lines in differing.items() if lines]
        counted = f"{came.total():,} {'line was' if came.total() == 1 else 'lines were'} printed"
        yield LabFinding("wrong_lines", f"{counted}; {'; '.join(parts)}")
    elif lab.in_order and (first := _out_of_order(outcome.stdout.splitlines(), in_turn)):
        yield LabFinding("wrong_lines", f"the lines are right and come in another order: {first}")
    by_kernel = sum(len(list(lines_of(rule, sizes))) for rule in lab.lines if rule.by_kernel)
    if (printed := int(outcome.ended.activity.get("kernel_lines", 0))) < by_kernel:
        message = (
            f"the lines are right, but kernels printed {printed:,} of them, not {by_kernel:,}: the rest is the host's"
        )
        yield LabFinding("not_by_kernel", message)


def wrong_numbers(lab: LabSpec, counts: Mapping[str, float], outcome: Outcome) -> Iterator[LabFinding]:
    """Lines with a number that was measured, which are missing or say another one."""
    for text in lab.numbers:
        parts = list(string.Formatter().parse(text))
        pattern = "".join(re.escape(literal) + (_NUMBER if field else "") for literal, field, _, _ in parts)
        shown = text.format_map(_Anything())
        try:
            expected = [evaluate(field, counts) for _, field, _, _ in parts if field]
        except ValueError as error:
            yield LabFinding("wrong_lines", f"{shown!r} cannot be looked at, as {error}", shown=last_lines(outcome))
            return
        matches = re.findall(pattern, outcome.stdout)
        if not matches:
            yield LabFinding("wrong_lines", f"no line such as {shown!r} was printed", shown=last_lines(outcome))
        for match in matches:
            numbers = [float(number) for number in (match if isinstance(match, tuple) else (match,))]
            for number, right in zip(numbers, expected, strict=True):
                if abs(number - right) > _NEAR * abs(right):
                    message = f"{number:g} was printed in {shown!r}, where the run gave {right:.4g}"
                    yield LabFinding("wrong_lines", message, shown=last_lines(outcome))
                    return


class _Anything(dict[str, str]):
    """Shows a place for a number."""

    def __missing__(self, key: str) -> str:
        return "..."


def _out_of_order(came: list[str], expected: list[str]) -> str:
    """The first line that comes in another's place; empty where none does."""
    pairs = ((number, *pair) for number, pair in enumerate(zip(came, expected, strict=True), start=1))
    return next((f"line {n} is {_quoted([a])}, {_quoted([b])} belongs there" for n, a, b in pairs if a != b), "")


def lines_of(rule: PrintedLine, sizes: Mapping[str, int]) -> Iterator[str]:
    """The lines that a rule stands for."""

    def values(names: list[str], bound: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        if not names:
            yield bound
            return
        for index in range(int(evaluate(rule.each[names[0]], bound))):
            yield from values(names[1:], {**bound, names[0]: index})

    for sizes_of_line in values(list(rule.each), sizes):
        for name, expression in rule.let.items():
            sizes_of_line = {**sizes_of_line, name: int(evaluate(expression, sizes_of_line))}
        yield rule.text.format(**sizes_of_line)


def _quoted(lines: list[str]) -> str:
    from gridstride.plain import plain

    shown = [f'"{plain(line)[:_WIDE]}"' for line in lines[:_SHOWN]]
    return ", ".join(shown) + " and more" * (len(lines) > _SHOWN)


def printed_lines(outcome: Outcome) -> tuple[str, ...]:
    """What the program itself printed on stderr: what is reported of it stands there too."""
    return tuple(line for line in outcome.stderr.splitlines() if not line.startswith(_REPORTED))


def last_lines(outcome: Outcome) -> tuple[str, ...]:
    """The last lines that the program itself printed, for a terminal, and which calls were refused."""
    from gridstride.plain import plain

    own = [line for line in outcome.stderr.splitlines() if not line.startswith(_REPORTED) or _REFUSED in line]
    lines = [*outcome.stdout.splitlines()[-_SHOWN:], *own[-_SHOWN:]]
    return tuple(f"  | {plain(line)[:120]}" for line in lines if line.strip())


def not_all_copied(name: str, size: int, outcome: Outcome) -> str:
    """Why a result of `size` bytes may end in what the host had there, where copies brought fewer."""
    back = int(outcome.ended.activity.get("to_host_bytes", 0))
    if not 0 < back < size:
        return ""
    copied = f"Copies brought {back:,} bytes back from the device, and {name} has {size:,}"
    return f". {copied}: a copy counts bytes, not elements"


def first_wrong(pattern: str, got: Any, expected: Any, wrong: Any) -> str:
    """The first wrong element in words, where the pattern's own do not have it already."""
    import numpy as np

    where = np.argwhere(wrong)
    if not len(where) or "should be" in pattern:
        return ""
    index = tuple(int(axis_index) for axis_index in where[0])
    subscripts = "".join(f"[{axis}]" for axis in index)
    end = "" if pattern.endswith((".", "?")) else "."
    return f"{end} The first is {subscripts}: {got[index]:g}, it should be {expected[index]:g}"


def not_built(output: str, message: str, text: str) -> LabFinding:
    """The compiler's first error, with its line in the learner's file."""
    match = _PLACE.search(output)
    if match is None:
        reason = message if not output.strip() else output.strip().splitlines()[-1]
        return LabFinding("compile_error", reason, shown=(f"compile error: {reason}",))
    line = int(match["line"])
    shown = with_line(f"compile error, line {line}: {match['said']}", text, line)
    return LabFinding("compile_error", match["said"], line, shown=shown)
