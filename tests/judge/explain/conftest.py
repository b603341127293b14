"""Tests of explanations share the kernels in explained_kernels.py."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
