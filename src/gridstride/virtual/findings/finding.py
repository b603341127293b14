"""What a run found wrong: the fault that ended it, in words with kernel, source line, block, thread and address."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.one_message import OneMessage
from gridstride.virtual.abi.finding_kinds import KINDS
from gridstride.virtual.findings.excerpt import excerpt

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class OtherAccess:
    """The other side of a finding that has two: who touched the same memory before."""

    kind: str
    file: str | None
    line: int | None
    block: Dim3 | None
    thread: Dim3 | None


@dataclass(frozen=True, slots=True)
class KernelFinding:
    """One thing wrong. `kind` is one of `finding_kinds.KINDS`."""

    kind: str
    message: str
    kernel: str
    file: str | None = None
    line: int | None = None
    block: Dim3 | None = None
    thread: Dim3 | None = None
    address: int | None = None
    other: OtherAccess | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is no kind of finding: abi/finding_kinds.py has a row for each")

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}: " if self.line else ""
        who = f" [block {self.block}, thread {self.thread}]" if self.block and self.thread else ""
        where = f" in kernel {self.kernel}" if self.kernel else ""
        return f"{location}{self.kind.replace('_', ' ')}{where}: {self.message}{who}"


class KernelFault(OneMessage, RuntimeError):
    """A launch that was stopped. `findings` says why; the first one's fields are also the exception's own.

    With the kernel's `source`, tracebacks show the lines of it that the findings are about.
    """

    def __init__(self, findings: tuple[KernelFinding, ...], source: str | None = None) -> None:
        self.findings, self.source = findings, source
        super().__init__("\n".join(map(str, findings)))
        for location in dict.fromkeys((finding.file, finding.line) for finding in findings):
            shown = excerpt(*location, source)
            if shown is not None:
                self.add_note(shown)

    def __reduce__(self) -> tuple[type[KernelFault], tuple[tuple[KernelFinding, ...], str | None]]:
        return KernelFault, (self.findings, self.source)

    @property
    def kind(self) -> str:
        return self.findings[0].kind

    @property
    def kernel(self) -> str:
        return self.findings[0].kernel

    @property
    def file(self) -> str | None:
        return self.findings[0].file

    @property
    def line(self) -> int | None:
        return self.findings[0].line

    @property
    def block(self) -> Dim3 | None:
        return self.findings[0].block

    @property
    def thread(self) -> Dim3 | None:
        return self.findings[0].thread

    @property
    def address(self) -> int | None:
        return self.findings[0].address
