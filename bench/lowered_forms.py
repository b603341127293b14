"""Which accepted forms of the instruction list are really lowered in a test that compares with a model.

    python bench/lowered_forms.py [processes]    # runs those tests and writes results/form_coverage.json

tests/virtual/forms/form_coverage.py names the tests by pattern; here each form must have gone through the code
generator, by its whole name, while one of the tests named for it ran.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/virtual/forms"), str(ROOT / "src")]

import form_coverage as coverage  # noqa: E402
import instruction_forms as table  # noqa: E402
import test_instruction_forms as audit  # noqa: E402

from gridstride.virtual.ptx.types import TYPES  # noqa: E402

RESULT = ROOT / "bench" / "results" / "form_coverage.json"


def lowered(processes: str) -> dict[str, set[str]]:
    """By `file::test`: the names of what it lowered."""
    files = sorted({test.split("::")[0] for tests in coverage.MODELS.values() for test in tests.split()})
    paths = [str(next((ROOT / "tests" / "virtual").rglob(name))) for name in files]
    found: dict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", processes, *paths],
            env={**os.environ, "GRIDSTRIDE_LOWERED_FORMS": folder, "PYTHONPATH": str(ROOT / "src")}, check=False,
            cwd=ROOT,
        )  # fmt: skip
        for path in Path(folder).glob("*.json"):
            for test, names in json.loads(path.read_text()).items():
                found[test] |= set(names)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("processes", type=int, nargs="?", default=2, help="of pytest")
    seen = lowered(str(parser.parse_args().processes))
    anywhere = set().union(*seen.values()) if seen else set()
    counts, without = Counter[str](), Counter[str]()
    types: dict[str, bool] = {}
    for pattern in table.patterns():
        for form, ok in table.accepted(pattern):
            if not ok or audit.absent(form.name):
                continue
            tests = coverage.tests_of(form.name)
            here = any(form.name in seen.get(test, ()) for test in tests)
            counts["accepted"] += 1
            counts["lowered in a test against a model"] += here
            counts["lowered in another of these tests"] += not here and form.name in anywhere
            without[form.opcode] += not here and form.name not in anywhere
            kind = " ".join([form.opcode, *(word for word in form.name.split(".")[1:] if word in TYPES)])
            types[kind] = types.get(kind, False) or here
    record = {
        "command": "python bench/lowered_forms.py", "date": datetime.now(UTC).date().isoformat(), "counts": counts,
        "opcodes with types": {"accepted": len(types), "lowered in a test against a model": sum(types.values())},
        "opcodes with types without": sorted(kind for kind, here in types.items() if not here),
        "not lowered by opcode": {opcode: many for opcode, many in without.most_common() if many},
    }  # fmt: skip
    RESULT.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
