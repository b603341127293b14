// The generators: what a thread keeps, how it begins, and its numbers in each form.
#pragma once
#include <curand.h>

namespace gs_rand {

constexpr float UNIT = 2.3283064e-10f;  // 2^-32
constexpr float TURN = 2.3283064e-10f * 6.2831855f;

// (0, 1], as the documentation has it.
__device__ inline float unit(unsigned x) { return x * UNIT + UNIT / 2; }

__device__ inline double unit(unsigned low, unsigned high) {
  return ((unsigned long long)low ^ ((unsigned long long)high << 21)) * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}

template <class T>
struct Two {
  T first, second;
};

// Box and Muller's: two normal numbers of a number in (0, 1] and an angle, in radians or, as a double, in turns of pi.
__device__ inline Two<float> normals(float u, float angle) {
  const float length = sqrtf(-2.0f * logf(u));
  return {length * sinf(angle), length * cosf(angle)};
}

__device__ inline Two<double> normals(double u, double angle) {
  const double length = sqrt(-2.0 * log(u));
  return {length * sinpi(angle), length * cospi(angle)};
}

// Marsaglia's xorshift with a Weyl sequence (Xorshift RNGs, 2003); threads are 2^67 steps apart.
struct Xorwow {
  unsigned v[5], d;

  __device__ unsigned bits() {
    const unsigned t = v[0] ^ (v[0] >> 2);
    for (int i = 0; i < 4; ++i) v[i] = v[i + 1];
    v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
    d += 362437;
    return v[4] + d;
  }
  __device__ float uniform() { return unit(bits()); }
  __device__ double uniform_double() {
    const unsigned low = bits();
    return unit(low, bits());
  }
  __device__ Two<float> normal() {
    const float u = uniform();
    return normals(u, bits() * TURN + TURN / 2);
  }
  __device__ Two<double> normal_double() {
    const double u = uniform_double();
    return normals(u, 2 * uniform_double());
  }
};

// L'Ecuyer's combined generator (Good Parameters and Implementations for Combined MRGs, 1999); threads are 2^76 apart.
struct Mrg {
  static constexpr unsigned long long M1 = 4294967087ull, M2 = 4294944443ull;
  unsigned a[3], b[3];

  __device__ unsigned next() {
    const unsigned long long p = (1403580ull * a[1] + 810728ull * (M1 - a[0])) % M1;
    const unsigned long long q = (527612ull * b[2] + 1370589ull * (M2 - b[0])) % M2;
    a[0] = a[1], a[1] = a[2], a[2] = unsigned(p);
    b[0] = b[1], b[1] = b[2], b[2] = unsigned(q);
    return unsigned(p > q ? p - q : p + M1 - q);
  }
  __device__ unsigned bits() { return unsigned(next() * 1.000000048662); }
  __device__ double uniform_double() { return next() * 2.3283065498378288e-10; }
  __device__ float uniform() { return float(uniform_double()); }
  __device__ Two<float> normal() {
    const float u = uniform();
    return normals(u, uniform() * 6.2831855f);
  }
  __device__ Two<double> normal_double() {
    const double u = uniform_double();
    return normals(u, 2 * uniform_double());
  }
};

// Salmon and others' counter (Parallel Random Numbers: As Easy as 1, 2, 3, 2011): four numbers a thread and round.
struct Four {
  unsigned x[4];
};

__device__ inline Four philox(unsigned long long round, unsigned long long thread, unsigned long long seed) {
  unsigned c[4] = {unsigned(round), unsigned(round >> 32), unsigned(thread), unsigned(thread >> 32)};
  unsigned k0 = unsigned(seed), k1 = unsigned(seed >> 32);
  for (int i = 0; i < 10; ++i) {
    const unsigned long long p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
    c[0] = unsigned(q >> 32) ^ c[1] ^ k0, c[1] = unsigned(q);
    c[2] = unsigned(p >> 32) ^ c[3] ^ k1, c[3] = unsigned(p);
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

constexpr unsigned XORWOW_THREADS = 4096, MRG_THREADS = 81920, LEGACY_THREADS = 4096, PHILOX_THREADS = 65536;

// What the first threads begin with, for a seed.
void begin(Xorwow* states, unsigned threads, unsigned long long seed);
void begin(Mrg* states, unsigned threads, unsigned long long seed);

constexpr unsigned DIMENSIONS = 64;
// Sobol's direction numbers, of 32 or 64 bits.
template <typename Word>
using Directions = Word[8 * sizeof(Word)];
template <typename Word>
Directions<Word>* directions();

}  // namespace gs_rand

struct curandGenerator_st {
  unsigned alive;
  curandRngType_t type;
  bool on_host;
  cudaStream_t stream;
  curandOrdering_t order;
  unsigned long long seed, offset;
  unsigned dimensions;
  bool ready;                   // the states lie in device memory, behind `offset` numbers
  unsigned long long position;  // of threads' turns, of Philox's 32-bit numbers, or of points
  unsigned threads;
  void* states;
};
