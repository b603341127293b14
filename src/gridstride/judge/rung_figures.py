"""The figures of a kernel that passed: counts and a predicted time on the virtual GPU, times on a physical one."""

from __future__ import annotations

from dataclasses import replace

from gridstride.judge.execution.launch_limits import too_large_a_heap, too_many_registers
from gridstride.judge.execution.runnable import Runnable
from gridstride.judge.problem import Case, Problem
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.sandbox.subject import SandboxedKernel
from gridstride.judge.timing.limits import Rates, floor_ms
from gridstride.judge.timing.timer import Timer
from gridstride.judge.verdict import Finding, RungResult
from gridstride.judge.verify import observe, totals
from gridstride.protocol import DeviceError, DeviceProperties

_TOO_FAST = 0.98  # a time under this share of the roofline is a fault, not a record; clocks may boost a little


def counted(
    result: RungResult, problem: Problem, runnable: Runnable | SandboxedKernel, *, seed: int, gpu: DeviceProperties
) -> RungResult:
    """With the counters of the observed case, and what they say about the timed one on a GPU."""
    sizes = problem.observed
    case = prepare(problem, [Case(sizes, "normal", seed)])[0]
    run, findings = observe(problem, runnable, case)
    if run is None:
        return replace(result, findings=findings)
    work = problem.work(problem.timed)
    factor = max(part / small for part, small in zip(work, problem.work(sizes), strict=True) if small)
    timed_shape = runnable.shape(problem.timed)
    predicted = run.model.at(timed_shape.grid, run.counters.scaled(factor, moved=work[1]))
    limits = too_many_registers(run, timed_shape.block, gpu) or too_large_a_heap(run, timed_shape.grid, gpu)
    return replace(
        result,
        findings=findings or limits,
        counters=totals(run),
        limiter=predicted.limiter,
        predicted_ms=predicted.ms,
        run=run,
    )


def timed(
    result: RungResult, problem: Problem, runnable: Runnable, *, timer: Timer, gpu: DeviceProperties
) -> RungResult:
    """With the times that a GPU took, held against the least that it needs."""
    try:
        timing = timer.time(runnable)
    except DeviceError as error:  # a kernel that works for small sizes only may end the context at the timed one
        return replace(result, findings=(Finding("fault", f"at the timed size: {error}"),))
    floor = floor_ms(problem.work(problem.timed), Rates.of(gpu, problem))
    findings: tuple[Finding, ...] = ()
    if not timing.right:
        findings = (Finding("wrong_result", "the results of the timed launches were wrong"),)
    elif timing.clocks:
        findings = (Finding("clocks_disagree", timing.clocks),)
    elif timing.median_ms < _TOO_FAST * floor:
        message = f"{timing.median_ms:.4g} ms is less than the {floor:.4g} ms that the chip needs at least"
        findings = (Finding("too_fast", message),)
    return replace(
        result,
        findings=findings,
        time_ms=timing.median_ms,
        spread_ms=timing.spread_ms,
        rounds=timing.rounds,
        interval_ms=timing.interval_ms,
        warm_ms=timing.warm_ms,
        multiprocessor_mhz=timing.multiprocessor_mhz,
        speed_of_light=floor / timing.median_ms,
        peers={name: peer / timing.median_ms for name, peer in timing.peers.items()},
    )
