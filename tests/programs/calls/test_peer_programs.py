"""Whole programs whose GPUs reach one another's memory."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from gridstride.virtual.chips import chip

Run = Callable[..., subprocess.CompletedProcess[str]]


SLOW = [pytest.mark.slow, pytest.mark.timeout(900)]


HEAD = """
#include <cstdio>
#include <thread>
#define NAME(call) printf("%s\\n", cudaGetErrorName(call))
__device__ int own;
__managed__ int shared;
__global__ void add(int *x, int v) { x[threadIdx.x] += v; }
__global__ void gather(int *to, const int *from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void count() { own++; shared++; }
static int *on(int gpu, int bytes = 16) {
  int *p; cudaSetDevice(gpu); cudaMalloc(&p, bytes); cudaMemset(p, 0, bytes); cudaDeviceSynchronize(); return p;
}
"""


CHUNK = 4096


RING = """
#include <cstdio>
constexpr int CHUNK = 4096, MOST = 8;
__global__ void set(float *x, float v) { x[blockIdx.x * blockDim.x + threadIdx.x] = v; }
__global__ void add(float *x, const float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] += y[i]; }
int main() {
  int gpus; cudaGetDeviceCount(&gpus);
  float *x[MOST], *in[MOST]; cudaStream_t s[MOST]; cudaEvent_t sent[MOST], done[MOST];
  for (int g = 0; g < gpus; g++) {
    cudaSetDevice(g); cudaDeviceEnablePeerAccess((g + 1) % gpus, 0);
    cudaMalloc(&x[g], gpus * CHUNK * 4); cudaMalloc(&in[g], CHUNK * 4);
    cudaStreamCreate(&s[g]); cudaEventCreate(&sent[g]); cudaEventCreate(&done[g]);
    set<<<gpus * CHUNK / 256, 256, 0, s[g]>>>(x[g], g + 1); cudaEventRecord(done[g], s[g]);
  }
  for (int step = 0; step < 2 * (gpus - 1); step++) {
    bool adds = step < gpus - 1;
    for (int g = 0; g < gpus; g++) {
      int next = (g + 1) % gpus, part = (g - step + 2 * gpus) % gpus;
      cudaStreamWaitEvent(s[g], done[next]);
      cudaMemcpyPeerAsync(adds ? in[next] : x[next] + part * CHUNK, next, x[g] + part * CHUNK, g, CHUNK * 4, s[g]);
      cudaEventRecord(sent[g], s[g]);
    }
    for (int g = 0; g < gpus; g++) {
      int before = (g + gpus - 1) % gpus, part = (before - step + 2 * gpus) % gpus;
      cudaSetDevice(g); cudaStreamWaitEvent(s[g], sent[before]);
      if (adds) add<<<CHUNK / 256, 256, 0, s[g]>>>(x[g] + part * CHUNK, in[g]);
      cudaEventRecord(done[g], s[g]);
    }
  }
  float least = 1e9, most = 0;
  for (int g = 0; g < gpus; g++)
    for (int part = 0; part < gpus; part++) {
      float v; cudaSetDevice(g); cudaStreamSynchronize(s[g]);
      cudaMemcpy(&v, x[g] + part * CHUNK + 1, 4, cudaMemcpyDefault);
      least = v < least ? v : least; most = v > most ? v : most;
    }
  if (least == most) printf("all %g\\n", most);
}
"""


# -- programs ---------------------------------------------------------------------------------------------------------
class TestPrograms:
    """From source to their last line."""

    pytestmark = SLOW

    def test_a_thread_has_its_own_current_gpu_and_each_gpu_its_memory(self, program: Run) -> None:
        done = program(
            HEAD
            + """
