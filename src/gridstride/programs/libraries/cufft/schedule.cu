// How many passes a length takes, and of which radix each is; what that needs of memory.
#include "schedule.h"

namespace gs_fft {

namespace {

constexpr int MOST_FACTORS = 64;

// One line's elements fit a block's shared memory, with as many roots; where several lines share a block, so that
// sectors are read whole, those of four (two of doubles).
long long most_radix(const Shape& shape, int passes, bool strided) {
  const long long most = passes > 1 || strided ? 1024 : 2048;
  return shape.wide() ? most / 2 : most;
}

// The prime factors up to 7, largest first; 0 where there are others.
int factors_of(long long n, int* factors) {
  int count = 0;
  for (int prime : {7, 5, 3, 2})
    for (; n % prime == 0; n /= prime) factors[count++] = prime;
  return n == 1 ? count : -1;
}

// Each factor goes to the radix that is smallest so far.
bool split(const int* factors, int count, int passes, long long most, int* radix) {
  for (int p = 0; p < passes; ++p) radix[p] = 1;
  for (int f = 0; f < count; ++f) {
    int smallest = 0;
    for (int p = 1; p < passes; ++p)
      if (radix[p] < radix[smallest]) smallest = p;
    if (radix[smallest] * factors[f] > most) return false;
    radix[smallest] *= factors[f];
  }
  return true;
}

bool plan_passes(const Shape& shape, long long n, bool strided, Schedule& s) {
  int factors[MOST_FACTORS], count = factors_of(n, factors);
  for (s.passes = 1; s.passes <= MOST_PASSES; ++s.passes)
    if (split(factors, count, s.passes, most_radix(shape, s.passes, strided), s.radix)) return true;
  return false;
}

// Elements that the passes put aside, and of a convolution its arrays too.
long long work_elements(const Schedule& s, long long lines) {
  long long length = s.chirp ? s.chirp : s.length, all = s.chirp ? lines + 1 : lines;
  long long kept = s.passes == 1 ? 0 : s.passes == 2 ? 1 : 2;
  return (kept + (s.chirp != 0)) * all * length;
}

}  // namespace

bool schedule(Shape& shape) {
  for (int d = 0; d < shape.rank; ++d) {
    Schedule& s = shape.schedule[d];
    int factors[MOST_FACTORS];
    s.length = shape.n[d];
    s.chirp = factors_of(s.length, factors) >= 0 ? 0 : 1;
    while (s.chirp && s.chirp < 2 * s.length - 1) s.chirp *= 2;
    const bool strided = d != shape.rank - 1 || (shape.given && (shape.in.step[d] != 1 || shape.out.step[d] != 1));
    if (!plan_passes(shape, s.chirp ? s.chirp : s.length, strided && !s.chirp, s)) return false;
  }
  return true;
}

size_t work_bytes(const Shape& shape) {
  long long most = 0;
  for (int d = 0; d < shape.rank; ++d) {
    long long elements = work_elements(shape.schedule[d], shape.lines(d));
    if (elements > most) most = elements;
  }
  if (shape.to_real() && shape.rank > 1) most += shape.complex_elements();  // the input is left as it is
  return size_t(most) * (shape.wide() ? sizeof(cufftDoubleComplex) : sizeof(cufftComplex));
}

}  // namespace gs_fft
