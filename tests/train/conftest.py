"""`ranks` and `workers` beside this file are imported by name: in the tests, and in the ranks they start."""

import sys
from pathlib import Path

if (here := str(Path(__file__).parent)) not in sys.path:
    sys.path.insert(0, here)
