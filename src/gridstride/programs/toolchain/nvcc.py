"""nvcc's own steps, as --dryrun lists them, two at a time: the host's part and the device's are compiled at once.

nvcc itself runs them one after the other. What ties the two parts together is a name for the file that cudafe++ makes
up and cicc reads: here both are given it.
"""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

Execute = Callable[[Sequence[str], Path, Mapping[str, str]], tuple[int, str]]
"""Runs a command that may write to a folder, with more in its environment: exit status and messages."""
_AT_A_TIME = 2
_LINE = re.compile(r"^#\$ (.*)$", re.M)
_VARIABLE = re.compile(r"([A-Z_]+)=(.*)")
_IN_THE_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "CICC_PATH", "NVVMIR_LIBRARY_DIR", "CUDA_ROOT", "TOP")
_OUTPUTS = ("-o", "--gen_c_file_name", "--stub_file_name", "--gen_device_file_name")
_NAMED_OUTPUT = re.compile(r"--(?:create|embedded-fatbin)=(.+)")
_MODULE_ID = "--module_id_file_name"


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and the numbers of those before it whose files it reads."""

    words: tuple[str, ...]
    after: tuple[int, ...]

    @property
    def tool(self) -> str:
        return Path(self.words[0]).name

    def word_after(self, option: str) -> str | None:
        """The word that follows an option."""
        return self.words[self.words.index(option) + 1] if option in self.words else None


@dataclass(frozen=True, slots=True)
class CompilationPlan:
    """The steps in nvcc's order; the last one makes the object and reads what all others make."""

    steps: tuple[Step, ...]
    environment: Mapping[str, str]

    @property
    def preprocessing(self) -> tuple[int, ...]:
        """Those that read the source."""
        return tuple(number for number, step in enumerate(self.steps) if "-E" in step.words)

    @property
    def preprocessed(self) -> list[Path]:
        """The texts that these make."""
        return [Path(str(self.steps[number].word_after("-o"))) for number in self.preprocessing]


def planned(output: str, name: str) -> CompilationPlan:
    """From what `nvcc --dryrun -keep` prints; the module is called `name`, which must be one program's only once."""
    variables: dict[str, str] = {}
    steps: list[Step] = []
    for line in _LINE.findall(output):
        if variable := _VARIABLE.fullmatch(line):
            variables[variable[1]] = variable[2].strip()
        elif not line.startswith(("rm ", "--")):
            steps.append(_step(shlex.split(line), variables, steps))
    if steps:
        steps[-1] = Step(steps[-1].words, tuple(range(len(steps) - 1)))
    for file in {step.word_after(_MODULE_ID) for step in steps} - {None}:
        Path(str(file)).write_text(name)
    return CompilationPlan(tuple(steps), {key: variables[key] for key in _IN_THE_ENVIRONMENT if key in variables})


def module_name(file: Path, source: bytes) -> str:
    """As cudafe++ makes it up: of the file's path, its name and what is in it."""
    plain = re.sub(r"\W", "_", file.name)
    return f"_{zlib.crc32(str(file.absolute()).encode()):08x}_{len(plain)}_{plain}_{zlib.crc32(source):08x}"


def carry_out(plan: CompilationPlan, numbers: Sequence[int], execute: Execute, folder: Path) -> tuple[int, str]:
    """Take these steps. The status is the first one's that fails in nvcc's order, and the messages end there."""
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        running: dict[int, Future[tuple[int, str]]] = {}
        for number in numbers:
            predecessors = [running[earlier] for earlier in plan.steps[number].after if earlier in running]
            running[number] = pool.submit(_take, plan, number, predecessors, execute, folder)
        messages = []
        for number in numbers:
            status, output = running[number].result()
            messages.append(output)
            if status:
                return status, "".join(messages)
    return 0, "".join(messages)


def _take(
    plan: CompilationPlan, number: int, predecessors: Sequence[Future[tuple[int, str]]], execute: Execute, folder: Path
) -> tuple[int, str]:
    for earlier in predecessors:
        status, _ = earlier.result()
        if status:
            return status, ""
    return execute(plan.steps[number].words, folder, plan.environment)


def _step(words: list[str], variables: Mapping[str, str], earlier: Sequence[Step]) -> Step:
    """One line of the list: without variables and with the program's path, as no shell reads it."""
    program = words[0].replace("$CICC_PATH", variables.get("CICC_PATH", ""))
    words = [shutil.which(program, path=variables.get("PATH")) or program, *words[1:]]
    if "--gen_module_id_file" in words:
        words.remove("--gen_module_id_file")
    own = set(_outputs(words))
    read = " ".join(word for word in words[1:] if word not in own)
    predecessors = (
        number for number, step in enumerate(earlier) if any(output in read for output in _outputs(step.words))
    )
    return Step(tuple(words), tuple(predecessors))


def _outputs(words: Sequence[str]) -> Iterator[str]:
    for option, word in itertools.pairwise(words):
        if option in _OUTPUTS and "/" in word:
            yield word
    yield from (named[1] for named in map(_NAMED_OUTPUT.fullmatch, words) if named)