int main() {
  int n, d; cudaGetDeviceCount(&n); cudaSetDevice(2);
  std::thread([] { int d; cudaGetDevice(&d); printf("thread %d\\n", d); }).join();
  cudaGetDevice(&d); printf("%d of %d\\n", d, n);
  NAME(cudaSetDevice(3)); NAME(cudaSetDevice(-1));
  int *p = on(1); cudaPointerAttributes a; cudaPointerGetAttributes(&a, p); printf("owner %d\\n", a.device);
  cudaDeviceProp one, two; cudaGetDeviceProperties(&one, 0); cudaGetDeviceProperties(&two, 2);
  printf("%d %d\\n", one.pciBusID != two.pciBusID, one.multiProcessorCount == two.multiProcessorCount);
  size_t left, total; cudaSetDevice(0); cudaMemGetInfo(&left, &total);
  void *much; NAME(cudaMalloc(&much, total)); cudaSetDevice(1); NAME(cudaMalloc(&much, total));
}
""",
            "--gpus", "3",
        )  # fmt: skip
        assert done.stdout.splitlines() == [
            "thread 0", "2 of 3", "cudaErrorInvalidDevice", "cudaErrorInvalidDevice", "owner 1", "1 1", "cudaSuccess",
            "cudaErrorMemoryAllocation",
        ]  # fmt: skip

    def test_a_device_variable_is_each_gpus_and_a_managed_one_is_all_gpus(self, program: Run) -> None:
        done = program(
            HEAD
            + """
int main() {
  for (int k = 0; k < 3; k++) { cudaSetDevice(k % 2); count<<<1, 1>>>(); NAME(cudaDeviceSynchronize()); }
  for (int gpu = 0; gpu < 2; gpu++) {
    int seen; cudaSetDevice(gpu); cudaMemcpyFromSymbol(&seen, own, 4); printf("%d\\n", seen);
  }
  printf("%d\\n", shared);
}
""",
            "--gpus", "2",
        )  # fmt: skip
        assert done.stdout.splitlines() == ["cudaSuccess"] * 3 + ["2", "1", "3"]

    def test_peer_access_has_the_errors_of_cuda(self, program: Run) -> None:
        text = (
            HEAD
            + """
int main() {
  int can, self; cudaDeviceCanAccessPeer(&can, 0, 1); cudaDeviceCanAccessPeer(&self, 1, 1);
  printf("%d %d\\n", can, self);
  NAME(cudaDeviceDisablePeerAccess(1)); NAME(cudaDeviceEnablePeerAccess(0, 0)); NAME(cudaDeviceEnablePeerAccess(2, 0));
  NAME(cudaDeviceEnablePeerAccess(1, 0)); NAME(cudaDeviceEnablePeerAccess(1, 0)); NAME(cudaDeviceDisablePeerAccess(1));
}
"""
        )
        assert program(text, "--gpus", "2").stdout.splitlines() == [
            "1 0", "cudaErrorPeerAccessNotEnabled", "cudaErrorInvalidDevice", "cudaErrorInvalidDevice", "cudaSuccess",
            "cudaErrorPeerAccessAlreadyEnabled", "cudaSuccess",
        ]  # fmt: skip

    def test_a_chip_without_peer_access_says_so(self, program: Run) -> None:
        text = (
            HEAD
            + """
int main() {
  int can; cudaDeviceCanAccessPeer(&can, 1, 0); printf("%d\\n", can);
  int *p = on(0), *q = on(1); NAME(cudaDeviceEnablePeerAccess(0, 0)); NAME(cudaMemcpyPeer(q, 1, p, 0, 16));
  add<<<1, 4>>>(p, 1); NAME(cudaDeviceSynchronize());
}
"""
        )
        done = program(text, "--gpus", "2", "--chip", "rtx4090")
        assert done.stdout.splitlines() == [
            "0", "cudaErrorPeerAccessUnsupported", "cudaSuccess", "cudaErrorIllegalAddress",
        ]  # fmt: skip
        assert "the driver of this chip gives none: copy the bytes" in done.stderr

    @pytest.mark.parametrize("word", [None, "--predict", "--sanitize"])
    def test_a_kernel_reaches_another_gpus_memory_only_with_access(self, program: Run, word: str | None) -> None:
        done = program(
            HEAD
            + """
int main() {
  int *theirs = on(0), *ours = on(1), seen[4];
  add<<<1, 4>>>(theirs, 1);
  NAME(cudaDeviceSynchronize());
  puts("without");
}
""",
            *([word] if word else []), "--gpus", "2",
        )  # fmt: skip
        assert done.stdout.splitlines() == ["cudaErrorIllegalAddress", "without"]
        assert "byte 0 of 16 bytes of GPU 0, which this GPU has no access to" in done.stderr
        with_access = program(
            HEAD
            + """
