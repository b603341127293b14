// Transforms of all lines along each dimension, by Stockham's algorithm: a pass reads every element once, transforms
// `radix` of them at a time in shared memory, and writes them where the next pass, or the user, expects them; nothing
// is put in order afterwards. An inverse transform is the forward one of conjugates, conjugated.
#include "butterflies.h"
#include "schedule.h"

namespace gs_fft {

constexpr int THREADS = 256, WARP = 32;
constexpr int HELD = 8, MOST_THREADS = 512;  // elements of a pass that a thread holds between two steps
constexpr int MOST_FACTORS = 8;               // of a radix up to 2048, in 2, 3, 4, 5, 7 and 8
constexpr int FEW_ELEMENTS = 1024, MOST_TRANSFORMS = 64;  // of a block whose transforms are short
constexpr int SECTOR = 32;                                // bytes

enum class Form { COMPLEX, REAL, HALF };  // HALF: of a line that is its own conjugate mirrored, the first n / 2 + 1

// One side of a transform, in elements of its form. A line's number counts the first of the other dimensions first.
struct Side {
  void* base;
  Form form;
  long long along, count[2], step[3];
  __device__ long long at(long long line, long long k) const {
    if (line < count[0]) return k * along + line * step[0];
    const long long rest = line / count[0];
    return k * along + line % count[0] * step[0] + rest % count[1] * step[1] + rest / count[1] * step[2];
  }
};

template <class T>
__device__ Complex<T> load(const Side& side, long long line, long long k, long long n, bool inverse) {
  if (side.form == Form::REAL) return {static_cast<const T*>(side.base)[side.at(line, k)], T(0)};
  const bool mirrored = side.form == Form::HALF && k > n / 2;
  const Complex<T> x = static_cast<const Complex<T>*>(side.base)[side.at(line, mirrored ? n - k : k)];
  return mirrored != inverse ? conjugate(x) : x;
}

template <class T>
__device__ void store(const Side& side, long long line, long long k, long long n, bool inverse, Complex<T> x) {
  if (side.form == Form::HALF && k > n / 2) return;
  if (side.form == Form::REAL) {
    static_cast<T*>(side.base)[side.at(line, k)] = x.x;
  } else {
    static_cast<Complex<T>*>(side.base)[side.at(line, k)] = inverse ? conjugate(x) : x;
  }
}

// Number j of a pass is a transform of the elements j + r n / radix of a line; n / radix of them are a line's.
struct Pass {
  Side in, out;
  bool inverse_in, inverse_out;
  long long n, lines;
  long long before;  // the product of the radices of the passes before
  int radix, held;   // a block holds `held` transforms of `radix` elements
  int factors[MOST_FACTORS], count;
  // Whether neighbouring transforms are of neighbouring lines, and whether neighbouring threads read (write) elements
  // of neighbouring transforms: whichever are neighbours in memory.
  bool lines_first, across_in, across_out;
};

// Of a transform: its line, its number in it, that modulo `before`, and which element of the output its first is.
struct Place {
  long long line, j, turn, first;
};

__device__ Place place(const Pass& p, long long number) {
  const long long each = p.n / p.radix;
  Place at = p.lines_first ? Place{number % p.lines, number / p.lines} : Place{number / each, number % each};
  at.turn = at.j % p.before;
  at.first = (at.j - at.turn) * p.radix + at.turn;
  return at;
}

// Where element k of a transform lies in shared memory. After each 128 bytes, one round of the banks, one element is
// left out: steps of a power of two meet in a bank no more.
template <class T>
constexpr int BANKS = 128 / sizeof(Complex<T>);
template <class T>
__host__ __device__ int padded(int k) { return k + k / BANKS<T>; }
template <class T>
__host__ __device__ int row(int radix) { return padded<T>(radix) + 1; }

// One step within shared memory: FACTOR elements at a time, `before` the product of the factors of the steps before.
// `roots` are those of the radix, all of them.
template <int FACTOR, class T>
__device__ void step(Complex<T>* shared, const Complex<T>* roots, const Pass& p, int before) {
  constexpr int MOST = (HELD + FACTOR - 1) / FACTOR;
  const int each = p.radix / FACTOR, all = p.held * each, apart = each / before;
  Complex<T> x[MOST][FACTOR];
#pragma unroll
  for (int h = 0; h < MOST; ++h) {
    const int number = threadIdx.x + h * blockDim.x, i = number % each, turn = i % before * apart;
    if (number >= all) break;
    const Complex<T>* from = shared + number / each * row<T>(p.radix);
#pragma unroll
    for (int t = 0; t < FACTOR; ++t) x[h][t] = from[padded<T>(i + t * each)] * roots[turn * t];
    Butterfly<FACTOR>::apply(x[h]);
  }
  __syncthreads();
#pragma unroll
  for (int h = 0; h < MOST; ++h) {
    const int number = threadIdx.x + h * blockDim.x, i = number % each, turn = i % before;
    if (number >= all) break;
    Complex<T>* to = shared + number / each * row<T>(p.radix);
#pragma unroll
    for (int t = 0; t < FACTOR; ++t) to[padded<T>((i - turn) * FACTOR + turn + t * before)] = x[h][t];
  }
  __syncthreads();
}

template <class T>
__device__ void steps(Complex<T>* shared, const Complex<T>* roots, const Pass& p) {
  int before = 1;
  for (int f = 0; f < p.count; before *= p.factors[f++]) {
    switch (p.factors[f]) {
      case 2: step<2>(shared, roots, p, before); break;
      case 3: step<3>(shared, roots, p, before); break;
      case 4: step<4>(shared, roots, p, before); break;
      case 5: step<5>(shared, roots, p, before); break;
      case 7: step<7>(shared, roots, p, before); break;
      default: step<8>(shared, roots, p, before);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(MOST_THREADS) fft_pass(Pass p) {
  __shared__ Place places[MOST_TRANSFORMS];
  extern __shared__ double2 memory[];
  Complex<T>*roots = reinterpret_cast<Complex<T>*>(memory), *shared = roots + p.radix;
  const long long each = p.n / p.radix, first = (long long)blockIdx.x * p.held, left = p.lines * each - first;
  const int held = left < p.held ? left : p.held, elements = held * p.radix;
  p.held = held;
  for (int t = threadIdx.x; t < held; t += blockDim.x) places[t] = place(p, first + t);
  for (int k = threadIdx.x; k < p.radix; k += blockDim.x) roots[k] = root<T>(k, p.radix);
  __syncthreads();
  for (int e = threadIdx.x; e < elements; e += blockDim.x) {
    const int t = p.across_in ? e % held : e / p.radix, r = p.across_in ? e / held : e % p.radix;
    const Place at = places[t];
    Complex<T> x = load<T>(p.in, at.line, at.j + r * each, p.n, p.inverse_in);
    if (p.before > 1) x = x * root<T>(at.turn * r, p.before * p.radix);
    shared[t * row<T>(p.radix) + padded<T>(r)] = x;
  }
  __syncthreads();
  steps(shared, roots, p);
  for (int e = threadIdx.x; e < elements; e += blockDim.x) {
    const int t = p.across_out ? e % held : e / p.radix, r = p.across_out ? e / held : e % p.radix;
    const Place at = places[t];
    store(p.out, at.line, at.first + r * p.before, p.n, p.inverse_out, shared[t * row<T>(p.radix) + padded<T>(r)]);
  }
}

// -- lengths with a prime factor above 7, by Bluestein's convolution -------------------------------------------------
// exp(-pi i k^2 / n)
template <class T>
__device__ Complex<T> chirp(long long k, long long n) {
  return root<T>((unsigned long long)k * k % (2 * n), 2 * n);
}

// Each line, multiplied by the chirp, and zeros up to the length of the convolution. One line more holds what they are
// convolved with, the conjugate chirp of both signs.
template <class T>
__global__ void __launch_bounds__(THREADS) chirp_spread(Side in, Complex<T>* to, long long lines, long long n,
                                                        long long length, bool inverse) {
  const long long all = (lines + 1) * length;
  for (long long e = blockIdx.x * (long long)THREADS + threadIdx.x; e < all; e += (long long)gridDim.x * THREADS) {
    const long long line = e / length, j = e % length, back = j < length - j ? j : length - j;
    Complex<T> x = {T(0), T(0)};
    if (line < lines && j < n) x = load<T>(in, line, j, n, inverse) * chirp<T>(j, n);
    if (line == lines && back < n) x = conjugate(chirp<T>(back, n));
    to[e] = x;
  }
}

// Products of the transforms, conjugated, so that another forward transform is the inverse one.
template <class T>
__global__ void __launch_bounds__(THREADS) chirp_multiply(Complex<T>* x, long long lines, long long length) {
  const Complex<T>* by = x + lines * length;
  for (long long e = blockIdx.x * (long long)THREADS + threadIdx.x; e < lines * length;
       e += (long long)gridDim.x * THREADS)
    x[e] = conjugate(x[e] * by[e % length]);
}

template <class T>
__global__ void __launch_bounds__(THREADS) chirp_gather(const Complex<T>* from, Side out, long long lines, long long n,
                                                        long long length, bool inverse) {
  const long long all = lines * n;
  for (long long e = blockIdx.x * (long long)THREADS + threadIdx.x; e < all; e += (long long)gridDim.x * THREADS) {
    const long long line = e / n, k = e % n;
    const Complex<T> sum = conjugate(from[line * length + k]), scaled = {sum.x / T(length), sum.y / T(length)};
    store(out, line, k, n, inverse, scaled * chirp<T>(k, n));
  }
}

// -- on the host -----------------------------------------------------------------------------------------------------
namespace {

// A radix in steps: of its twos as many eights as leave no two over.
void set_factors(Pass& p) {
  int rest = p.radix, twos = 0;
  for (; rest % 2 == 0; rest /= 2) ++twos;
  p.count = 0;
  for (; twos > 0; ++p.count) {
    const int taken = twos == 1 ? 1 : twos == 2 || twos == 4 ? 2 : 3;
    p.factors[p.count] = 1 << taken;
    twos -= taken;
  }
  for (int odd : {3, 5, 7})
    for (; rest % odd == 0; rest /= odd) p.factors[p.count++] = odd;
}

cufftResult launched() { return cudaPeekAtLastError() == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED; }

template <class T>
cufftResult launch(Pass p, cudaStream_t stream) {
  const long long all = p.lines * (p.n / p.radix);
  const int sector = p.across_in || p.across_out ? SECTOR / sizeof(Complex<T>) : 1;
  const int short_ones = FEW_ELEMENTS / p.radix < MOST_TRANSFORMS ? FEW_ELEMENTS / p.radix : MOST_TRANSFORMS;
  const int wanted = short_ones > sector ? short_ones : sector;
  p.held = all < wanted ? all : wanted;
  set_factors(p);
  const int threads = (p.held * p.radix + HELD * WARP - 1) / (HELD * WARP) * WARP;
  const size_t bytes = (p.radix + p.held * row<T>(p.radix)) * sizeof(Complex<T>);
  const long long blocks = (all + p.held - 1) / p.held;
  fft_pass<T><<<unsigned(blocks), threads, bytes, stream>>>(p);
  return launched();
}

// All lines along one dimension, one side's and the other's; `work` holds what the schedule says.
struct Lines {
  Side in, out;
  long long count;
  bool inverse;
  cudaStream_t stream;
};

template <class T>
cufftResult run_passes(const Schedule& s, const Lines& lines, long long n, Complex<T>* work) {
  Pass p{};
  p.n = n, p.lines = lines.count, p.before = 1;
  p.lines_first = lines.in.along != 1;
  Side between{nullptr, Form::COMPLEX, 1, {lines.count, 1}, {n, 0, 0}};
  if (p.lines_first) between.along = lines.count, between.step[0] = 1;
  for (int pass = 0; pass < s.passes; ++pass) {
    const bool first = pass == 0, last = pass == s.passes - 1;
    Side into = between, from = between;
    into.base = work + pass % 2 * lines.count * n;
    from.base = work + (pass + 1) % 2 * lines.count * n;
    p.in = first ? lines.in : from;
    p.out = last ? lines.out : into;
    p.inverse_in = first && lines.inverse;
    p.inverse_out = last && lines.inverse;
    p.radix = s.radix[pass];
    p.across_in = s.passes > 1 || p.lines_first;
    p.across_out = first && p.out.along == 1 ? false : s.passes > 1 || p.out.along != 1;
    const cufftResult result = launch<T>(p, lines.stream);
    if (result != CUFFT_SUCCESS) return result;
    p.before *= p.radix;
  }
  return CUFFT_SUCCESS;
}

unsigned blocks_for(long long n) {
  const long long needed = (n + THREADS - 1) / THREADS, most = 1 << 16;
  return unsigned(needed < most ? needed : most);
}

template <class T>
cufftResult run_chirp(const Schedule& s, const Lines& lines, Complex<T>* work) {
  const long long length = s.chirp, n = s.length, count = lines.count;
  const unsigned blocks = blocks_for((count + 1) * length);
  chirp_spread<T><<<blocks, THREADS, 0, lines.stream>>>(lines.in, work, count, n, length, lines.inverse);
  NEED(launched() == CUFFT_SUCCESS, CUFFT_EXEC_FAILED);
  Side own{work, Form::COMPLEX, 1, {count + 1, 1}, {length, 0, 0}};
  Complex<T>* rest = work + (count + 1) * length;
  const cufftResult there = run_passes(s, {own, own, count + 1, false, lines.stream}, length, rest);
  NEED(there == CUFFT_SUCCESS, there);
  chirp_multiply<T><<<blocks, THREADS, 0, lines.stream>>>(work, count, length);
  NEED(launched() == CUFFT_SUCCESS, CUFFT_EXEC_FAILED);
  const cufftResult back = run_passes(s, {own, own, count, false, lines.stream}, length, rest);
  NEED(back == CUFFT_SUCCESS, back);
  chirp_gather<T><<<blocks, THREADS, 0, lines.stream>>>(work, lines.out, count, n, length, lines.inverse);
  return launched();
}

Side side(const Shape& shape, int axis, const Layout& layout, const void* base, Form form) {
  Side s{const_cast<void*>(base), form, layout.step[axis], {1, 1}, {0, 0, layout.batch}};
  int others = 0;
  for (int d = shape.rank - 1; d >= 0; --d) {
    if (d == axis) continue;
    s.count[others] = shape.complex_count(d);
    s.step[others++] = layout.step[d];
  }
  return s;
}

template <class T>
cufftResult run(const Shape& shape, int axis, Side in, Side out, Complex<T>* work, bool inverse, cudaStream_t stream) {
  const Schedule& s = shape.schedule[axis];
  const Lines lines{in, out, shape.lines(axis), inverse, stream};
  return s.chirp ? run_chirp(s, lines, work) : run_passes(s, lines, s.length, work);
}

// Of reals a line in place is as long as the half of its transform, padding and all.
Layout layout_of(const Shape& shape, bool input, bool in_place) {
  if (shape.given) return input ? shape.in : shape.out;
  const int last = shape.rank - 1;
  const bool real = input ? shape.from_real() : shape.to_real();
  if (!real) return contiguous(shape, shape.complex_count(last));
  return contiguous(shape, in_place ? 2 * shape.complex_count(last) : shape.n[last]);
}

// The last dimension first: after it all is complex, and in the output.
template <class T>
cufftResult forwards(const Shape& shape, const void* in, void* out, Complex<T>* work, bool inverse,
                     cudaStream_t stream) {
  const Layout from = layout_of(shape, true, in == out), to = layout_of(shape, false, in == out);
  const Form read = shape.from_real() ? Form::REAL : Form::COMPLEX;
  const Form written = shape.from_real() ? Form::HALF : Form::COMPLEX;
  const int last = shape.rank - 1;
  cufftResult result = run(shape, last, side(shape, last, from, in, read), side(shape, last, to, out, written), work,
                           inverse, stream);
  for (int axis = last - 1; axis >= 0 && result == CUFFT_SUCCESS; --axis) {
    const Side own = side(shape, axis, to, out, Form::COMPLEX);
    result = run(shape, axis, own, own, work, inverse, stream);
  }
  return result;
}

// To reals the last dimension last: what is between lies at the front of the work area.
template <class T>
cufftResult backwards(const Shape& shape, const void* in, void* out, Complex<T>* work, cudaStream_t stream) {
  const int last = shape.rank - 1;
  const Layout between = contiguous(shape, shape.complex_count(last));
  Layout from = layout_of(shape, true, in == out);
  const void* now = in;
  Complex<T>* aside = work;
  if (last > 0) work += shape.complex_elements();
  for (int axis = 0; axis < last; ++axis) {
    const cufftResult result = run(shape, axis, side(shape, axis, from, now, Form::COMPLEX),
                                   side(shape, axis, between, aside, Form::COMPLEX), work, true, stream);
    NEED(result == CUFFT_SUCCESS, result);
    from = between, now = aside;
  }
  return run(shape, last, side(shape, last, from, now, Form::HALF),
             side(shape, last, layout_of(shape, false, in == out), out, Form::REAL), work, true, stream);
}

template <class T>
cufftResult typed(const Shape& shape, const void* in, void* out, void* work, bool inverse, cudaStream_t stream) {
  Complex<T>* area = static_cast<Complex<T>*>(work);
  return shape.to_real() ? backwards(shape, in, out, area, stream) : forwards(shape, in, out, area, inverse, stream);
}

}  // namespace

cufftResult transform(const Shape& shape, const void* in, void* out, void* work, bool inverse, cudaStream_t stream) {
  return shape.wide() ? typed<double>(shape, in, out, work, inverse, stream)
                      : typed<float>(shape, in, out, work, inverse, stream);
}

}  // namespace gs_fft
