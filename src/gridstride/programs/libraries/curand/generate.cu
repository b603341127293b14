// cuRAND's calls: what a generator is set to, and the kernels that write its numbers.
//
// A number's place in the output says which thread makes it: XORWOW and MRG32k3a go round all threads, one turn each (two
// numbers a turn where they are normal), Philox four numbers at a time, Sobol one dimension behind the other. All of it
// as an H200 gives it (tests/programs/libraries/curand_h200.npz).
#include <algorithm>
#include <cstdio>
#include <new>
#include <vector>

#include "../objects.h"
#include "engines.h"

namespace gs_rand {
namespace {

constexpr unsigned ALIVE = 0x52414e44;
constexpr int BLOCK = 256;

bool alive(curandGenerator_t g) { return g != nullptr && g->alive == ALIVE; }
bool quasi(curandGenerator_t g) { return g->type == CURAND_RNG_QUASI_SOBOL32; }

// -- what is drawn: `width` numbers of `Out` from one turn of an engine ------------------------------------------------
struct Bits {
  using Out = unsigned;
  static constexpr int width = 1, words = 1;
  template <class Engine>
  __device__ void turn(Engine& e, Out* out) const { out[0] = e.bits(); }
  __device__ void of(const unsigned* x, Out* out) const { out[0] = x[0]; }
  __device__ Out point(unsigned x) const { return x; }
};

struct Uniform {
  using Out = float;
  static constexpr int width = 1, words = 1;
  template <class Engine>
  __device__ void turn(Engine& e, Out* out) const { out[0] = e.uniform(); }
  __device__ void of(const unsigned* x, Out* out) const { out[0] = unit(x[0]); }
  __device__ Out point(unsigned x) const { return unit(x); }
};

struct UniformDouble {
  using Out = double;
  static constexpr int width = 1, words = 2;
  template <class Engine>
  __device__ void turn(Engine& e, Out* out) const { out[0] = e.uniform_double(); }
  __device__ void of(const unsigned* x, Out* out) const { out[0] = unit(x[0], x[1]); }
  __device__ Out point(unsigned x) const { return (x + 1.0) * 2.3283064365386963e-10; }
};

template <class T, bool LOG>
struct Normal {
  using Out = T;
  static constexpr int width = 2, words = sizeof(T) == 4 ? 2 : 4;
  T mean, stddev;
  __device__ T shaped(T x) const {
    const T y = mean + stddev * x;
    return LOG ? exp(y) : y;
  }
  __device__ void put(Two<T> x, Out* out) const { out[0] = shaped(x.first), out[1] = shaped(x.second); }
  template <class Engine>
  __device__ void turn(Engine& e, Out* out) const {
    if constexpr (sizeof(T) == 4)
      put(e.normal(), out);
    else
      put(e.normal_double(), out);
  }
  __device__ void of(const unsigned* x, Out* out) const {
    if constexpr (sizeof(T) == 4)
      put(normals(unit(x[0]), x[1] * TURN + TURN / 2), out);
    else
      put(normals(unit(x[0], x[1]), 2 * unit(x[2], x[3])), out);
  }
  __device__ Out point(unsigned x) const {
    if constexpr (sizeof(T) == 4)
      return shaped(normcdfinvf(unit(x)));
    else
      return shaped(normcdfinv((x + 0.5) * 2.3283064365386963e-10));
  }
};

// -- kernels -----------------------------------------------------------------------------------------------------------
template <class Engine, class Draw>
__global__ void by_threads(Engine* states, unsigned threads, unsigned first, size_t turns, Draw draw,
                           typename Draw::Out* out) {
  const size_t j = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (j >= threads || j >= turns) return;
  const unsigned k = unsigned((first + j) % threads);
  Engine e = states[k];
  for (size_t i = j; i < turns; i += threads) draw.turn(e, out + i * Draw::width);
  states[k] = e;
}

template <class Engine>
__global__ void skip(Engine* states, unsigned threads, unsigned long long numbers) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= threads || k >= numbers) return;
  for (unsigned long long i = k; i < numbers; i += threads) states[k].bits();
}

