"""What a problem's own functions give for a case. They are an author's code: what they raise or leave out is said."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride.judge.cases.data import generate
from gridstride.judge.problem import Array, Case, Parameter, Problem, ProblemError, Values


def drawn(problem: Problem, case: Case) -> dict[str, Any]:
    """The case's inputs; ProblemError where `arrange` fails or there is no memory for them."""
    what = "arrange" if problem.arrange else "the data"
    values: dict[str, Any] = _called(problem, case, what, lambda: generate(problem, case))
    return values


def answers(problem: Problem, case: Case, wide: Values) -> tuple[dict[str, Array], dict[str, Array]]:
    """Reference and magnitudes, each output in its shape; ProblemError says what is wrong with what came instead."""
    values = _checked_outputs(problem, case, "the reference", problem.reference, wide)
    for p in problem.outputs:
        if p.name not in values:
            raise _wrong(problem, case, f"the reference gives no {p.name}")
        if case.data == "normal" and p.name not in problem.invariants and _nothing(values[p.name]):
            raise _wrong(problem, case, f"the reference gives NaN for all of {p.name}: nothing could be told from it")
    if problem.magnitude is None:
        return values, {}
    return values, _checked_outputs(problem, case, "magnitude", problem.magnitude, wide)


def marked(problem: Problem, case: Case, name: str, wide: Values, results: Values) -> Array:
    """Which elements of an output its invariant finds wrong."""
    what = f"the invariant of {name}"
    with np.errstate(all="ignore"):
        marks = _called(problem, case, what, lambda: problem.invariants[name](wide, results))
    try:
        return np.broadcast_to(np.asarray(marks, bool), results[name].shape)
    except (TypeError, ValueError) as error:
        raise _wrong(problem, case, f"{what} gives no mark for each element: {error}") from error


def _checked_outputs(
    problem: Problem, case: Case, what: str, function: Callable[[Values], dict[str, Array]], wide: Values
) -> dict[str, Array]:
    with np.errstate(all="ignore"):
        outputs = _called(problem, case, what, lambda: function(wide))
    if not isinstance(outputs, dict):
        kind = type(outputs).__name__
        raise _wrong(problem, case, f"{what} gives {kind}: a dictionary of outputs by name is needed")
    return {p.name: _shaped(problem, case, what, p, outputs[p.name]) for p in problem.outputs if p.name in outputs}


def _shaped(problem: Problem, case: Case, what: str, parameter: Parameter, values: Any) -> Array:
    array, shape = np.asarray(values), problem.shape(parameter, case.sizes)
    if array.shape != shape or array.dtype.kind not in "fiub":
        is_what = f"{array.dtype} of shape {list(array.shape)}"
        raise _wrong(problem, case, f"{what} gives {parameter.name} as {is_what}, it has shape {list(shape)}")
    return array


def _nothing(values: Array) -> bool:
    return bool(values.size and values.dtype.kind == "f" and np.isnan(values).all())


def _called(problem: Problem, case: Case, what: str, call: Callable[[], Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy's, as of a slice that is all NaN
            return call()
    except MemoryError as error:
        raise _wrong(problem, case, f"{what} takes more memory than there is: {error}") from error
    except ProblemError:
        raise
    except (Exception, SystemExit) as error:
        line = _line_of(error)
        raise _wrong(problem, case, f"{what} fails{line}: {type(error).__name__}: {error}") from error


def _line_of(error: BaseException) -> str:
    """Where in a problem.py it was raised."""
    at, location = error.__traceback__, ""
    while at is not None:
        if at.tb_frame.f_code.co_filename.endswith("problem.py"):
            location = f" on line {at.tb_lineno} of problem.py"
        at = at.tb_next
    return location


def _wrong(problem: Problem, case: Case, what: str) -> ProblemError:
    return ProblemError(f"problem {problem.name}: {what} ({case})")
