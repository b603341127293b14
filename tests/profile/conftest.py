"""Lets the tests of this folder import the traces written by hand that lie beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