// Numbers that take one or two 32-bit ones lie as those do; doubles take two rounds of a thread for its four.
template <class Draw>
__global__ void by_counter(unsigned long long position, unsigned long long seed, size_t turns, Draw draw,
                           typename Draw::Out* out) {
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= turns) return;
  unsigned long long round, thread;
  unsigned lane;
  if constexpr (sizeof(typename Draw::Out) == 4) {
    const unsigned long long at = position + i * Draw::words, four = at / 4;
    round = four / PHILOX_THREADS, thread = four % PHILOX_THREADS, lane = at % 4;
  } else {
    const unsigned long long at = i * Draw::width, four = at / 4;
    round = position / (4ull * PHILOX_THREADS) + 2 * (four / PHILOX_THREADS) + at % 4 / 2;
    thread = four % PHILOX_THREADS, lane = Draw::words == 4 ? 0 : 2 * (at % 2);
  }
  const Four x = philox(round, thread, seed);
  draw.of(x.x + lane, out + i * Draw::width);
}

struct Table {
  Directions<unsigned> v[DIMENSIONS];
};
__constant__ Table table;

template <class Draw>
__global__ void by_points(unsigned long long position, size_t points, size_t n, Draw draw, typename Draw::Out* out) {
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const unsigned s = unsigned(position + i % points), gray = s ^ (s >> 1);
  unsigned x = 0;
  for (int k = 0; k < 32; ++k)
    if (gray >> k & 1) x ^= table.v[i / points][k];
  out[i] = draw.point(x);
}

unsigned blocks(size_t threads) { return unsigned((threads + BLOCK - 1) / BLOCK); }

curandStatus_t launched() {
  return cudaPeekAtLastError() == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}

template <class Engine>
curandStatus_t seeded(curandGenerator_t g, unsigned threads) {
  g->threads = threads;
  std::vector<Engine> made(g->threads);
  begin(made.data(), g->threads, g->seed);
  const size_t bytes = g->threads * sizeof(Engine);
  if (g->states != nullptr) cudaFree(g->states);
  g->states = nullptr;
  if (cudaMalloc(&g->states, bytes) != cudaSuccess) return CURAND_STATUS_ALLOCATION_FAILED;
  if (cudaMemcpyAsync(g->states, made.data(), bytes, cudaMemcpyHostToDevice, g->stream) != cudaSuccess ||
      cudaStreamSynchronize(g->stream) != cudaSuccess)
    return CURAND_STATUS_PREEXISTING_FAILURE;
  if (g->offset != 0)
    skip<<<blocks(g->threads), BLOCK, 0, g->stream>>>((Engine*)g->states, g->threads, g->offset);
  return launched();
}

curandStatus_t prepared(curandGenerator_t g) {
  if (g->ready) return CURAND_STATUS_SUCCESS;
  curandStatus_t status = CURAND_STATUS_SUCCESS;
  if (quasi(g))
    status = cudaMemcpyToSymbol(table, directions<unsigned>(), sizeof(Table)) == cudaSuccess ? CURAND_STATUS_SUCCESS
                                                                                    : CURAND_STATUS_PREEXISTING_FAILURE;
  else if (g->type == CURAND_RNG_PSEUDO_MRG32K3A)
    status = seeded<Mrg>(g, g->order == CURAND_ORDERING_PSEUDO_LEGACY ? LEGACY_THREADS : MRG_THREADS);
  else if (g->type == CURAND_RNG_PSEUDO_XORWOW)
    status = seeded<Xorwow>(g, XORWOW_THREADS);
  g->position = g->offset;
  g->ready = status == CURAND_STATUS_SUCCESS;
  return status;
}

