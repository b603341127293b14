"""Begins a Python program's process with the virtual GPU in it.

The interpreter imports this before the script, as its folder stands in PYTHONPATH (programs/python/script_run.py): so
`__main__`, sys.argv, tracebacks and the exit status are the interpreter's own, and a process that the script starts
has a virtual GPU, too. Of the folder nothing stays in sys.path, and a sitecustomize of the user's is imported as ever.
"""

import importlib
import json
import os
import sys


def _go_on_as_ever() -> None:
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != own]
    sys.path_importer_cache.pop(own, None)
    this = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = this


def _begin(order: str) -> None:
    orders = json.loads(order)
    ours = os.getppid() == orders["starter"]  # the interpreter of the command, wherever that was started from
    if ours and orders["source"] not in sys.path:
        sys.path.append(orders["source"])
    try:
        from gridstride.programs.python.attach import begin
    except ModuleNotFoundError:
        if ours:
            raise
        return  # another interpreter, which the script has started
    begin(order)


_go_on_as_ever()
if "GRIDSTRIDE_PYTHON_PROGRAM" in os.environ:
    _begin(os.environ["GRIDSTRIDE_PYTHON_PROGRAM"])
