"""The LLVM text of a corpus of kernels as digests: what a change of the lowering leaves as it was, or means to change.

    python bench/ir_corpus.py digests.json                      # writes them
    python bench/ir_corpus.py --compare digests.json            # says which differ; exits 1 where any does
    python bench/ir_corpus.py --compare digests.json matmul/    # of the entries with these words in their names alone
    python bench/ir_corpus.py --show NAME                       # prints the text behind one digest, to hold two apart

The corpus: every rung and every wrong kernel, each eighth plausible kernel, the kernels of bench/ and of
tests/virtual, each form of the instruction list that ptxas accepts, and the functions of the runtime. Kernels are
lowered for the block that their files name, as the fast and as the observed build; a digest covers the tables that go
with the code, and of what is refused the message.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests/virtual/forms")]

import instruction_forms  # noqa: E402

from gridstride.compiler import CompileError  # noqa: E402
from gridstride.compiler.cuda.compile_cuda import compile_cuda  # noqa: E402
from gridstride.virtual.errors import UnsupportedInstruction  # noqa: E402
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape  # noqa: E402
from gridstride.virtual.lowering.kernel import lower_kernel  # noqa: E402
from gridstride.virtual.lowering.observed.counting import Counting  # noqa: E402
from gridstride.virtual.machine import runtime_objects  # noqa: E402
from gridstride.virtual.ptx import PtxError, parse  # noqa: E402
from gridstride.virtual.ptx.module import PtxModule  # noqa: E402

PLAUSIBLE_STEP = 8
"""One in so many of the plausible kernels: they use the same instructions again and again."""
SOURCES = (
    ("src/gridstride/kernels", 1), ("tests/judge/plausible", PLAUSIBLE_STEP), ("bench/kernels", 1),
    ("tests/virtual/kernels", 1), ("tests/virtual/faulty", 1),
)  # fmt: skip
USUAL_BLOCK = (256, 1, 1)


@dataclass(frozen=True, slots=True)
class Member:
    """One file or one program of the corpus. `ptx` where there is no CUDA C++ behind it."""

    name: str
    path: Path | None = None
    ptx: str = ""

    def module(self) -> PtxModule:
        if self.path is None:
            return parse(self.ptx)
        source = self.path.read_text()
        entry = re.findall(r"^// entry: (.*>)$", source, re.MULTILINE)
        compiled = compile_cuda(source, names=entry, filename=self.path.name, include_paths=(self.path.parent,))
        return parse(compiled.ptx, filename=self.path.name)

    def shape(self) -> BlockShape:
        named = re.search(r"^// block: ([\d* ]+)$", self.path.read_text() if self.path else "", re.MULTILINE)
        sides = [_product(word) for word in named[1].split()] if named else USUAL_BLOCK
        return BlockShape.of(*sides, *[1] * (3 - len(sides)))


def _product(word: str) -> int:
    """What `32*10` is."""
    total = 1
    for factor in word.split("*"):
        total *= int(ast.literal_eval(factor))
    return total


def members() -> Iterator[Member]:
    """The whole corpus but for the runtime, in a fixed order."""
    for folder, step in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.cu"))[::step]:
            yield Member(str(path.relative_to(ROOT)), path)
    for pattern in instruction_forms.patterns():
        texts = [form.text for form, accepted in instruction_forms.accepted(pattern) if accepted]
        whole = Member(f"forms/{pattern}", ptx=instruction_forms.program(texts))
        yield whole
        if any(text.startswith("refused") for _, text in lowered(whole)):  # by one of them: each shall be seen
            yield from (Member(f"forms/{text}", ptx=instruction_forms.program([text])) for text in texts)


def lowered(member: Member) -> Iterator[tuple[str, str]]:
    """For each kernel and build of a member its name and all that was made of it, as text."""
    try:
        module = member.module()
    except (CompileError, PtxError) as error:
        yield member.name, f"refused: {error}"
        return
    for name, function in module.functions.items():
        if function.kind == "entry":
            for build in ("fast", "observed"):
                yield f"{member.name} {name} {build}", _text(member, module, name, build)


def _text(member: Member, module: PtxModule, name: str, build: str) -> str:
    observer = Counting() if build == "observed" else None
    try:
        found = lower_kernel(module, name, member.shape(), observer)
    except UnsupportedInstruction as error:
        return f"refused: {error}"
    tables = json.dumps(asdict(observer.tables()) if observer else {}, sort_keys=True, default=str)
    facts = [found.static_shared, found.dynamic_shared, found.local_size, found.waits, found.spins, found.recursive,
             found.stack, found.clusters, found.launches, found.splits, sorted(found.calls),
             sorted(found.frames.items())]  # fmt: skip
    sites = "\n".join(str(astuple(site)) for site in found.sites)
    return f"{found.ir}\n{sites}\n{facts}\n{tables}".replace(sys.prefix, "").replace(str(ROOT), "")


def runtime() -> Iterator[tuple[str, str]]:
    """The functions that kernels call."""
    whole = runtime_objects.split()
    for number, part in enumerate((*whole.core, whole.rare)):
        yield f"runtime/{number}", f"{part.names} {part.effort}\n{part.ir}"


def texts(words: list[str]) -> Iterator[tuple[str, str]]:
    """Every entry of the corpus whose name has one of the words; all of them without any."""
    if not words or any(word in "runtime/" for word in words):
        yield from runtime()
    for member in members():
        if not words or any(word in f"{member.name} " for word in words):
            print(member.name, file=sys.stderr)
            yield from lowered(member)


def digests(words: list[str]) -> dict[str, str]:
    return {name: sha256(text.encode()).hexdigest()[:16] for name, text in texts(words)}


def compare(before: dict[str, str], words: list[str]) -> int:
    """Prints what differs from `before`; how many entries do."""
    now = digests(words)
    known = {name: d for name, d in before.items() if not words or any(word in f"{name} " for word in words)}
    differ = sorted(name for name in now.keys() | known.keys() if now.get(name) != known.get(name))
    for name in differ:
        print("new      " if name not in known else "gone     " if name not in now else "differs  ", name)
    print(f"{len(now)} entries, {len(differ)} differ")
    return len(differ)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--compare", metavar="DIGESTS", type=Path)
    words.add_argument("--show", metavar="NAME")
    words.add_argument("words", nargs="*", help="the file to write; with --compare, words of names")
    asked = words.parse_args()
    if asked.show:
        print(next(text for name, text in texts([asked.show.rpartition(" probe ")[0] or asked.show.split(" ")[0]])
                   if name == asked.show))  # fmt: skip
    elif asked.compare:
        sys.exit(1 if compare(json.loads(asked.compare.read_text()), asked.words) else 0)
    elif asked.words:
        Path(asked.words[0]).write_text(json.dumps(digests(asked.words[1:]), indent=0) + "\n")
    else:
        words.error("name the file to write, or --compare one")


if __name__ == "__main__":
    main()
