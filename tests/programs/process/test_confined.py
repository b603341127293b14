"""A stranger's program in its room: what it cannot do, and what is believed of what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridstride.judge.sandbox.client import CannotJudge
from gridstride.programs.process.confined import ProgramRoom, _validated_report
from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.run import Reported, Settings
from gridstride.programs.toolchain.wheels import Toolchain

HOSTILE = r"""
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cuda_runtime.h>

int main(int argc, char** argv)
{
    struct stat found;
    printf("stat %d\n", stat("/etc/passwd", &found));
    printf("read %d\n", open("/etc/passwd", O_RDONLY));
    printf("write %d\n", open(argv[2], O_CREAT | O_WRONLY, 0600));
    printf("own %d\n", open(argv[1], O_CREAT | O_WRONLY, 0600) >= 0);
    printf("network %d\n", socket(AF_INET, SOCK_STREAM, 0));
    printf("process %d\n", fork());
    printf("program %d\n", execl("/bin/true", "true", (char*)nullptr));
    printf("signal %d\n", kill(getppid(), 0));
    printf("credentials %d\n", getenv("SECRET") != nullptr);
    int sockets = 0;
    for (int i = 0; i < 128; i++) sockets += fstat(i, &found) == 0 && S_ISSOCK(found.st_mode);
    printf("sockets %d\n", sockets);
    float* memory;
    printf("device %d\n", cudaMalloc(&memory, 64));
    return 0;
}
"""


COMPILES = r"""
#include <cstdio>
#include <cuda.h>
#include <nvrtc.h>
int main() {
  const char *text = "#include \"/etc/passwd\"\nextern \"C\" __global__ void k(int *x) { *x = 7; }";
  const char *option = "-arch=sm_90";
  nvrtcProgram program; CUcontext context; CUmodule module; CUfunction f; CUdeviceptr p; int x = 0; size_t bytes;
  for (const char *each : {text, strchr(text, '\n') + 1}) {
    nvrtcCreateProgram(&program, each, "k.cu", 0, NULL, NULL);
    printf("%s\n", nvrtcGetErrorString(nvrtcCompileProgram(program, 1, &option)));
  }
  nvrtcGetPTXSize(program, &bytes);
  char *ptx = new char[bytes];
  nvrtcGetPTX(program, ptx);
  cuInit(0); cuCtxCreate(&context, NULL, 0, 0); cuModuleLoadData(&module, ptx); cuModuleGetFunction(&f, module, "k");
  cuMemAlloc(&p, 4);
  void *parameters[] = {&p};
  cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
  cuMemcpyDtoH(&x, p, 4);
  printf("%d\n", x);
}
"""


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_a_program_compiles_kernels_while_it_runs_and_reads_no_file_outside(tools: Toolchain, tmp_path: Path) -> None:
    file = tmp_path / "compiles.cu"
    file.write_text(COMPILES.replace("#include <cstdio>", "#include <cstdio>\n#include <cstring>"))
    with ProgramRoom(chip="h200") as room:
        room.build(file)
        try:
            outcome = room.run(["compiles"], Settings(time_limit=60))
        except CannotJudge as refused:
            pytest.skip(str(refused))
    assert outcome.stdout.splitlines() == ["NVRTC_ERROR_COMPILATION", "NVRTC_SUCCESS", "7"]
    assert not outcome.stopped


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_a_hostile_program_reaches_its_own_folder_and_the_device(
    tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    file = tmp_path / "hostile.cu"
    file.write_text(HOSTILE)
    with ProgramRoom(chip="h200") as room:
        room.build(file)
        try:
            outcome = room.run(["hostile", str(room.data / "own"), str(tmp_path / "evil")], Settings(time_limit=60))
        except CannotJudge as refused:
            pytest.skip(str(refused))
        written = [path.name for path in room.data.iterdir()]
    said = dict(line.split() for line in outcome.stdout.splitlines())
    refused = ("read", "write", "network", "process", "program", "signal")
    assert {name: said[name] for name in refused} == dict.fromkeys(refused, "-1")
    assert (said["own"], said["credentials"], said["sockets"], said["device"]) == ("1", "0", "0", "0")
    assert written == ["own"]
    assert not (tmp_path / "evil").exists()
    assert outcome.ended.activity["allocations"] == 1


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_a_program_in_its_room_sees_the_gpus_it_is_given_and_its_links_are_counted(
    tools: Toolchain, tmp_path: Path
) -> None:
    file = tmp_path / "links.cu"
    file.write_text("""
