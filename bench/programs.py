"""NVIDIA's public samples as whole programs: `python bench/programs.py --samples DIR [--only WORD …] [--limit S]`.

`--device physical` does the same natively, by the toolkit's nvcc on this machine's GPU, with those that
bench/results/programs.json has as passed, and writes programs_native.json: what runs on the virtual GPU, runs there.
`--sanitize` runs these under the sanitizer, and writes programs_sanitized.json with what is found in each.

DIR is a copy of github.com/NVIDIA/cuda-samples, of which nothing is kept here. Each sample is built as its
CMakeLists.txt says: the files of its program, the kernels that it loads while it runs (with `gridstride build`) and the
files that are copied beside it; and run in an empty folder, unmodified, with no arguments. Then it

    passed     ended with status 0, and says nothing of a failure
    waived     says itself that it does not run on this machine
    failed     ended otherwise, or says that it failed
    not built  does not compile or link
    too long   was ended by the limit
    elsewhere  needs what no virtual GPU has: a display, another library of the vendor's, another machine

    not run    was not reached: with --finished, which runs nothing and records what is there

Finished ones are kept in DIR/.programs.jsonl, so that a run that was ended goes on where it was; --again forgets them.
--include names a folder of headers that the wheels of `gridstride[programs]` do not bring: nvidia-curand's, say.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from common import RESULTS, machine, need_gpu, save  # noqa: E402

FAILURES = re.compile(r"(?i)\btest failed\b|\bfailed!|result = fail|mismatch|: failed\b")
WAIVED = 2
"""EXIT_WAIVED of the samples' headers."""
ELSEWHERE = {
    "a display": r"GLUT|OpenGL|GLEW|X11|freeglut|FindEGL|EGL|Vulkan|D3D|DirectX",
    "NPP": r"CUDA::npp|nppi", "nvJPEG": r"CUDA::nvjpeg", "MPI": r"find_package\(MPI", "NvSci": r"NvSci|nvsci",
    "cuSOLVER": r"CUDA::cusolver", "NVVM's own library": r"NVVM_LIB|libnvvm",
    "Tegra": r"Tegra|cudla|nvmedia",
}  # fmt: skip
"""What a CMakeLists.txt asks for that is not here, by a pattern."""
IPC = ("streamOrderedAllocationIPC",)
_EXECUTABLE = re.compile(r"add_executable\(\s*(\S+)\s+([^)]*)\)")
_CODE = re.compile(r"CMAKE_CURRENT_BINARY_DIR\}/([\w.]+\.(?:fatbin|ptx|cubin))")
_KERNEL = re.compile(r"CUDA_KERNEL_SOURCE \"\$\{CMAKE_CURRENT_SOURCE_DIR\}/([\w./]+)\"")
_COPIED = re.compile(r"\$\{CMAKE_CURRENT_SOURCE_DIR\}/([\w./]+)")
_LIBRARY = re.compile(r"CUDA::(\w+)")
_DRIVER = re.compile(r"CUDA::(?:cuda_driver|nvrtc)|nvJitLink|nvrtc", re.IGNORECASE)


@dataclass(frozen=True)
class Sample:
    """A program of the collection."""

    name: str
    folder: Path
    cmake: str

    @property
    def executable(self) -> tuple[str, list[str]] | None:
        found = _EXECUTABLE.search(self.cmake)
        return (found[1], [word for word in found[2].split() if "$" not in word]) if found else None

    @property
    def libraries(self) -> tuple[str, ...]:
        """Those of LIBRARIES that it asks for."""
        return tuple(each for each in dict.fromkeys(_LIBRARY.findall(self.cmake)) if each in LIBRARIES)

    @property
    def elsewhere(self) -> str | None:
        if self.folder.name in IPC:
            return "several processes that share a memory pool"
        # the folders of platforms stand in the path
        text = f"{self.name}\n{self.cmake}"
        return next((what for what, pattern in ELSEWHERE.items() if re.search(pattern, text)), None)

    @property
    def kind(self) -> str:
        if _DRIVER.search(self.cmake):
            return "driver API and NVRTC"
        return "libraries" if set(_LIBRARY.findall(self.cmake)) - {"cudart", "cuda_driver"} else "runtime"


