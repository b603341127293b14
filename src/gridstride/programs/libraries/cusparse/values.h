// What the kernels of our cuSPARSE compute with: complex numbers, indices of either width, matrices of either kind.
#pragma once

namespace gs_sparse {

template <class R>
struct Complex {
  R x, y;
  __device__ Complex operator+(Complex b) const { return {x + b.x, y + b.y}; }
  __device__ Complex operator-(Complex b) const { return {x - b.x, y - b.y}; }
  __device__ Complex operator*(Complex b) const { return {x * b.x - y * b.y, x * b.y + y * b.x}; }
  // By Smith: the square of the divisor's size may overflow.
  __device__ Complex operator/(Complex b) const {
    if (fabs(b.x) >= fabs(b.y)) {
      const R q = b.y / b.x, d = b.x + q * b.y;
      return {(x + y * q) / d, (y - x * q) / d};
    }
    const R q = b.x / b.y, d = b.x * q + b.y;
    return {(x * q + y) / d, (y * q - x) / d};
  }
  __device__ bool operator==(Complex b) const { return x == b.x && y == b.y; }
};

template <class T>
__device__ T conjugate(T a) { return a; }
template <class R>
__device__ Complex<R> conjugate(Complex<R> a) { return {a.x, -a.y}; }

template <class T>
__device__ double size_of(T a) { return fabs(double(a)); }
template <class R>
__device__ double size_of(Complex<R> a) { return hypot(double(a.x), double(a.y)); }

template <class T>
__device__ bool zero(T a) { return a == T{}; }

template <class T>
__device__ void add(T* to, T value) { atomicAdd(to, value); }
template <class R>
__device__ void add(Complex<R>* to, Complex<R> value) {
  atomicAdd(&to->x, value.x);
  atomicAdd(&to->y, value.y);
}

// alpha sum + beta old; with no beta the old value is not read.
template <class T>
__device__ void put(T* to, T sum, T beta) { *to = zero(beta) ? sum : sum + beta * *to; }

// Numbers of rows, columns or entries, in 32 or 64 bits, from 0 or from 1.
struct Indices {
  void* at;
  bool wide;
  int base;
  __device__ long long operator[](long long i) const {
    return (wide ? static_cast<const long long*>(at)[i] : static_cast<const int*>(at)[i]) - base;
  }
  __device__ void set(long long i, long long value) const {
    if (wide)
      static_cast<long long*>(at)[i] = value + base;
    else
      static_cast<int*>(at)[i] = int(value + base);
  }
  // The first place in [0, n) that is not below `value`, of sorted ones.
  __device__ long long first_from(long long value, long long n) const {
    long long low = 0;
    while (low < n) {
      const long long middle = (low + n) / 2;
      if ((*this)[middle] < value)
        low = middle + 1;
      else
        n = middle;
    }
    return low;
  }
};

// op(A): rows of a compressed matrix (majors) are A's rows, or its columns; of coordinates `majors` are all entries.
template <class T>
struct Sparse {
  long long majors, nnz;
  Indices offsets, minors;
  T* values;
  bool coordinates;
  bool flipped;  // a major is a column of op(A)
  bool conjugated;
  __device__ long long begin(long long major) const { return coordinates ? major : offsets[major]; }
  __device__ long long end(long long major) const { return coordinates ? major + 1 : offsets[major + 1]; }
  __device__ long long major_at(long long item) const { return coordinates ? offsets[item] : item; }
  __device__ T value(long long k) const { return conjugated ? conjugate(values[k]) : values[k]; }
};

// A dense matrix: how far it is to the next row, and to the next column.
template <class T>
struct Dense {
  T* at;
  long long down, along;
  bool conjugated;
  __device__ T* to(long long row, long long column) const { return at + row * down + column * along; }
  __device__ T operator()(long long row, long long column) const {
    return conjugated ? conjugate(*to(row, column)) : *to(row, column);
  }
};

}  // namespace gs_sparse
