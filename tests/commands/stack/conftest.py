"""Lets the tests of this folder import the helpers of the serving tests, and the small models of the models' tests."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path[:0] = [str(TESTS / "serve"), str(TESTS / "models")]
