"""Rodinia's CUDA programs in sizes for a simulator, with what each must equal: the table of bench/rodinia.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import rodinia_data as data
from rodinia_data import Array

COPIES = Path(__file__).resolve().parent / "parts" / "copies_to_host.h"
OLD_C = "gcc -std=gnu89 -Wno-incompatible-pointer-types"
"""C of before 1999 under a compiler of today."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b-?(?:nan|inf)\b")


MUMMER = "g++ -fopenmp -include unistd.h -fno-delete-null-pointer-checks"
"""mummergpu's C++: a header that it forgets, and methods of a null pointer, which it calls and GCC optimises for."""
CHANGED = "result[r*col+c] =temp[r*col+c]+ delta;"
INNER = """if (r > 0 && r < row - 1 && c > 0 && c < col - 1)
    delta = Cap_1 * (power[r*col+c] + (temp[(r+1)*col+c] + temp[(r-1)*col+c] - 2.f*temp[r*col+c]) * Ry_1 +
                     (temp[r*col+c+1] + temp[r*col+c-1] - 2.f*temp[r*col+c]) * Rx_1 +
                     (amb_temp - temp[r*col+c]) * Rz_1);
"""
"""What hotspot's OpenMP version forgets: inner cells of blocks at the edge get the change of the cell before."""


@dataclass(frozen=True)
class Ran:
    """What a version left behind."""

    folder: Path
    out: str
    err: str


Reader = Callable[[Ran], Array]
Inputs = Mapping[str, bytes]
"""Files by their path from the program's folder."""


@dataclass(frozen=True)
class Cpu:
    """The version in openmp/ that the answer must be equal to."""

    folder: str
    arguments: str
    files: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    make: tuple[str, ...] = ()
    binary: str = "program"
    edits: tuple[tuple[str, str, str], ...] = ()
    """File, what it says, what a copy says instead: where this version prints nothing, or takes other steps."""
    reads: Reader | None = None
    inputs: Callable[[], Inputs] | None = None


@dataclass(frozen=True)
class OwnCheck:
    """A program with its CPU version in itself, which says so where the two are equal."""

    says: str


@dataclass(frozen=True)
class SameProgram:
    """A program that computes on the CPU where it is told to."""

    arguments: str


@dataclass(frozen=True)
class Program:
    """One executable: a row of the table."""

    name: str
    folder: str
    arguments: str
    against: Cpu | OwnCheck | SameProgram | Callable[[], Array]
    reads: Reader | None = None
    files: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    make: tuple[str, ...] = ()
    """Words for make, where the program's Makefile builds it."""
    binary: str = "program"
    inputs: Callable[[], Inputs] = field(default=dict)
    headers: Inputs = field(default_factory=dict)
    """Those that a file forgets, or that are of a library that it does not use."""
    tolerance: float = 1e-5
    fixed_clock: bool = False
    theirs: str = ""
    """Why it is not right, where that was looked into and is the program's own."""
    elsewhere: str = ""
    """What it needs that neither the collection's git nor the virtual GPU has."""

    @property
    def collected(self) -> str:
        """The name of the program that it is one executable of."""
        return self.folder.split("/")[0]


def printed(text: str) -> Array:
    return np.array([float(each) for each in _NUMBER.findall(text)])


def file(name: str, skip: int = 0) -> Reader:
    """The numbers of a file, without its first ones."""
    return lambda ran: printed((ran.folder / name).read_text())[skip:]


def files(*names: str) -> Reader:
    return lambda ran: np.concatenate([printed((ran.folder / name).read_text()) for name in names])


def octets(*names: str) -> Reader:
    """The bytes of files."""
    return lambda ran: np.concatenate([np.fromfile(ran.folder / name, "u1").astype(float) for name in names])


def lines(pattern: str, *, stream: str = "out", ordered: bool = True) -> Reader:
    """The numbers of each match's first group."""

    def read(ran: Ran) -> Array:
        numbers = printed(" ".join(re.findall(pattern, getattr(ran, stream), re.MULTILINE)))
        return numbers if ordered else np.sort(numbers)

    return read


def last_lines(count: int) -> Reader:
    return lambda ran: printed("\n".join(ran.out.strip().splitlines()[-count:]))


