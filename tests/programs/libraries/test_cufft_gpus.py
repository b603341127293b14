"""cuFFT on several GPUs against NumPy: whose part is which before and after a transform, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.programs.conftest import Run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
SHAPES = {"a line": (1, 1, 1, 30), "a plane": (1, 1, 6, 10), "a cube": (1, 4, 5, 3), "a batch": (5, 1, 1, 12)}
"""The batch, then up to three dimensions."""
_PROGRAM = r"""
#include <cufftXt.h>
#include <cstdio>
#include <vector>
#define OK(call) do if (const int result = call) return printf("%d: " #call "\n", result), 1; while (0)
using Numbers = std::vector<cufftComplex>;
void print(const char* name, const Numbers& all) {
  printf("%s", name);
  for (auto& each : all) printf(" %.9g %.9g", each.x, each.y);
  printf("\n");
}
void print_parts(const char* name, const cudaLibXtDesc& held) {
  for (int gpu = 0; gpu < held.descriptor->nGPUs; ++gpu) {
    Numbers part(held.descriptor->size[gpu] / sizeof(cufftComplex));
    cudaMemcpy(part.data(), held.descriptor->data[gpu], held.descriptor->size[gpu], cudaMemcpyDefault);
    print(name, part);
  }
}
int main() {
  int gpus[] = {0, 1, 2}, batch, x, y, z;
  while (scanf("%d %d %d %d", &batch, &x, &y, &z) == 4) {
    Numbers numbers(batch * x * y * z), found(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = {float(i * i % 17), float(i % 5)};
    cufftHandle plan;
    size_t bytes[3];
    cudaLibXtDesc *held, *ordered;
    OK(cufftCreate(&plan));
    OK(cufftXtSetGPUs(plan, 3, gpus));
    if (x > 1) OK(cufftMakePlan3d(plan, x, y, z, CUFFT_C2C, bytes));
    else if (y > 1) OK(cufftMakePlan2d(plan, y, z, CUFFT_C2C, bytes));
    else OK(cufftMakePlan1d(plan, z, CUFFT_C2C, batch, bytes));
    OK(cufftXtMalloc(plan, &held, CUFFT_XT_FORMAT_INPLACE));
    OK(cufftXtMalloc(plan, &ordered, CUFFT_XT_FORMAT_INPLACE));
    OK(cufftXtMemcpy(plan, held, numbers.data(), CUFFT_COPY_HOST_TO_DEVICE));
    print_parts("before", *held);
    OK(cufftXtExecDescriptorC2C(plan, held, held, CUFFT_FORWARD));
    print_parts("after", *held);
    OK(cufftXtMemcpy(plan, ordered, held, CUFFT_COPY_DEVICE_TO_DEVICE));
    print_parts("ordered", *ordered);
    OK(cufftXtExecDescriptorC2C(plan, held, held, CUFFT_INVERSE));
    OK(cufftXtMemcpy(plan, found.data(), held, CUFFT_COPY_DEVICE_TO_HOST));
    print("back", found);
    OK(cufftXtFree(held));
    OK(cufftXtFree(ordered));
    OK(cufftDestroy(plan));
  }
}
"""


def _numbers(said: str, name: str) -> list[Any]:
    lines = re.findall(rf"^{name}(.*)$", said, re.MULTILINE)
    return [np.array(line.split(), "f4").view(np.complex64) for line in lines]


@pytest.mark.parametrize("words", [(), ("--sanitize",)])
def test_a_transform_on_several_gpus_is_numpys(program: Run, words: tuple[str, ...]) -> None:
    lines = "\n".join(" ".join(map(str, shape)) for shape in SHAPES.values())
    done = program(_PROGRAM, "--gpus", "3", *words, stdin=lines)
    assert done.returncode == 0, done.stdout + done.stderr
    told = {name: _numbers(done.stdout, name) for name in ("before", "after", "ordered", "back")}
    for number, (name, (batch, *n)) in enumerate(SHAPES.items()):
        i = np.arange(batch * np.prod(n))
        given = (i * i % 17 + 1j * (i % 5)).reshape(batch, *n)
        shape = given.squeeze().shape
        expected = np.fft.fftn(given, axes=(1, 2, 3)).reshape(shape)
        crossed = batch == 1 and len(shape) > 1
        parts = {key: told[key][3 * number : 3 * number + 3] for key in ("before", "after", "ordered")}
        cut = {
            "before": np.array_split(given.reshape(shape), 3), "ordered": np.array_split(expected, 3),
            "after": np.array_split(expected, 3, axis=1 if crossed else 0),
        }  # fmt: skip
        for key, found in parts.items():
            for part, wanted in zip(found, cut[key], strict=True):
                np.testing.assert_allclose(part, wanted.ravel(), atol=2e-3, err_msg=f"{name}, {key}")
        back = told["back"][number] / np.prod(n)
        np.testing.assert_allclose(back, given.ravel(), atol=1e-4, err_msg=name)


_TYPED = r"""
#include <cufftXt.h>
#include <cstdio>
int main() {
  cufftHandle plan, two;
  cufftComplex* x;
  long long n[] = {16}, most = 0;
  int gpus[] = {0, 1}, same[] = {0, 0}, none[] = {0, 7};
  size_t bytes[2];
  cudaLibXtDesc* held;
  cudaMallocManaged(&x, 16 * sizeof(cufftComplex));
  for (int i = 0; i < 16; ++i) x[i] = {i == 1 ? 1.0f : 0.0f, 0};
  int results[] = {
      cufftCreate(&plan),
      cufftXtMakePlanMany(plan, 1, n, nullptr, 1, 1, CUDA_C_16F, nullptr, 1, 1, CUDA_C_16F, 1, bytes, CUDA_C_16F),
      cufftXtMakePlanMany(plan, 1, n, nullptr, 1, 1, CUDA_C_32F, nullptr, 1, 1, CUDA_C_32F, 1, bytes, CUDA_C_32F),
      cufftXtSetGPUs(plan, 2, gpus),  // made already
      cufftXtMalloc(plan, &held, CUFFT_XT_FORMAT_INPLACE),  // of one GPU
      cufftExecC2C(plan, x, x, CUFFT_FORWARD),
      cufftCreate(&two),
      cufftXtSetGPUs(two, 1, gpus),
      cufftXtSetGPUs(two, 2, same),
      cufftXtSetGPUs(two, 2, none),
      cufftXtSetGPUs(two, 2, gpus),
      cufftMakePlan1d(two, 16, CUFFT_R2C, 1, bytes),
      cufftMakePlan1d(two, 16, CUFFT_C2C, 1, bytes),
      cufftExecC2C(two, x, x, CUFFT_FORWARD),
  };
  cudaDeviceSynchronize();
  for (int each : results) printf("%d ", each);
  printf("\n%.6f %.6f\n", x[2].x, x[2].y);
  most = cufftDestroy(plan) + cufftDestroy(two);
  cudaFree(x);
  return int(most);
}
"""


def test_plans_by_the_types_of_their_sides_and_what_is_refused(program: Run) -> None:
    done = program(_TYPED, "--gpus", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    results, second = done.stdout.splitlines()
    # Invalid type; of a made plan and of one GPU; too few GPUs, one twice, one that is not there; reals; of one GPU.
    assert results.split() == ["0", "3", "0", "1", "1", "0", "0", "4", "11", "11", "0", "14", "0", "1"]
    root = np.exp(-2j * np.pi * 2 / 16)
    assert second == f"{root.real:.6f} {root.imag:.6f}"
