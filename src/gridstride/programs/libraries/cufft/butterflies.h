// Complex numbers, roots of unity, and transforms of 2, 3, 4, 5, 7 and 8 elements in registers.
#pragma once

namespace gs_fft {

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T x, y;
};

template <class T>
__device__ Complex<T> operator+(Complex<T> a, Complex<T> b) { return {a.x + b.x, a.y + b.y}; }
template <class T>
__device__ Complex<T> operator-(Complex<T> a, Complex<T> b) { return {a.x - b.x, a.y - b.y}; }
template <class T>
__device__ Complex<T> operator*(Complex<T> a, Complex<T> b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
template <class T>
__device__ Complex<T> conjugate(Complex<T> a) { return {a.x, -a.y}; }
template <class T>
__device__ Complex<T> times_minus_i(Complex<T> a) { return {a.y, -a.x}; }

__device__ inline void sine_cosine_of_pi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
__device__ inline void sine_cosine_of_pi(double x, double* sine, double* cosine) { sincospi(x, sine, cosine); }

// exp(-2 pi i k / n)
template <class T>
__device__ Complex<T> root(long long k, long long n) {
  // A float holds no whole number above 2^24 exactly.
  const T turns = n <= 1 << 24 ? T(k) / T(n) : T(double(k) / double(n));
  Complex<T> w;
  sine_cosine_of_pi(T(-2) * turns, &w.y, &w.x);
  return w;
}

template <int N>
__device__ constexpr double cosine(int k) {
  constexpr double three[] = {1, -0.5, -0.5};
  constexpr double five[] = {1, 0.30901699437494742410, -0.80901699437494742410};
  constexpr double seven[] = {1, 0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624};
  return N == 3 ? three[k] : N == 5 ? five[k % 3] : seven[k % 4];
}

template <int N>
__device__ constexpr double sine(int k) {
  constexpr double three[] = {0, 0.86602540378443864676};
  constexpr double five[] = {0, 0.95105651629515357212, 0.58778525229247312917};
  constexpr double seven[] = {0, 0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048};
  return N == 3 ? three[k % 2] : N == 5 ? five[k % 3] : seven[k % 4];
}

// N = 3, 5 or 7: what is even in x[t] and x[N - t] takes the cosines, what is odd the sines.
template <int N>
struct Butterfly {
  template <class T>
  __device__ static void apply(Complex<T>* x) {
    Complex<T> even[N / 2], odd[N / 2], first = x[0];
#pragma unroll
    for (int t = 1; t <= N / 2; ++t) {
      even[t - 1] = x[t] + x[N - t];
      odd[t - 1] = x[t] - x[N - t];
      x[0] = x[0] + even[t - 1];
    }
#pragma unroll
    for (int k = 1; k <= N / 2; ++k) {
      Complex<T> a = first, b = {T(0), T(0)};
#pragma unroll
      for (int t = 1; t <= N / 2; ++t) {
        const int turn = k * t % N, folded = turn <= N / 2 ? turn : N - turn;
        const T c = T(cosine<N>(folded)), s = T(turn <= N / 2 ? sine<N>(folded) : -sine<N>(folded));
        a = a + Complex<T>{c * even[t - 1].x, c * even[t - 1].y};
        b = b + Complex<T>{s * odd[t - 1].x, s * odd[t - 1].y};
      }
      x[k] = a + times_minus_i(b);
      x[N - k] = a - times_minus_i(b);
    }
  }
};

template <>
struct Butterfly<2> {
  template <class T>
  __device__ static void apply(Complex<T>* x) {
    const Complex<T> a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  }
};

template <>
struct Butterfly<4> {
  template <class T>
  __device__ static void apply(Complex<T>* x) {
    const Complex<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = times_minus_i(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  }
};

template <>
struct Butterfly<8> {
  template <class T>
  __device__ static void apply(Complex<T>* x) {
    const T half = T(0.70710678118654752440);
    Complex<T> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    Butterfly<4>::apply(even);
    Butterfly<4>::apply(odd);
    odd[1] = Complex<T>{half, -half} * odd[1];
    odd[2] = times_minus_i(odd[2]);
    odd[3] = Complex<T>{-half, -half} * odd[3];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      x[k] = even[k] + odd[k];
      x[k + 4] = even[k] - odd[k];
    }
  }
};

}  // namespace gs_fft