@dataclass(frozen=True)
class Outcome:
    """How one went; `reason` is empty where it passed."""

    sample: str
    kind: str
    verdict: str
    reason: str = ""
    seconds: float = 0.0


def samples(root: Path) -> Iterator[Sample]:
    """All of them, by name."""
    base = root / "Samples"
    for path in sorted(base.glob("*/**/CMakeLists.txt")):
        text = path.read_text(errors="replace")
        if _EXECUTABLE.search(text):
            yield Sample(str(path.parent.relative_to(base)), path.parent, re.sub(r"#[^\n]*", "", text))


FINDING = re.compile(r"gridstride: (?:\S+:\d+: )?[a-z ]+(?: in kernel \S+)?: ")


class Builder(Protocol):
    """Makes programs, and code that programs load. `settings`: variables of a run under the sanitizer."""

    settings: dict[str, str]

    def program(self, words: list[str], target: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Of files, -I and -l."""
        ...

    def code(self, kernel: Path, form: str, target: str, words: list[str], folder: Path) -> str | None:
        """--ptx or --fatbin of a kernel's file; what keeps it from being made."""
        ...

    def headers(self, folder: Path) -> None:
        """The toolkit's headers that samples have copied beside them, for NVRTC."""
        ...


class VirtualBuilder:
    """`gridstride build`."""

    def __init__(self, *, sanitize: bool = False) -> None:
        self.settings = {"GRIDSTRIDE_PROGRAM": '{"sanitize": true}'} if sanitize else {}

    def program(self, words: list[str], target: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return gridstride(["build", *words, "-o", target], folder, 900)

    def code(self, kernel: Path, form: str, target: str, words: list[str], folder: Path) -> str | None:
        made = gridstride(["build", form, str(kernel), "-o", target, *words], folder, 300)
        return last_line(made.stderr) if made.returncode else None

    def headers(self, folder: Path) -> None:
        from gridstride.programs.toolchain.wheels import toolchain

        copy_headers(toolchain().cuda / "include", folder)


class PhysicalBuilder:
    """The toolkit's nvcc, for this machine's GPU."""

    def __init__(self) -> None:
        from gridstride.programs.physical_run import nvcc

        self.settings: dict[str, str] = {}
        self._nvcc = nvcc()

    def program(self, words: list[str], target: str, folder: Path) -> subprocess.CompletedProcess[str]:
        # libcuda has no RPATH of its own: the driver's library is where the system looks, its stub where nvcc does
        stubs = self._nvcc.parent.parent / "lib64" / "stubs"
        own = ["-O2", "-arch=native", "-std=c++17", "-rdc=true", "-L", str(stubs), "-lcuda", "-lnvrtc", "-lnvJitLink"]
        return self._run([*own, *words, "-o", target], folder)

    def code(self, kernel: Path, form: str, target: str, words: list[str], folder: Path) -> str | None:
        arch = ["-arch=sm_90"] if form == "--fatbin" else ["-arch=compute_90"]
        made = self._run([form.replace("--", "-"), *arch, str(kernel), "-o", target, *words], folder)
        return last_line(made.stderr) if made.returncode else None

    def headers(self, folder: Path) -> None:
        copy_headers(self._nvcc.parent.parent / "include", folder)

    def _run(self, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(self._nvcc), *words], cwd=folder, capture_output=True, text=True, errors="replace",
                              timeout=900, check=False)  # fmt: skip


def run(sample: Sample, root: Path, limit: float, include: list[Path], builder: Builder) -> Outcome:
    """Build it and run it."""
    began = time.monotonic()

    def outcome(verdict: str, reason: str = "") -> Outcome:
        return Outcome(sample.name, sample.kind, verdict, reason, round(time.monotonic() - began, 1))

    if sample.elsewhere:
        return outcome("elsewhere", f"needs {sample.elsewhere}")
    assert sample.executable is not None
    name, words = sample.executable
    with tempfile.TemporaryDirectory(prefix="samples-") as place:
        folder = Path(place)
        refused = prepare(sample, root, folder, builder)
        if refused is not None:
            return outcome("not built", refused)
        files = [str((sample.folder / word).resolve()) for word in words if word.endswith((".cu", ".cpp", ".c"))]
        libraries = [word for each in sample.libraries for word in ("-l", each)]
        more = [word for each in include for word in ("-I", str(each.resolve()))]
        openmp = ["-Xcompiler", "-fopenmp"] if isinstance(builder, PhysicalBuilder) and "OpenMP" in sample.cmake else []
        built = builder.program([*files, *headers(sample, root), *more, *openmp, *libraries], name, folder)
        if built.returncode:
            return outcome("not built", first_error(built.stderr))
        try:
            done = subprocess.run([f"./{name}"], cwd=folder, capture_output=True, timeout=limit,
                                  env=environment() | builder.settings, stdin=subprocess.DEVNULL, text=True,
                                  errors="replace")  # fmt: skip
        except subprocess.TimeoutExpired:
            return outcome("too long", f"had not ended after {limit:.0f} s")
    said = done.stdout + done.stderr
    if builder.settings:
        found = [line for line in done.stderr.splitlines() if FINDING.match(line)]
        return outcome("findings" if found else "none", "\n".join(found))
    if done.returncode == WAIVED:
        return outcome("waived", last_line(said))
    if done.returncode:
        return outcome("failed", f"status {done.returncode}: {reason(done)}")
    failure = FAILURES.search(done.stdout)
    return outcome("failed", line_at(done.stdout, failure.start())) if failure else outcome("passed")


KINDS = ("runtime", "libraries", "driver API and NVRTC")
LIBRARIES = ("cublas", "cufft", "curand", "cusparse")
"""Those that a program must name."""


def not_reached(sample: Sample) -> Outcome:
    """Of one that a run which was ended did not come to."""
    if sample.elsewhere:
        return Outcome(sample.name, sample.kind, "elsewhere", f"needs {sample.elsewhere}")
    return Outcome(sample.name, sample.kind, "not run", "the run was ended before")


def headers(sample: Sample, root: Path) -> list[str]:
    """Where its headers lie."""
    folders = [sample.folder, root / "Common", sample.folder / "inc"]
    return [word for each in folders for word in ("-I", str(each))]


def prepare(sample: Sample, root: Path, folder: Path, builder: Builder) -> str | None:
    """The files beside the program; what keeps them from being made."""
    for name in ("data", "textures"):
        if (sample.folder / name).is_dir():
            shutil.copytree(sample.folder / name, folder / name)
    for name in _COPIED.findall(sample.cmake):
        source = sample.folder / name
        if source.is_file():
            shutil.copy(source, folder)
    if "cooperative_groups" in sample.cmake:
        builder.headers(folder)
    code, kernel = _CODE.search(sample.cmake), _KERNEL.search(sample.cmake)
    if code is None or kernel is None:
        return None
    form = "--ptx" if code[1].endswith(".ptx") else "--fatbin"
    return builder.code(sample.folder / kernel[1], form, code[1], headers(sample, root), folder)


def copy_headers(include: Path, folder: Path) -> None:
    """Of a toolkit, into a folder."""
    shutil.copy(include / "cooperative_groups.h", folder)
    for target, source in (("cooperative_groups", "cooperative_groups"), ("nv", "cccl/nv"), ("cuda", "cccl/cuda")):
        shutil.copytree(include / source, folder / target, dirs_exist_ok=True)


def gridstride(words: list[str], folder: Path, limit: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gridstride", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=limit,
                          env=environment())  # fmt: skip


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(HERE.parent / "src")}


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """The line that says most of why it ended so: what the virtual GPU says, else an error of the program's own."""
    lines = [line for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    for pattern in (r"^gridstride: (?!CU|warning)", r"(?i)error|fail|not found|cannot"):
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return found[0].strip()[:200]
    return lines[-1].strip()[:200] if lines else "it says nothing"


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "it says nothing"


def first_error(text: str) -> str:
    """The compiler's first error, else what was said last."""
    found = re.search(r"(?m)^.*\berror\s*:.*$", text)
    return found[0].strip()[:300] if found else last_line(text)


def line_at(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 :].split("\n", 1)[0].strip()[:200]


def main() -> None:
    """Run, print a line for each, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=180)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--finished", action="store_true")
    parser.add_argument("--include", type=Path, nargs="*", default=[])
    parser.add_argument("--device", choices=("virtual", "physical"), default="virtual")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time, with either")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where programs_native.json goes")
    given = parser.parse_args()
    root = given.samples.resolve()
    if given.device == "physical":
        need_gpu("bench/programs.py --device physical")
        again(root, given, PhysicalBuilder(), "programs_native")
        return
    if given.sanitize:
        again(root, given, VirtualBuilder(sanitize=True), "programs_sanitized")
        return
    kept = root / ".programs.jsonl"
    if given.again:
        kept.unlink(missing_ok=True)
    done = (
        {each["sample"]: Outcome(**each) for each in map(json.loads, kept.read_text().splitlines())}
        if kept.is_file()
        else {}
    )
    for sample in samples(root):
        if given.only and not any(word in sample.name for word in given.only):
            continue
        if sample.name not in done:
            if given.finished:
                done[sample.name] = not_reached(sample)
                continue
            outcome = done[sample.name] = run(sample, root, given.limit, given.include, VirtualBuilder())
            with kept.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
        outcome = done[sample.name]
        print(f"{outcome.verdict:10} {outcome.seconds:6.1f} s  {outcome.sample}  {outcome.reason}", flush=True)
    if not given.only:
        record(list(done.values()), given.limit)


def again(root: Path, given: argparse.Namespace, builder: Builder, name: str) -> None:
    """Those that passed on the virtual GPU in another way."""
    passed = {
        each["sample"]
        for each in json.loads((RESULTS / "programs.json").read_text())["samples"]
        if each["verdict"] == "passed"
    }
    chosen = [each for each in samples(root) if each.name in passed]
    chosen = [each for each in chosen if not given.only or any(word in each.name for word in given.only)]
    missing = sorted(passed - {each.name for each in chosen})
    started, outcomes = machine(), list[Outcome]()
    with ThreadPoolExecutor(given.jobs) as threads:
        for each in threads.map(lambda each: run(each, root, given.limit, given.include, builder), chosen):
            outcomes.append(each)
            print(f"{each.verdict:10} {each.seconds:6.1f} s  {each.sample}  {each.reason}", flush=True)
    counts = dict(Counter(each.verdict for each in outcomes))
    print(counts, f"not asked for: {len(missing)}" if missing else "")
    rows = [asdict(each) for each in outcomes]
    found = {"limit_s": given.limit, "counts": counts, "not_asked_for": missing, "samples": rows}
    save(name, found, started=started, folder=given.results)


def record(outcomes: list[Outcome], limit: float) -> None:
    """The JSON of a whole run."""
    kinds = {kind: Counter(each.verdict for each in outcomes if each.kind == kind) for kind in KINDS}
    counts = Counter(each.verdict for each in outcomes)
    rows = [asdict(each) for each in sorted(outcomes, key=lambda each: each.sample)]
    save("programs", {"limit_s": limit, "counts": counts, "by_kind": kinds, "samples": rows})
    print(dict(counts))


if __name__ == "__main__":
    main()