template <class Draw>
curandStatus_t on_device(curandGenerator_t g, typename Draw::Out* out, size_t n, Draw draw) {
  const size_t turns = n / Draw::width;
  if (quasi(g)) {
    const size_t points = n / g->dimensions;
    by_points<<<blocks(n), BLOCK, 0, g->stream>>>(g->position, points, n, draw, out);
    g->position += points;
  } else if (g->type == CURAND_RNG_PSEUDO_PHILOX4_32_10) {
    constexpr unsigned long long ROUND = 4ull * PHILOX_THREADS;
    const bool whole = sizeof(typename Draw::Out) == 8;  // doubles begin with a round of their own
    if (whole) g->position = (g->position + ROUND - 1) / ROUND * ROUND;
    if (!whole && Draw::width == 2) g->position += g->position % 2;
    by_counter<<<blocks(turns), BLOCK, 0, g->stream>>>(g->position, g->seed, turns, draw, out);
    g->position += whole ? 2 * ((n + ROUND - 1) / ROUND) * ROUND : turns * Draw::words;
  } else {
    const unsigned first = unsigned(g->position % g->threads);
    const unsigned grid = blocks(std::min<size_t>(turns, g->threads));
    if (g->type == CURAND_RNG_PSEUDO_MRG32K3A)
      by_threads<<<grid, BLOCK, 0, g->stream>>>((Mrg*)g->states, g->threads, first, turns, draw, out);
    else
      by_threads<<<grid, BLOCK, 0, g->stream>>>((Xorwow*)g->states, g->threads, first, turns, draw, out);
    g->position += turns;
  }
  return launched();
}

template <class Draw>
curandStatus_t generate(curandGenerator_t g, typename Draw::Out* out, size_t n, Draw draw) {
  if (!alive(g)) return CURAND_STATUS_NOT_INITIALIZED;
  const size_t multiple = quasi(g) ? g->dimensions : Draw::width;
  if (n % multiple) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  const curandStatus_t status = prepared(g);
  if (status != CURAND_STATUS_SUCCESS || n == 0) return status;
  if (!g->on_host) return on_device(g, out, n, draw);
  typename Draw::Out* there;
  if (cudaMalloc(&there, n * sizeof *there) != cudaSuccess) return CURAND_STATUS_ALLOCATION_FAILED;
  curandStatus_t done = on_device(g, there, n, draw);
  if (cudaMemcpyAsync(out, there, n * sizeof *there, cudaMemcpyDeviceToHost, g->stream) != cudaSuccess ||
      cudaStreamSynchronize(g->stream) != cudaSuccess)
    done = CURAND_STATUS_LAUNCH_FAILURE;
  cudaFree(there);
  return done;
}

curandStatus_t create(curandGenerator_t* made, curandRngType_t type, bool on_host) {
  if (made == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (type == CURAND_RNG_PSEUDO_DEFAULT) type = CURAND_RNG_PSEUDO_XORWOW;
  if (type == CURAND_RNG_QUASI_DEFAULT) type = CURAND_RNG_QUASI_SOBOL32;
  switch (type) {
    case CURAND_RNG_PSEUDO_XORWOW:
    case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
    case CURAND_RNG_QUASI_SOBOL32:
      break;
    default:
      fprintf(stderr, "gridstride: its own cuRAND has XORWOW, MRG32k3a, Philox4x32-10 and 32-bit Sobol generators, and "
                      "not number %d of curandRngType\n", int(type));
      return CURAND_STATUS_TYPE_ERROR;
  }
  *made = new (std::nothrow) curandGenerator_st{ALIVE, type, on_host, nullptr, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0, 1,
                                                false, 0, 0, nullptr};
  if (*made == nullptr) return CURAND_STATUS_ALLOCATION_FAILED;
  gs_object(GS_OBJECT_RANDOM, 1);
  return CURAND_STATUS_SUCCESS;
}

}  // namespace
}  // namespace gs_rand

#define ALIVE_OR_NOT(g) \
  if (!gs_rand::alive(g)) return CURAND_STATUS_NOT_INITIALIZED

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return gs_rand::create(generator, type, false);
}

curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return gs_rand::create(generator, type, true);
}

