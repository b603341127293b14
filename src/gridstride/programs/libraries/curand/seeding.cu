// How generators begin: seeds as the vendor's spreads them, subsequences by jumping ahead, Sobol's direction numbers.
#include <array>
#include <vector>

#include "engines.h"

namespace gs_rand {
namespace {

using Vector = std::array<unsigned, 5>;  // 160 bits
using Matrix = std::vector<Vector>;      // its columns

Vector times(const Matrix& m, const Vector& v) {
  Vector sum{};
  for (int i = 0; i < 160; ++i)
    if (v[i / 32] >> (i % 32) & 1)
      for (int k = 0; k < 5; ++k) sum[k] ^= m[i][k];
  return sum;
}

Vector step(Vector v) {
  const unsigned t = v[0] ^ (v[0] >> 2);
  return {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
}

// 2^67 steps at once.
const Matrix& far_step() {
  static const Matrix made = [] {
    Matrix m(160);
    for (int i = 0; i < 160; ++i) {
      Vector one{};
      one[i / 32] = 1u << (i % 32);
      m[i] = step(one);
    }
    for (int k = 0; k < 67; ++k) {
      Matrix square(160);
      for (int i = 0; i < 160; ++i) square[i] = times(m, m[i]);
      m = square;
    }
    return m;
  }();
  return made;
}

using Mod3 = std::array<std::array<unsigned long long, 3>, 3>;

Mod3 product(const Mod3& x, const Mod3& y, unsigned long long m) {
  Mod3 z{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) z[i][j] = (z[i][j] + x[i][k] * y[k][j] % m) % m;
  return z;
}

// 2^76 steps at once.
Mod3 far(Mod3 x, unsigned long long m) {
  for (int k = 0; k < 76; ++k) x = product(x, x, m);
  return x;
}

void move(const Mod3& x, unsigned (&v)[3], unsigned long long m) {
  unsigned long long sum[3] = {};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) sum[i] = (sum[i] + x[i][k] * v[k] % m) % m;
  for (int i = 0; i < 3; ++i) v[i] = unsigned(sum[i]);
}

// S. Joe and F. Y. Kuo, Constructing Sobol sequences with better two-dimensional projections, 2008: the primitive
// polynomial's degree, its inner coefficients, and the first direction numbers of each dimension behind the first.
struct Row {
  int degree;
  unsigned inner, m[9];
};
constexpr Row ROWS[] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
    {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}},
    {7, 14, {1, 3, 1, 13, 9, 35, 107}},
    {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}},
    {7, 28, {1, 3, 5, 3, 3, 13, 69}},
    {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}},
    {7, 37, {1, 1, 3, 9, 25, 29, 41}},
    {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}},
    {7, 50, {1, 3, 1, 3, 5, 53, 69}},
    {7, 55, {1, 1, 5, 5, 23, 33, 13}},
    {7, 56, {1, 1, 7, 7, 1, 61, 123}},
    {7, 59, {1, 1, 7, 9, 13, 61, 49}},
    {7, 62, {1, 3, 3, 5, 3, 55, 33}},
    {8, 14, {1, 3, 1, 15, 31, 13, 49, 245}},
    {8, 21, {1, 3, 5, 15, 31, 59, 63, 97}},
    {8, 22, {1, 3, 1, 11, 11, 11, 77, 249}},
    {8, 38, {1, 3, 1, 11, 27, 43, 71, 9}},
    {8, 47, {1, 1, 7, 15, 21, 11, 81, 45}},
    {8, 49, {1, 3, 7, 3, 25, 31, 65, 79}},
    {8, 50, {1, 3, 1, 1, 19, 11, 3, 205}},
    {8, 52, {1, 1, 5, 9, 19, 21, 29, 157}},
    {8, 56, {1, 3, 7, 11, 1, 33, 89, 185}},
    {8, 67, {1, 3, 3, 3, 15, 9, 79, 71}},
    {8, 70, {1, 3, 7, 11, 15, 39, 119, 27}},
    {8, 84, {1, 1, 3, 1, 11, 31, 97, 225}},
    {8, 97, {1, 1, 1, 3, 23, 43, 57, 177}},
    {8, 103, {1, 3, 7, 7, 17, 17, 37, 71}},
    {8, 115, {1, 3, 1, 5, 27, 63, 123, 213}},
    {8, 122, {1, 1, 3, 5, 11, 43, 53, 133}},
    {9, 8, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
    {9, 13, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
    {9, 16, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
    {9, 22, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
    {9, 25, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
    {9, 44, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
    {9, 47, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
    {9, 52, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
    {9, 55, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
    {9, 59, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
    {9, 62, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
};
static_assert(sizeof ROWS / sizeof ROWS[0] == DIMENSIONS - 1);

}  // namespace

void begin(Xorwow* states, unsigned threads, unsigned long long seed) {
  const unsigned low = unsigned(seed) ^ 0xaad26b49u, high = unsigned(seed >> 32) ^ 0xf7dcefddu;
  const unsigned t0 = 1099087573u * low, t1 = 2591861531u * high;
  Vector v = {123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0};
  for (unsigned k = 0; k < threads; ++k, v = times(far_step(), v)) {
    for (int i = 0; i < 5; ++i) states[k].v[i] = v[i];
    states[k].d = 6615241u + t1 + t0;  // 2^67 steps of the Weyl sequence are none
  }
}

void begin(Mrg* states, unsigned threads, unsigned long long seed) {
  constexpr unsigned long long M1 = Mrg::M1, M2 = Mrg::M2;
  static const Mod3 a = far({{{0, 1, 0}, {0, 0, 1}, {M1 - 810728, 1403580, 0}}}, M1);
  static const Mod3 b = far({{{0, 1, 0}, {0, 0, 1}, {M2 - 1370589, 0, 527612}}}, M2);
  Mrg now = {{12345, 12345, 12345}, {12345, 12345, 12345}};
  if (seed != 0) {
    const unsigned long long x = unsigned(seed) ^ 0x55555555u, y = unsigned(seed >> 32) ^ 0xAAAAAAAAu;
    for (int i = 0; i < 3; ++i) {
      now.a[i] = unsigned((i == 1 ? y : x) * 12345 % M1);
      now.b[i] = unsigned((i == 1 ? x : y) * 12345 % M2);
    }
  }
  for (unsigned k = 0; k < threads; ++k) {
    states[k] = now;
    move(a, now.a, M1);
    move(b, now.b, M2);
  }
}

template <typename Word>
Directions<Word>* directions() {
  constexpr int BITS = 8 * sizeof(Word);
  static Directions<Word> made[DIMENSIONS];
  static const bool filled = [] {
    for (int k = 0; k < BITS; ++k) made[0][k] = Word(1) << (BITS - 1 - k);
    for (unsigned d = 1; d < DIMENSIONS; ++d) {
      const Row& row = ROWS[d - 1];
      for (int k = 0; k < BITS; ++k) {
        if (k < row.degree) {
          made[d][k] = Word(row.m[k]) << (BITS - 1 - k);
          continue;
        }
        Word v = made[d][k - row.degree] ^ (made[d][k - row.degree] >> row.degree);
        for (int i = 1; i < row.degree; ++i)
          if (row.inner >> (row.degree - 1 - i) & 1) v ^= made[d][k - i];
        made[d][k] = v;
      }
    }
    return true;
  }();
  (void)filled;
  return made;
}

template Directions<unsigned>* directions();
template Directions<unsigned long long>* directions();

}  // namespace gs_rand
