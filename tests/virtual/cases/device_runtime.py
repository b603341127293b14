"""What tests of CUDA's device runtime share."""

from __future__ import annotations

import json
from pathlib import Path

RDC = ("-rdc=true",)
MEASURED = json.loads((Path(__file__).parents[1] / "fixtures" / "device_runtime_h200.json").read_text())
"""Of an H200: order of children, attributes; of launches that fail the error peeked at, got, got again, and how many
threads ran.
"""
