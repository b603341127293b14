"""The host's side of a launch: Ctrl-C, several Python threads, forks, and a watcher that has gone to sleep."""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gridstride as gs

SLOW = """
extern "C" __global__ void slow(int *x, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
    for (int r = 0; r != rounds; ++r) v = v * 1664525 + 1013904223;
    x[i] = v;
}
extern "C" __global__ void one_slow(int *x, int rounds) {
    int v = x[blockIdx.x], most = blockIdx.x == 1 ? rounds : blockIdx.x == 0 ? 20000000 : 1;
    for (int r = 0; r != most; ++r) v = v * 1664525 + 1013904223;
    x[blockIdx.x] = v;
}"""
INTERRUPTED = f"""
import time, numpy as np, gridstride as gs
gs.use(gs.VirtualGPU(workers=2)).__enter__()
module = gs.cuda({SLOW!r})
kernel, check = module["NAME"], module["slow"]
x = gs.to_device(np.zeros(64 * 64, np.int32))
check[1, 32](x, 3)
print("ready", flush=True)
try:
    kernel[GRID, 64](x, -1)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
    for i in range(50):
        y = np.full(64 * 64, i, np.int32)
        check[64, 64](y, 1)
        assert (y == np.full(1, i, np.int32) * 1664525 + 1013904223).all()
    print("then right", flush=True)
"""


def after(x: np.ndarray, rounds: int) -> np.ndarray:
    x = x.astype(np.uint32)
    for _ in range(rounds):
        x = x * np.uint32(1664525) + np.uint32(1013904223)
    return x.astype(np.int32)


@pytest.mark.parametrize(
    ("kernel", "grid"), [("slow", 1), ("slow", 64), ("one_slow", 64)], ids=["one worker", "all", "only a helper"]
)
def test_ctrl_c_stops_a_launch_and_the_next_one_is_right(kernel: str, grid: int) -> None:
    script = INTERRUPTED.replace("NAME", kernel).replace("GRID", str(grid))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment()
    ) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            pressed = time.monotonic()
            child.send_signal(signal.SIGINT)
            ready, _, _ = select.select([child.stdout], [], [], 20)
            assert ready, "the launch did not stop"
            word, at = child.stdout.readline().split()
            assert word == "interrupted"
            assert float(at) - pressed < 0.5
            assert child.stdout.readline() == "then right\n"
        finally:
            child.kill()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_two_python_threads_launch_at_once(gpu: gs.VirtualGPU) -> None:
    kernel, wrong = gs.cuda(SLOW)["slow"], []

    def work(seed: int) -> None:
        with gs.use(gpu):
            for turn in range(20):
                x = np.random.default_rng(100 * seed + turn).integers(0, 99, 320).astype(np.int32)
                want = after(x, seed + turn)
                kernel[5, 64](x, seed + turn)
                if not (x == want).all():
                    wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_another_python_thread_runs_on_while_a_kernel_does(gpu: gs.VirtualGPU) -> None:
    kernel, ticks, done = gs.cuda(SLOW)["slow"], [], threading.Event()

    def tick() -> None:
        while not done.wait(0.002):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    kernel[1, 32](np.zeros(32, np.int32), 50_000_000)
    stop = time.monotonic()
    done.set()
    thread.join()
    during = sum(start < t < stop for t in ticks)
    assert stop - start < 0.02 or during > (stop - start) / 0.02


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_launches_by_itself(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(SLOW)["slow"]
    x = np.arange(64 * 64, dtype=np.int32)
    kernel[64, 64](x, 1)  # the helpers and the watcher run in the parent now
    child = os.fork()
    if child == 0:
        try:
            mine = np.arange(64 * 64, dtype=np.int32)
            kernel[64, 64](mine, 2)
            right = (mine == after(np.arange(64 * 64), 2)).all()
            with gs.use(gs.VirtualGPU(time_limit=0.2, workers=2)):
                try:
                    kernel[64, 64](mine, -1)
                except gs.KernelFault as fault:
                    os._exit(0 if right and fault.kind == "timeout" else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    kernel[64, 64](x, 1)
    assert (x == after(np.arange(64 * 64), 2)).all()


def test_the_time_limit_holds_after_a_pause() -> None:
    with gs.use(gs.VirtualGPU(time_limit=0.2, workers=1)):
        kernel = gs.cuda(SLOW)["slow"]
        for pause in (0.0, 1.3, 0.9):
            time.sleep(pause)
            kernel[1, 32](np.zeros(32, np.int32), 1)
            start = time.monotonic()
            with pytest.raises(gs.KernelFault, match="timeout"):
                kernel[1, 32](np.zeros(32, np.int32), -1)
            assert time.monotonic() - start < 1.5


def test_a_number_is_no_chip() -> None:
    with pytest.raises(ValueError, match=r"unknown chip 0\. There are: a100"):
        gs.VirtualGPU(0)


def test_errors_and_runs_travel_between_processes() -> None:
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20)):
        run = gs.cuda("__global__ void one(int* x) { x[0] = 1; }")["one"].observe(1, 1)(np.zeros(1, np.int32))
        errors = []
        for call in (
            lambda: gs.ptx("no PTX"),
            lambda: gs.cuda("__global__ void f() { y; }"),
            lambda: gs.cuda("__global__ void f(int* x) { x[9] = 1; }")["f"][1, 1](np.zeros(1, np.int32)),
            lambda: gs.cuda('__global__ void f() { asm("wgmma.nothing;"); }')["f"][1, 1](),
        ):
            with pytest.raises((gs.PtxError, gs.CompileError, gs.KernelFault, gs.UnsupportedInstruction)) as caught:
                call()
            errors.append(caught.value)
    assert len({type(error) for error in errors}) >= 3
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy)) == (type(error), str(error))
    assert str(pickle.loads(pickle.dumps(run))) == str(run)