#include <cstdio>
int main() {
  int n; float *a, *b; cudaGetDeviceCount(&n); printf("%d\\n", n);
  cudaMalloc(&a, 64); cudaSetDevice(2); cudaMalloc(&b, 64); cudaMemcpyPeer(b, 2, a, 0, 64);
}
""")
    with ProgramRoom(chip="h200") as room:
        room.build(file)
        try:
            outcome = room.run(["links"], Settings(time_limit=60, gpus=3))
        except CannotJudge as refused:
            pytest.skip(str(refused))
    assert outcome.stdout == "3\n"
    assert (outcome.ended.activity["link_0_to_2_bytes"], outcome.ended.activity["gpu_2_launches"]) == (64, 0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_source_cannot_name_files_that_are_not_its_own(tools: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "secret.h").write_text("int secret;\n")
    file = tmp_path / "includes.cu"
    file.write_text(f'#include "{tmp_path}/secret.h"\nint main() {{ return secret; }}\n')
    with ProgramRoom(chip="h200") as room, pytest.raises(BuildFailed) as failed:
        room.build(file)
    assert "Permission denied" in failed.value.output or "not found" in failed.value.output


def test_the_folder_is_gone_afterwards() -> None:
    with ProgramRoom(chip="h200") as room:
        there = room.data
        assert there.is_dir()
    assert not there.parent.exists()


def test_what_is_no_report_is_not_believed() -> None:
    good = {"kind": "race", "message": "two\x1b[2J threads", "line": 7, "file": "a.cu", "kernel": "f\x1b"}
    lines = [
        good,
        {"kind": "praise"},
        {"kind": "race", "line": -1},
        {"activity": {"launches": 2, "evil": 1, "blocks": "x"}},
        {"timeline": "long"},
        {"launches_pictured": "many"},
    ]
    believed = _validated_report("\n".join(map(json.dumps, lines)).encode() + b"\nnonsense")
    assert [each["line"] for each in believed.findings] == [7, None]
    assert "\x1b" not in believed.findings[0]["message"] + believed.findings[0]["kernel"]
    assert believed.findings[1]["kernel"] == ""
    assert believed.activity == {"launches": 2}
    assert (believed.timeline, believed.launches) == ({}, [])
    assert _validated_report(b"{]}\n") == Reported()
    assert _validated_report(b"[" * 100_000 + b"}\n") == Reported()


def test_a_process_that_cannot_lock_itself_in_is_no_verdict() -> None:
    with pytest.raises(CannotJudge, match="could not lock itself in"):
        _validated_report(json.dumps({"refused": {"landlock": 0}}).encode())


REGISTERS = """
#include <cstdio>
#include <cstdlib>
__global__ void add(int *x) { x[threadIdx.x] += 1; }
int main(int argc, char **argv) {
  int sum = 0;
  for (int round = 0; round < 3; round++) {
    const size_t bytes = (size_t)atoi(argv[1]) << 20;
    int *x = (int *)calloc(bytes, 1), *d;
    if (cudaHostRegister(x, bytes, 0) != cudaSuccess) { puts("refused"); return 1; }
    cudaHostGetDevicePointer((void **)&d, x, 0);
    add<<<1, 32>>>(d);
    cudaDeviceSynchronize();
    for (int i = 0; i < 32; i++) sum += x[i];
    cudaHostUnregister(x);
    free(x);
  }
  printf("%d\\n", sum);
}
"""


@pytest.mark.timeout(600)
@pytest.mark.slow
@pytest.mark.parametrize(("mib", "said"), [(40, "96\n"), (80, "refused\n")])
def test_a_program_in_its_room_may_register_some_memory(tools: Toolchain, tmp_path: Path, mib: int, said: str) -> None:
    """As much as is sealed for it, again and again."""
    file = tmp_path / "registers.cu"
    file.write_text(REGISTERS)
    with ProgramRoom(chip="h200") as room:
        room.build(file)
        try:
            outcome = room.run(["registers", str(mib)], Settings(time_limit=60))
        except CannotJudge as refused:
            pytest.skip(str(refused))
    assert outcome.stdout == said, outcome.stderr
