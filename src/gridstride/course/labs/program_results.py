"""What a program for a lab left in the files of its results: whether it is right, and whether kernels computed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.course.labs.lab_verdict import LabFinding
from gridstride.course.labs.program_findings import first_wrong, not_all_copied
from gridstride.programs.calls.copy_log import Copied, read_copy_log

if TYPE_CHECKING:
    from gridstride.judge.problem import Array, Parameter, Problem
    from gridstride.judge.reference.prepared_cases import PreparedCase
    from gridstride.programs.process.confined import Outcome

COPY_LOG = "copies.log"
"""In the program's folder, beside the files that are its arguments: they end in .bin."""
_FEW = 64
"""Elements: fewer may be finished by the host, as sums of blocks are, or be a table that it made."""
_ONLY_KERNELS = "The kernel is to do all of the work"


@dataclass(frozen=True, slots=True)
class Results:
    """The files of one run. `may_be_right`: as a lab's run has it."""

    problem: Problem
    prepared: PreparedCase
    folder: Path
    may_be_right: float

    def wrong(self, outcome: Outcome) -> Iterator[LabFinding]:
        """What is wrong in the first file that is."""
        import numpy as np

        from gridstride.judge.results.evidence import Evidence
        from gridstride.judge.results.patterns import describe
        from gridstride.judge.verify import compared

        for p in self.problem.outputs:
            expected, dtype = self.prepared.expected[p.name].values, np.dtype(p.dtype)
            raw = _read(self.folder / f"{p.name}.bin")
            size = expected.size * dtype.itemsize
            if raw is None or len(raw) != size:
                came = "there is no such file" if raw is None else f"it has {len(raw):,} bytes"
                message = f"{p.name}.bin must hold {expected.size:,} values of {p.dtype}, {size:,} bytes: {came}"
                yield LabFinding("no_result", message, where=p.name)
                return
            got = np.frombuffer(raw, dtype).reshape(expected.shape)
            comparison = compared(self.problem, self.prepared, p.name, {p.name: got})
            if not comparison.passed:
                pattern = describe(Evidence(got, expected, comparison.wrong, np.zeros_like(comparison.wrong)))
                first = first_wrong(str(pattern), got, expected, comparison.wrong)
                back = not_all_copied(p.name, size, outcome)
                yield LabFinding("wrong_result", f"{p.name}: {pattern}{first}{back}", where=pattern.name)
                return

    def right_without_kernels(self) -> Iterator[LabFinding]:
        """Of a run whose kernels did nothing."""
        for p, _, computed in self._computed():
            if right := self._too_many(computed):
                what = "1 element is right" if right == 1 else f"{right:,} elements are right"
                yield LabFinding(
                    "not_by_kernel",
                    f"{p.name}: no kernel did anything in this run, and {what} all the same: who "
                    f"computed them, if not the host? {_ONLY_KERNELS}",
                )
                return

    def changed_by_the_host(self, run_again: Callable[[], Results]) -> Iterator[LabFinding]:
        """What the copies show: data that is no input on its way to the device, and results that no copy brought.
        `run_again` runs the program with other data of the same sizes.
        """
        raw = _read(self.folder / COPY_LOG)
        if raw is not None:
            copied = read_copy_log(raw)
            yield from self._inputs_as_results(copied)
            yield from self._afterwards(copied)
            yield from self._before(copied, run_again)

    def _inputs_as_results(self, copied: Copied) -> Iterator[LabFinding]:
        import numpy as np

        for p in self.problem.outputs:
            expected = self.prepared.expected[p.name].values
            result = expected.astype(p.dtype).tobytes()
            is_input = any(np.array_equal(x, expected) for x in self.prepared.inputs.values())
            if expected.size >= _FEW and not is_input and any(result in copy for copy in copied.to_device):
                yield LabFinding(
                    "not_by_kernel",
                    f"{p.name}: its {expected.size:,} elements were copied to the device as they are to be in the end: "
                    f"who computed them, if not the host? {_ONLY_KERNELS}",
                )
                return

    def _before(self, copied: Copied, run_again: Callable[[], Results]) -> Iterator[LabFinding]:
        """The host may arrange its data as it likes, send it on, and add tables, which are the same for other data. It
        may not compute with it.
        """
        import numpy as np

        inputs = [np.asarray(x) for x in self.prepared.inputs.values() if np.size(x) >= _FEW]
        most = max((x.size for x in inputs), default=0) // 2
        array = self._of_no_input(copied)
        if inputs and len(array) > most:
            repeated = run_again()
            raw = _read(repeated.folder / COPY_LOG)
            changed = repeated._of_no_input(read_copy_log(raw)) if raw is not None else array[:0]
            if (number := int(np.count_nonzero(~_among(changed, array)))) > most:
                yield LabFinding(
                    "not_by_kernel",
                    f"{number:,} elements that were copied to the device are in none of the inputs: what has the host "
                    f"made of them before? {_ONLY_KERNELS}",
                )

    def _of_no_input(self, copied: Copied) -> Array:
        """The bits of what the device was given in copies of many elements, and neither an input nor it had before."""
        import numpy as np

        inputs = [np.asarray(x) for x in self.prepared.inputs.values() if np.size(x) >= _FEW]
        size = max(inputs, key=lambda x: x.size).dtype.itemsize if inputs else 4
        pieces = [copy if len(copy) >= _FEW * size else b"" for copy in copied.to_device]
        array, piece = _elements(pieces, f"u{size}")
        input_elements, _ = _elements([np.ascontiguousarray(x).tobytes() for x in inputs], f"u{size}")
        strange = ~_among(array, input_elements) & (array != 0)
        came = np.asarray(copied.came_before, np.int64)[piece[strange]]
        array = array[strange]
        back, copy = _elements(copied.to_host, f"u{size}")
        values, first = np.unique(back, return_index=True)
        if len(values):  # an element may be sent on that came in a copy before
            at = np.searchsorted(values, array).clip(max=len(values) - 1)
            return np.asarray(array[(values[at] != array) | (copy[first[at]] >= came)])
        return np.asarray(array)

    def _afterwards(self, copied: Copied) -> Iterator[LabFinding]:

        for p, got, computed in self._computed():
            kind = f"u{got.dtype.itemsize}"
            back, _ = _elements(copied.to_host, kind)
            if got.size < _FEW or back.size < got.size or not copied.is_whole:  # kernels may write to the host's memory
                continue
            changed = computed & ~_among(got.view(kind), back).reshape(got.shape)
            if number := self._too_many(changed):
                yield LabFinding(
                    "not_by_kernel",
                    f"{p.name}: {number:,} elements are in the file as no copy brought them from the device: what has "
                    f"the host made of them? {_ONLY_KERNELS}",
                )
                return

    def _computed(self) -> Iterator[tuple[Parameter, Array, Array]]:
        """Each result as it came, and which of its elements are right and somebody's work. Zeros are left out, those
        that came for a sum near zero too, for memory may hold them by itself; and so is what an input holds in the
        same place: a program that sorts in place returns it as it came.
        """
        import numpy as np

        from gridstride.judge.verify import compared

        for p in self.problem.outputs:
            expected = self.prepared.expected[p.name].values
            raw = _read(self.folder / f"{p.name}.bin")
            if raw is None or len(raw) != expected.size * np.dtype(p.dtype).itemsize:
                continue
            got = np.frombuffer(raw, p.dtype).reshape(expected.shape)
            work = ~compared(self.problem, self.prepared, p.name, {p.name: got}).wrong & (expected != 0) & (got != 0)
            for x in self.prepared.inputs.values():
                if np.shape(x) == got.shape:
                    work &= np.asarray(x) != got
            yield p, got, work

    def _too_many(self, elements: Array) -> int:
        """How many there are, if that is more than may be."""
        import numpy as np

        number = int(np.count_nonzero(elements))
        return number if number > self.may_be_right * elements.size else 0


def _elements(pieces: Sequence[bytes], kind: str) -> tuple[Array, Array]:
    """The bits of all elements of those that hold a whole number of them, and which one each is of."""
    import numpy as np

    size = int(kind[1:])
    aligned = [piece if len(piece) % size == 0 else b"" for piece in pieces]
    return np.frombuffer(b"".join(aligned), kind), np.repeat(
        np.arange(len(aligned)), [len(piece) // size for piece in aligned]
    )


def _among(bits: Array, values: Array) -> Array:
    """Which of them are among those that are known. `np.isin` makes a table of both first, which takes ten times as
    long where nearly all of them are different.
    """
    import numpy as np

    if not values.size:
        return np.zeros(bits.shape, bool)
    values = np.sort(values, axis=None)
    return np.asarray(values[np.searchsorted(values, bits).clip(max=values.size - 1)] == bits)


def _read(file: Path) -> bytes | None:
    """What the program wrote; a link may lead anywhere, so none is followed."""
    return file.read_bytes() if file.is_file() and not file.is_symlink() else None