int main() {
  int *theirs = on(0), *ours = on(1), seen[4];
  cudaDeviceEnablePeerAccess(0, 0);
  add<<<1, 4>>>(theirs, 7); gather<<<1, 4>>>(ours, theirs);
  NAME(cudaDeviceSynchronize());
  cudaMemcpy(seen, ours, 16, cudaMemcpyDefault); printf("%d\\n", seen[3]);
  cudaFree(ours); cudaSetDevice(0); cudaFree(theirs);
}
""",
            *([word] if word else []), "--gpus", "2",
        )  # fmt: skip
        assert with_access.stdout.splitlines() == ["cudaSuccess", "7"]
        assert with_access.returncode == 0

    def test_memory_of_a_pool_is_reached_where_the_pool_says_so(self, program: Run) -> None:
        done = program(
            HEAD
            + """
int main() {
  int *theirs; cudaStream_t stream; cudaSetDevice(0); cudaStreamCreate(&stream);
  cudaMallocAsync(&theirs, 16, stream); cudaMemsetAsync(theirs, 0, 16, stream); cudaStreamSynchronize(stream);
  cudaMemPool_t pool; cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
  NAME(cudaMemPoolSetAccess(pool, &access, 1));
  cudaSetDevice(1); add<<<1, 4>>>(theirs, 1); NAME(cudaDeviceSynchronize());
  access.flags = cudaMemAccessFlagsProtNone; cudaMemPoolSetAccess(pool, &access, 1);
  add<<<1, 4>>>(theirs, 1); NAME(cudaDeviceSynchronize());
}
""",
            "--gpus", "2",
        )  # fmt: skip
        assert done.stdout.splitlines() == ["cudaSuccess", "cudaSuccess", "cudaErrorIllegalAddress"]

    def test_streams_and_events_belong_to_a_gpu_and_events_order_gpus(self, program: Run) -> None:
        done = program(
            HEAD
            + """
int main() {
  int *p = on(0), d; cudaStream_t first, second; cudaEvent_t done;
  cudaStreamCreate(&first); cudaEventCreate(&done);
  cudaSetDevice(1); cudaStreamCreate(&second);
  cudaStreamGetDevice(first, &d); printf("%d\\n", d);
  add<<<1, 4, 0, first>>>(p, 1); NAME(cudaGetLastError());
  NAME(cudaEventRecord(done, second)); NAME(cudaEventRecord(done, first)); NAME(cudaStreamWaitEvent(second, done));
  NAME(cudaStreamSynchronize(first));
}
""",
            "--gpus", "2",
        )  # fmt: skip
        assert done.stdout.splitlines() == [
            "0", "cudaErrorInvalidResourceHandle", "cudaErrorInvalidResourceHandle", "cudaSuccess", "cudaSuccess",
            "cudaSuccess",
        ]  # fmt: skip

    def test_a_reset_takes_one_gpus_memory_and_leaves_the_others(self, program: Run) -> None:
        done = program(
            HEAD
            + """
int main() {
  int *first = on(0), *second = on(1), seen;
  add<<<1, 4>>>(second, 5);
  cudaSetDevice(0); NAME(cudaDeviceReset());
  NAME(cudaMemcpy(&seen, second, 4, cudaMemcpyDefault)); printf("%d\\n", seen);
  NAME(cudaMemcpy(&seen, first, 4, cudaMemcpyDeviceToHost));
}
""",
            "--gpus", "2",
        )  # fmt: skip
        assert done.stdout.splitlines() == ["cudaSuccess", "cudaSuccess", "5", "cudaErrorInvalidValue"]

    def test_bytes_are_counted_for_each_link_and_launches_for_each_gpu(self, program: Run) -> None:
        done = program(
            HEAD
            + """
int main() {
  int *p[3]; for (int gpu = 0; gpu < 3; gpu++) p[gpu] = on(gpu, 4096);
  for (int gpu = 0; gpu < 3; gpu++) cudaMemcpyPeer(p[(gpu + 1) % 3], (gpu + 1) % 3, p[gpu], gpu, 1024);
  cudaMemcpy(p[0], p[1], 4096, cudaMemcpyDefault); cudaSetDevice(1); add<<<1, 4>>>(p[1], 1); cudaDeviceSynchronize();
  NAME(cudaMemcpyPeer(p[0], 1, p[1], 1, 16));
}
""",
            "--gpus", "3", "--json",
        )  # fmt: skip
        counted = json.loads(done.stdout)["activity"]
        assert {name: counted[name] for name in counted if name.startswith(("link", "gpu", "peer", "busiest"))} == {
            "peer_bytes": 3 * 1024 + 4096, "busiest_link_bytes": 4096, "busiest_port_bytes": 1024 + 4096,
            "link_0_to_1_bytes": 1024,
            "link_1_to_0_bytes": 4096, "link_1_to_2_bytes": 1024, "link_2_to_0_bytes": 1024, "gpu_0_launches": 0,
            "gpu_1_launches": 1, "gpu_2_launches": 0,
        }  # fmt: skip
        assert "cudaErrorInvalidValue" in done.stderr  # GPU 1 is named for memory of GPU 0

    def test_copies_go_straight_with_access_and_through_the_host_without(self, program: Run) -> None:
        text = (
            HEAD
            + """
