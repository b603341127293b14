// What the files of our cuFFT share: how elements lie in memory, and how many passes over them a transform takes.
#pragma once
#include <cufft.h>
#include <cuda_runtime.h>

namespace gs_fft {

constexpr int MOST_DIMENSIONS = 3, MOST_PASSES = 4;

// The lines along one dimension. A pass reads and writes every element once: radix[0] * radix[1] * ... is the length.
struct Schedule {
  long long length;    // of a line
  long long chirp;     // where `length` has a prime factor above 7: the power of two in which it is convolved; else 0
  int passes;          // of `chirp` where that is not 0, else of `length`
  int radix[MOST_PASSES];
};

// Steps in elements: from one to the next along each dimension, and from one transform of the batch to the next.
struct Layout {
  long long step[MOST_DIMENSIONS], batch;
};

// All that a plan says of its transforms.
struct Shape {
  cufftType type;
  int rank;
  long long n[MOST_DIMENSIONS], batch;
  bool given;  // whether the layouts were; else they are the default, which depends on whether a call is in place
  Layout in, out;
  Schedule schedule[MOST_DIMENSIONS];

  bool wide() const { return type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D; }
  bool from_real() const { return type == CUFFT_R2C || type == CUFFT_D2Z; }
  bool to_real() const { return type == CUFFT_C2R || type == CUFFT_Z2D; }
  // Of the complex side, which has half of the last dimension where the other side is real.
  long long complex_count(int d) const {
    return d == rank - 1 && (from_real() || to_real()) ? n[d] / 2 + 1 : n[d];
  }
  long long complex_elements() const {
    long long all = batch;
    for (int d = 0; d < rank; ++d) all *= complex_count(d);
    return all;
  }
  long long lines(int axis) const {
    long long all = batch;
    for (int d = 0; d < rank; ++d)
      if (d != axis) all *= complex_count(d);
    return all;
  }
};

// One element after the other, `count` along each dimension.
inline Layout contiguous(const Shape& shape, long long last) {
  Layout layout{};
  long long step = 1;
  for (int d = shape.rank - 1; d >= 0; --d) {
    layout.step[d] = step;
    step *= d == shape.rank - 1 ? last : shape.n[d];
  }
  layout.batch = step;
  return layout;
}

// Fills in the schedules; false where a length takes too many passes.
bool schedule(Shape& shape);
size_t work_bytes(const Shape& shape);
cufftResult transform(const Shape& shape, const void* in, void* out, void* work, bool inverse, cudaStream_t stream);

}  // namespace gs_fft

#define NEED(condition, result) \
  do { \
    if (!(condition)) return result; \
  } while (0)