def copies(*which: int) -> Reader:
    """Floats of copies to the host, by their place from the last one."""

    def read(ran: Ran) -> Array:
        written, parts = (ran.folder / "copies.bin").read_bytes(), []
        while written:
            end = 8 + int.from_bytes(written[:8], "little")
            parts.append(np.frombuffer(written[8:end], "f4"))
            written = written[end:]
        return np.concatenate([parts[each] for each in which])

    return read


def programs() -> Iterator[Program]:
    """All of them, in the order of their folders."""
    btree = "file ../../data/b+tree/mil.txt command ../../data/b+tree/command.txt"
    yield Program(
        "b+tree", "b+tree", btree,
        Cpu("b+tree", f"cores 1 {btree}", make=(f"C_C={OLD_C}", "OMP_LIB="), binary="b+tree.out"),
        reads=file("output.txt"), make=(f"C_C={OLD_C}",), binary="b+tree.out",
        inputs=lambda: {"../../data/b+tree/mil.txt": data.keys(),
                        "../../data/b+tree/command.txt": b"j 100 60\nk 200\n"},
    )  # fmt: skip
    yield Program(
        "backprop", "backprop", "256",
        Cpu("backprop", "256", files=("backprop.c", "facetrain.c", "imagenet.c", "backprop_kernel.c"), edits=((
            "backprop_kernel.c", "net->input_weights, net->input_prev_weights);\n\n",
            "net->input_weights, net->input_prev_weights);\n"
            '  FILE *file = fopen("weights.txt", "w");\n'
            "  for (int k = 0; k <= in; k++) for (int j = 0; j <= hid; j++)"
            ' fprintf(file, "%.9g\\n", net->input_weights[k][j]);\n'
            "  fclose(file);\n"),), reads=file("weights.txt")),
        reads=copies(-1), make=(f"CC={OLD_C}", f"NVCC_FLAGS=-O2 -include {COPIES}"), binary="backprop",
    )  # fmt: skip
    yield Program(
        "bfs", "bfs", "graph.txt", Cpu("bfs", "1 graph.txt", files=("bfs.cpp",)), reads=file("result.txt"),
        files=("bfs.cu",), inputs=lambda: {"graph.txt": data.graph()}, tolerance=0,
    )  # fmt: skip
    for name in ("euler3d", "euler3d_double", "pre_euler3d", "pre_euler3d_double"):
        single = not name.endswith("double")
        # pre_euler3d_cpu_double.cpp answers NaN: both in double are held against the other, of the same equations
        source = f"{name}_cpu.cpp" if single else "euler3d_cpu_double.cpp"
        yield Program(
            f"cfd {name}", "cfd", "mesh",
            Cpu("cfd", "mesh", files=(source,), options=("-Dblock_length=1",)),
            reads=files("density", "momentum", "density_energy"), files=(f"{name}.cu",),
            options=("-I", "../hybridsort"), inputs=lambda: {"mesh": data.mesh()},
            tolerance=2e-3 if single else 1e-5,
        )  # fmt: skip
    yield Program(
        "dwt2d", "dwt2d", "rgb.bmp -d 192x192 -f -5 -l 3", lambda: data.wavelets(data.colours(), 3),
        reads=octets("rgb.bmp.dwt.r", "rgb.bmp.dwt.g", "rgb.bmp.dwt.b"),
        files=("main.cu", "dwt.cu", "components.cu",
               *(f"dwt_cuda/{each}.cu" for each in ("fdwt53", "fdwt97", "common", "rdwt97", "rdwt53"))),
        options=("-D", "OUTPUT", "-I", "."), inputs=lambda: {"../../data/dwt2d/rgb.bmp": data.colours().tobytes()},
        tolerance=0,
    )  # fmt: skip
    yield Program(
        "gaussian", "gaussian", "-s 48", partial(data.eliminated, 48), reads=copies(-2, -1), files=("gaussian.cu",),
        options=(f"--nvcc=-include={COPIES}",), tolerance=1e-4,
    )  # fmt: skip
    yield Program(
        "heartwall", "heartwall", "heart.avi 3",
        Cpu("heartwall", "heart.avi 3 1", files=("main.c", "AVI/avilib.c", "AVI/avimod.c"),
            options=("-DOUTPUT", "-IAVI")),
        reads=file("result.txt"), files=("main.cu", "AVI/avilib.c", "AVI/avimod.c"),
        options=("-D", "OUTPUT", "-I", "AVI"),
        inputs=lambda: {"heart.avi": data.heart()}, tolerance=0,
        theirs="no barrier between the subtraction and the cumulative sum (kernel.cu:761, 784): --sanitize names both",
    )  # fmt: skip
    yield Program(
        "hotspot", "hotspot", "64 2 6 heat power out",
        Cpu("hotspot", "64 64 6 1 heat power out", files=("hotspot_openmp.cpp",),
            edits=(("hotspot_openmp.cpp", "PRECISION / max_slope / 1000.0", "PRECISION / max_slope"),
                   ("hotspot_openmp.cpp", CHANGED, f"{INNER}{CHANGED}"))),
        reads=file("out"), files=("hotspot.cu",), inputs=partial(plates, 1),
    )  # fmt: skip
    yield Program(
        "hotspot3D", "hotspot3D", "64 8 6 power heat out",
        Cpu("hotspot3D", "64 8 6 power heat out", files=("3D.c",), options=("-include", "omp.h")),
        reads=file("out"), files=("3D.cu",), inputs=partial(plates, 8),
    )  # fmt: skip
    yield Program(
        "huffman", "huffman", "symbols", OwnCheck(r"PASS! vectors are matching"),
        files=("main_test_cu.cu", "stats_logger.cpp", "cpuencode.cpp"), options=("-D", "TESTING"),
        inputs=lambda: {"symbols": data.symbols()},
    )  # fmt: skip
    yield Program(
        "hybridsort", "hybridsort", "list", OwnCheck(r"Checking result\.\.\.PASSED"),
        files=("bucketsort.cu", "mergesort.cu", "main.cu"), options=("-D", "VERIFY"),
        inputs=lambda: {"list": data.column(data.uniform(30_000, 12))},
        headers={"GL/glew.h": b"", "GL/glut.h": b"", "GL/gl.h": b"typedef unsigned int GLuint, GLenum;\n"},
    )  # fmt: skip
    yield Program(
        "kmeans", "kmeans", "-i points -o -m 4 -n 4",
        Cpu("kmeans/kmeans_openmp", "-i points -k 4 -n 1",
            files=("cluster.c", "getopt.c", "kmeans.c", "kmeans_clustering.c"),
            edits=(("kmeans.c", '/*  \tprintf("Cluster', '\tprintf("Cluster'), ("kmeans.c", "    }\n*/", "    }\n"))),
        reads=lines(r"^\d+:((?: [\d.]+)+)"),
        files=("kmeans_cuda.cu", "cluster.c", "getopt.c", "kmeans.c", "kmeans_clustering.c", "rmse.c"),
        inputs=lambda: {"points": data.points()}, tolerance=2e-4,
    )  # fmt: skip
    yield from others()