int main(int argc, char **argv) {
  int *from = on(0, 1 << 26), *to = on(1, 1 << 26);
  if (argc > 1) cudaDeviceEnablePeerAccess(0, 0);
  cudaMemcpyPeer(to, 1, from, 0, 1 << 26); cudaDeviceSynchronize();
}
"""
        )

        def link(*arguments: str) -> dict[str, Any]:
            done = program(text, "--gpus", "2", "--predict", "--json", arguments=arguments)
            told: dict[str, Any] = json.loads(done.stdout)["timeline"]
            assert told["chip"] == "h200"
            (only,) = told["links"]
            return dict(only)

        staged, direct, times = link(), link("enable"), chip("h200").timeline
        assert (staged["from"], staged["to"], staged["bytes"]) == (0, 1, 1 << 26)
        assert staged["busy_us"] / direct["busy_us"] == pytest.approx(
            times["peer_gb_per_s"] / times["staged_gb_per_s"], rel=0.05
        )

    def test_bytes_without_access_are_counted_as_staged(self, program: Run) -> None:
        text = (
            HEAD
            + """
int main() {
  int *from = on(0, 4096), *to = on(1, 4096);
  cudaMemcpyPeer(to, 1, from, 0, 1024); cudaDeviceEnablePeerAccess(0, 0); cudaMemcpyPeer(to, 1, from, 0, 4096);
}
"""
        )
        counted = json.loads(program(text, "--gpus", "2", "--json").stdout)["activity"]
        assert (counted["peer_bytes"], counted["staged_bytes"]) == (1024 + 4096, 1024)

    def test_boxes_are_copied_between_gpus(self, program: Run) -> None:
        done = program(
            HEAD
            + """
int main() {
  cudaPitchedPtr p[2]; cudaArray_t a; cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaExtent all = make_cudaExtent(64, 4, 2);
  for (int g = 1; g >= 0; g--) { cudaSetDevice(g); cudaMalloc3D(&p[g], all); cudaMemset3D(p[g], g + 1, all); }
  cudaMalloc3DArray(&a, &format, make_cudaExtent(16, 4, 2));
  cudaMemcpy3DPeerParms box = {};
  box.srcPtr = p[1]; box.srcDevice = 1; box.dstPtr = p[0]; box.dstDevice = 0;
  box.extent = make_cudaExtent(8, 2, 2); box.dstPos = make_cudaPos(4, 1, 0);
  NAME(cudaMemcpy3DPeer(&box));
  unsigned char seen[64 * 4 * 2]; int twos = 0;
  cudaMemcpy3DParms back = {}; back.srcPtr = p[0]; back.dstPtr = make_cudaPitchedPtr(seen, 64, 64, 4);
  back.extent = all; back.kind = cudaMemcpyDefault; cudaMemcpy3D(&back);
  for (unsigned char each : seen) twos += each == 2;
  printf("%d %d %d\\n", twos, seen[64 + 4], seen[64 + 12]);
  cudaStream_t s; cudaStreamCreate(&s); cudaGraph_t graph; cudaGraphExec_t exec;
  cudaMemcpy3DPeerParms to = {}; to.srcPtr = p[1]; to.srcDevice = 1; to.dstArray = a; to.dstDevice = 0;
  to.extent = make_cudaExtent(16, 4, 2);
  NAME(cudaMemcpy3DPeerAsync(&to, s));
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); NAME(cudaMemcpy3DPeerAsync(&to, s));
  cudaStreamEndCapture(s, &graph); cudaGraphInstantiate(&exec, graph, 0); NAME(cudaGraphLaunch(exec, s));
  cudaStreamSynchronize(s);
  to.srcDevice = 0; NAME(cudaMemcpy3DPeer(&to)); to.srcDevice = 5; NAME(cudaMemcpy3DPeer(&to));
  NAME(cudaMemcpy3DPeer(nullptr));
}
""",
            "--gpus", "2", "--json",
        )  # fmt: skip
        assert done.stderr.splitlines()[-8:] == [
            "cudaSuccess", "32 2 1", "cudaSuccess", "cudaSuccess", "cudaSuccess", "cudaErrorInvalidValue",
            "cudaErrorInvalidDevice", "cudaErrorInvalidValue",
        ]  # fmt: skip
        assert json.loads(done.stdout)["activity"]["link_1_to_0_bytes"] == 32 + 2 * 512

    def test_what_kernels_read_and_write_of_anothers_memory_is_counted_for_the_link(self, program: Run) -> None:
        text = (
            HEAD
            + """
