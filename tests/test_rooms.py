"""The house: imports run one way, downwards, and no room is dragged in before it is needed."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "gridstride"
LEVELS = (
    *"plain one_message closed_at_end protocol compiler virtual device extension testing judge kernels ops".split(),
    *"gallery programs frameworks export profile models train serve course workbench commands cli".split(),
)
HEAVY = ("numpy", "llvmlite", "cuda", "torch", "triton", "numba")


@functools.cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and room of every import of the project itself, those inside functions too."""
    for node in ast.walk(tree_of(file)):
        names = [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            parts = name.split(".")
            if parts[0] == "gridstride" and len(parts) > 1:
                yield node.lineno, parts[1]


def test_imports_run_downwards() -> None:
    upwards = []
    for file in SOURCE.rglob("*.py"):
        room = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room not in LEVELS:
            continue
        for line, other in imports(file):
            if other in LEVELS and LEVELS.index(other) > LEVELS.index(room):
                upwards.append(f"{file.relative_to(SOURCE)}:{line} imports {other}")
    assert upwards == []


def test_every_room_has_its_level() -> None:
    rooms = {p.stem for p in SOURCE.iterdir() if (p.is_dir() and p.name != "__pycache__") or p.suffix == ".py"}
    assert rooms - set(LEVELS) == {"__init__", "__main__"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import gridstride, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- floors inside a room ---------------------------------------------------------------------------------------------
FLOORS = {
    "virtual": (
        "errors chips abi ptx ir runtime "
        "lowering.analysis lowering lowering.instructions lowering.observed lowering.dispatch lowering.kernel "
        "machine findings observe launch gpu"
    ).split(),
    "judge": (
        "symbols header problem parameter_names index_bounds likely_launch expected starter cases find reference "
        "finding_kinds verdict execution results sandbox timing verify gains "
        "rung_findings rung_figures ladder submission proof explain report"
    ).split(),
    "serve": "engine runner client process local answers http load evaluate".split(),
    "train": (
        "errors config optim data distributed model checkpoint task evaluate report trainer pretraining tuning loop "
        "run digits"
    ).split(),
}
"""In the order of the house's list: each imports only what stands before it, and itself."""


def arrows(room: str = "") -> Iterator[tuple[str, str, int, bool]]:
    """Module, what it imports, line, and whether only for types; of all rooms or inside one, whose name is left out."""
    files = {module_name(file): file for file in (SOURCE / room).rglob("*.py")}
    start = f"gridstride.{room}.".replace("..", ".")
    for name, file in files.items():
        tree = tree_of(file)
        typed = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            targets = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                targets = [t if t in files else node.module for t in names]
            elif isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            for target in sorted({t for t in targets if t in files} - {name}):
                yield name.removeprefix(start), target.removeprefix(start), node.lineno, id(node) in typed


def module_name(file: Path) -> str:
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def floor_of(room: str, module: str) -> int:
    """The floor with the longest name that the module's begins with."""
    floors = [floor for floor in FLOORS[room] if module == floor or module.startswith(f"{floor}.")]
    assert floors, f"{room}.{module} is on no floor: FLOORS in this file says which there are"
    return FLOORS[room].index(max(floors, key=len))


@pytest.mark.parametrize("room", FLOORS)
def test_a_floor_imports_only_what_lies_above(room: str) -> None:
    """Imports inside functions and those for annotations alone included."""
    upwards = [f"{a}, line {line}: {b}" for a, b, line, _ in arrows(room) if floor_of(room, a) < floor_of(room, b)]
    assert upwards == []


def test_no_modules_import_one_another() -> None:
    """In any room, inside functions too; what only annotations name need not be there when a module is imported."""
    graph: dict[str, set[str]] = {}
    for a, b, _, typed in arrows():
        if not typed:
            graph.setdefault(a, set()).add(b)
    assert sorted(map(sorted, rings_of(graph))) == []


def test_modules_are_imported_by_their_full_names() -> None:
    """None of these tests sees a relative import."""
    relative = [
        f"{file.relative_to(SOURCE)}:{node.lineno}"
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def rings_of(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Sets of modules each of which reaches all others of its set."""
    while leaves := graph.keys() - {module for module, targets in graph.items() if targets & graph.keys()}:
        graph = {module: targets for module, targets in graph.items() if module not in leaves}
    reached = {module: _reached(graph, module) for module in graph}
    seen: set[str] = set()
    for module in graph:
        ring = {other for other in reached[module] if module in reached.get(other, set())}
        if ring and module not in seen:
            seen |= ring
            yield ring


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    work = [start]
    while work:
        for other in graph.get(work.pop(), set()) - found:
            found.add(other)
            work.append(other)
    return found


def test_no_two_files_of_the_virtual_gpu_have_one_name() -> None:
    names = [file.name for file in (SOURCE / "virtual").rglob("*.py") if file.name != "__init__.py"]
    assert {name for name in names if names.count(name) > 1} == set()


CLASS_NAMESAKES = {
    "Event": "device/streams.py is what users hold, protocol.py what it asks of a machine",
    "Stream": "device/streams.py is what users hold, protocol.py what it asks of a machine",
    "LayerNorm": "nn.LayerNorm of torch: on our kernels, and in our decoders",
    "RMSNorm": "nn.RMSNorm of torch: on our kernels, and in our decoders",
    "Graph": "a CUDA graph, and a graph of ONNX: either field's word",
    "Engine": "an inference engine, ONNX's execution engine, and a copy engine of the chip",
    "Schedule": "an order of execution on the virtual GPU, and the timeline of a program's streams",
    "Settings": "of a program that is run, and of the server",
}
"""Public classes that share a name with others, and why; the table only gets shorter."""


def test_no_two_public_classes_have_one_name() -> None:
    homes: dict[str, set[str]] = {}
    for file in SOURCE.rglob("*.py"):
        for node in tree_of(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(file.relative_to(SOURCE).as_posix())
    shared = {name: files for name, files in homes.items() if len(files) > 1}
    assert {name: files for name, files in shared.items() if name not in CLASS_NAMESAKES} == {}
    assert sorted(CLASS_NAMESAKES.keys() - shared.keys()) == [], "no namesakes are left: take the row away"


# -- folders -----------------------------------------------------------------------------------------------------------
MOST_FILES, MOST_NAMESAKES = 21, 5


def modules() -> Iterator[Path]:
    """All that is ours but problems, of which each is a folder with files of the same names."""
    files = (file for file in SOURCE.rglob("*.py") if file.relative_to(SOURCE).parts[0] != "kernels")
    return (file for file in files if file.name not in ("__init__.py", "__main__.py"))


def test_a_folder_is_read_at_one_glance() -> None:
    sizes = Counter(file.parent.relative_to(SOURCE).as_posix() for file in modules())
    assert {folder: size for folder, size in sizes.items() if size > MOST_FILES} == {}


def test_a_files_name_says_what_it_is() -> None:
    """Six of one name, and nobody knows which one is meant."""
    names = Counter(file.name for file in modules())
    assert {name: count for name, count in names.items() if count > MOST_NAMESAKES} == {}


# -- functions ---------------------------------------------------------------------------------------------------------
MOST_PARAMETERS = 7
LONG_SIGNATURES = {
    # what users call: each parameter is documented by itself
    "device/launch/kernel.py": 1,
    "device/modules/numba.py": 1,
    "device/modules/triton.py": 1,
    "device/tensor_map.py": 1,
    "device/textures.py": 1,
    "extension/definition.py": 1,
    "extension/op.py": 1,
    "virtual/gpu.py": 1,
    # the schema of a PyTorch op, which has one parameter for each tensor
    "kernels/adamw/op.py": 4,
    "kernels/attention/varlen.py": 7,
    "kernels/attention_backward/op.py": 4,
    "kernels/rotary_cache/op.py": 4,
    # a protocol of others
    "frameworks/triton_launcher.py": 1,
    # still to be grouped
    "programs/timeline/model.py": 1,
}
"""By file, how many functions take more; none may be added, and the last ones only get fewer."""


def test_what_travels_together_is_one_record() -> None:
    """A function takes at most seven parameters, `self` among them; a Triton kernel takes what it takes."""
    longer: Counter[str] = Counter()
    for file in (file for file in SOURCE.rglob("*.py") if file.parent.name != "twins"):
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs)
                longer[file.relative_to(SOURCE).as_posix()] += count > MOST_PARAMETERS
    assert {file: count for file, count in longer.items() if count > LONG_SIGNATURES.get(file, 0)} == {}