def plates(layers: int) -> Inputs:
    """Of hotspot and hotspot3D: a plate's heat and power, a line a cell."""
    heat, power = 320 + 10 * data.uniform(4096 * layers, 1), 0.01 * data.uniform(4096 * layers, 2)
    return {"heat": data.column(heat), "power": data.column(power)}


def others() -> Iterator[Program]:
    """From lavaMD on."""
    yield Program(
        "lavaMD", "lavaMD", "-boxes1d 2",
        Cpu("lavaMD", "-cores 1 -boxes1d 2", options=("-DOUTPUT",),
            files=("main.c", "kernel/kernel_cpu.c", "util/num/num.c", "util/timer/timer.c")),
        reads=file("result.txt"), options=("-D", "OUTPUT"), fixed_clock=True,
        files=("main.c", "kernel/kernel_gpu_cuda_wrapper.cu", *(f"util/{each}" for each in
               ("num/num.c", "timer/timer.c", "device/device.cu"))),
    )  # fmt: skip
    yield Program(
        "leukocyte", "leukocyte", "cells.avi 3",
        Cpu("leukocyte", "3 1 cells.avi", make=("-C", "OpenMP", "OUTPUT=Y", f"CC={OLD_C}"), binary="OpenMP/leukocyte"),
        reads=file("result.txt"), make=("-C", "CUDA", "OUTPUT=Y", f"CC={OLD_C}"), binary="CUDA/leukocyte",
        inputs=lambda: {"cells.avi": data.cells()}, tolerance=1e-3,
        theirs="no barrier between the reads of a cell's neighbours and the writes of the pass before "
               "(track_ellipse_kernel.cu:129 and 161): --sanitize names both",
    )  # fmt: skip
    yield Program(
        "lud", "lud/cuda", "-i matrix", lambda: data.factors(data.well_conditioned(64)), reads=copies(-1),
        files=("lud.cu", "lud_kernel.cu", "../common/common.c"),
        options=("-I", "../common", f"--nvcc=-include={COPIES}"),
        inputs=lambda: {"matrix": data.matrix_file(data.well_conditioned(64))},
    )  # fmt: skip
    yield Program(
        "mummergpu", "mummergpu/src", "-l 20 reference.fna reads.fna", SameProgram("-C -l 20 reference.fna reads.fna"),
        reads=lambda ran: printed(ran.out),
        make=(f"CXX={MUMMER}", "BINOBJS=mummergpu_main.o", "LIB=-L../lib -lcuda -lcudart"),
        binary="../bin/mummergpu",
        inputs=lambda: {"reference.fna": data.reference_genome(), "reads.fna": data.reads()}, tolerance=0,
    )  # fmt: skip
    yield Program("myocyte", "myocyte", "", OwnCheck(""), elsewhere="the cell's states and parameters (data/myocyte), "
                  "which are not in git")  # fmt: skip
    yield Program(
        "nn", "nn", "list -r 20 -lat 30 -lng 90",
        Cpu("nn", "list 20 30 90", files=("nn_openmp.c",), reads=lines(r"--> ([\d.]+)", stream="err", ordered=False)),
        reads=lines(r"Distance=([\d.]+)", ordered=False), files=("nn_cuda.cu",),
        inputs=lambda: {"list": b"hurricanes\n", "hurricanes": data.hurricanes()},
    )  # fmt: skip
    yield Program(
        "nw", "nw", "128 10", Cpu("nw", "128 10 1", files=("needle.cpp",)), reads=file("result.txt"),
        files=("needle.cu",), options=("-D", "TRACEBACK"), tolerance=0,
    )  # fmt: skip
    estimates = lines(r"^([XY]E: .*)")
    # pixels that malloc() gives and nobody sets: so large that they are a mapping of their own, of zeros
    for name, size in (("naive", "-x 256 -y 256 -z 4 -np 400"), ("float", "-x 512 -y 512 -z 2 -np 400")):
        yield Program(
            f"particlefilter {name}", "particlefilter", size,
            Cpu("particlefilter", size, files=("ex_particle_OPENMP_seq.c",)), reads=estimates,
            files=(f"ex_particle_CUDA_{name}_seq.cu",), fixed_clock=True,
        )  # fmt: skip
    yield Program(
        "pathfinder", "pathfinder", "1000 40 5", Cpu("pathfinder", "1000 40", files=("pathfinder.cpp",)),
        reads=last_lines(2), files=("pathfinder.cu",), options=("-D", "BENCH_PRINT"), tolerance=0,
    )  # fmt: skip
    yield Program(
        "srad_v1", "srad/srad_v1", "4 0.5 128 128", Cpu("srad/srad_v1", "4 0.5 128 128 1", files=("main.c",)),
        reads=file("image_out.pgm"), files=("main.cu",),
        inputs=lambda: {"../../../data/srad/image.pgm": data.picture()}, tolerance=1,
    )  # fmt: skip
    yield Program(
        "srad_v2", "srad/srad_v2", "64 64 0 31 0 31 0.5 2",
        Cpu("srad/srad_v2", "64 64 0 31 0 31 1 0.5 2", files=("srad.cpp",), options=("-DOUTPUT",)),
        reads=lines(r"^((?:[\d.]+ ){64})"), files=("srad.cu",), options=("-D", "OUTPUT"),
        theirs="srad_cuda_1 reads the row above its first, before the array, and forgets it (srad_kernel.cu:45)",
    )  # fmt: skip
    yield Program(
        "streamcluster", "streamcluster", "3 10 16 1024 1024 100 none output.txt 1",
        Cpu("streamcluster", "3 10 16 1024 1024 100 none output.txt 1", files=("streamcluster_omp.cpp",)),
        reads=file("output.txt"),
        files=("streamcluster_cuda_cpu.cpp", "streamcluster_cuda.cu", "streamcluster_header.cu"),
    )  # fmt: skip