// The block itself stays, so that a second use gets a status and no crash.
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  ALIVE_OR_NOT(generator);
  if (generator->states != nullptr) cudaFree(generator->states);
  *generator = {};
  gs_object(GS_OBJECT_RANDOM, -1);
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetVersion(int* version) {
  if (version == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CURAND_STATUS_OUT_OF_RANGE;
  *value = type == MAJOR_VERSION ? CURAND_VER_MAJOR : type == MINOR_VERSION ? CURAND_VER_MINOR : CURAND_VER_PATCH;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  ALIVE_OR_NOT(generator);
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  ALIVE_OR_NOT(generator);
  if (gs_rand::quasi(generator)) return CURAND_STATUS_TYPE_ERROR;
  generator->seed = seed;
  generator->ready = false;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  ALIVE_OR_NOT(generator);
  generator->offset = offset;
  generator->ready = false;
  return CURAND_STATUS_SUCCESS;
}

// XORWOW and Philox have one order under these names; MRG32k3a has another as LEGACY.
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  ALIVE_OR_NOT(generator);
  const bool known = gs_rand::quasi(generator) ? order == CURAND_ORDERING_QUASI_DEFAULT
                                               : order == CURAND_ORDERING_PSEUDO_BEST ||
                                                     order == CURAND_ORDERING_PSEUDO_DEFAULT ||
                                                     order == CURAND_ORDERING_PSEUDO_LEGACY;
  if (!known) return CURAND_STATUS_OUT_OF_RANGE;
  generator->order = order;
  generator->ready = false;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned int dimensions) {
  ALIVE_OR_NOT(generator);
  if (!gs_rand::quasi(generator)) return CURAND_STATUS_TYPE_ERROR;
  if (dimensions < 1 || dimensions > 20000) return CURAND_STATUS_OUT_OF_RANGE;
  if (dimensions > gs_rand::DIMENSIONS) {
    fprintf(stderr, "gridstride: its own cuRAND has %u dimensions of Sobol's sequence, not %u\n", gs_rand::DIMENSIONS,
            dimensions);
    return CURAND_STATUS_OUT_OF_RANGE;
  }
  generator->dimensions = dimensions;
  generator->ready = false;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  ALIVE_OR_NOT(generator);
  return gs_rand::prepared(generator);
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* output, size_t n) {
  return gs_rand::generate(generator, output, n, gs_rand::Bits{});
}

curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* output, size_t n) {
  return gs_rand::generate(generator, output, n, gs_rand::Uniform{});
}

curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* output, size_t n) {
  return gs_rand::generate(generator, output, n, gs_rand::UniformDouble{});
}

curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* output, size_t n, float mean, float stddev) {
  return gs_rand::generate(generator, output, n, gs_rand::Normal<float, false>{mean, stddev});
}

curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* output, size_t n, double mean,
                                          double stddev) {
  return gs_rand::generate(generator, output, n, gs_rand::Normal<double, false>{mean, stddev});
}

curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* output, size_t n, float mean, float stddev) {
  return gs_rand::generate(generator, output, n, gs_rand::Normal<float, true>{mean, stddev});
}

curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* output, size_t n, double mean,
                                             double stddev) {
  return gs_rand::generate(generator, output, n, gs_rand::Normal<double, true>{mean, stddev});
}

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t* vectors[], curandDirectionVectorSet_t set) {
  if (vectors == nullptr || set != CURAND_DIRECTION_VECTORS_32_JOEKUO6) return CURAND_STATUS_OUT_OF_RANGE;
  *vectors = gs_rand::directions<unsigned>();
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t* vectors[], curandDirectionVectorSet_t set) {
  if (vectors == nullptr || set != CURAND_DIRECTION_VECTORS_64_JOEKUO6) return CURAND_STATUS_OUT_OF_RANGE;
  *vectors = gs_rand::directions<unsigned long long>();
  return CURAND_STATUS_SUCCESS;
}

}  // extern "C"