__global__ void follow(int *to, int *const *from) { to[threadIdx.x] = from[0][threadIdx.x]; }
int main() {
  int *p[3]; for (int gpu = 0; gpu < 3; gpu++) p[gpu] = on(gpu, 4096);
  int **table; cudaMalloc(&table, 8); cudaMemcpy(table, &p[1], 8, cudaMemcpyDefault);
  cudaDeviceEnablePeerAccess(0, 0); cudaDeviceEnablePeerAccess(1, 0);
  gather<<<1, 256>>>(p[2], p[0]); gather<<<1, 256>>>(p[2], p[1]); gather<<<1, 256>>>(p[0], p[2]);
  gather<<<1, 256>>>(p[2], p[2] + 256);
  add<<<1, 64>>>(p[1] + 256, 1); follow<<<1, 32>>>(p[2], table); cudaDeviceSynchronize();
}
"""
        )
        told = json.loads(program(text, "--gpus", "3", "--predict", "--json").stdout)
        counted = told["activity"]
        assert {name: counted[name] for name in counted if name.startswith("link")} == {
            "link_0_to_2_bytes": 1024, "link_1_to_2_bytes": 1024 + 256 + 128, "link_2_to_0_bytes": 1024,
            "link_2_to_1_bytes": 256,
        }  # fmt: skip
        assert (counted["peer_bytes"], counted["busiest_port_bytes"]) == (
            3 * 1024 + 2 * 256 + 128,
            2 * 1024 + 256 + 128,
        )
        assert {f"link_{each['from']}_to_{each['to']}_bytes": each["bytes"] for each in told["timeline"]["links"]} == {
            name: counted[name] for name in counted if name.startswith("link")
        }
        plain = json.loads(program(text, "--gpus", "3", "--json").stdout)["activity"]
        assert plain["peer_bytes"] == 0  # what kernels touch is counted where times are predicted

    def test_a_ring_adds_up_what_all_gpus_have_and_loads_each_link_alike(self, program: Run) -> None:
        def ring(*words: str, drop: str = "") -> tuple[str, dict[str, float]]:
            done = program(RING.replace(drop, "") if drop else RING, *words, "--predict", "--json")
            return done.stderr, json.loads(done.stdout)["activity"]

        for gpus in (2, 5):
            printed, counted = ring("--gpus", str(gpus))
            assert f"all {gpus * (gpus + 1) // 2}" in printed
            share = 2 * (gpus - 1) * CHUNK * 4
            assert [counted[f"link_{k}_to_{(k + 1) % gpus}_bytes"] for k in range(gpus)] == [share] * gpus
            assert (counted["busiest_link_bytes"], counted["unordered"]) == (share, 0)
            assert counted["gpu_1_launches"] == counted["launches"] / gpus
        assert ring("--gpus", "5", drop="cudaStreamWaitEvent(s[g], sent[before]);")[1]["unordered"] > 0

    def test_one_gpu_is_what_a_program_sees_unless_it_is_given_more(self, program: Run) -> None:
        text = HEAD + 'int main() { int n; cudaGetDeviceCount(&n); printf("%d\\n", n); NAME(cudaSetDevice(1)); }'
        assert program(text).stdout.splitlines() == ["1", "cudaErrorInvalidDevice"]
        refused = program(text, "--gpus", "17")
        assert refused.returncode == 2
        assert "--gpus 17 must be 1 to 16" in refused.stderr
