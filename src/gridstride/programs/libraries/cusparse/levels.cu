// Which rows of a triangle can be solved side by side.
#include "levels.h"

namespace gs_sparse {
namespace {

// One thread goes down the triangle, as its rows depend on each other; an analysis is made once for many solutions.
__global__ void put_in_levels(Triangle t, Levels v) {
  const long long n = t.majors;
  for (long long i = 0; i < n; ++i) v.level[i] = 0;
  long long count = 0;
  for (long long i = 0; i < n; ++i) {
    const long long major = t.lower ? i : n - 1 - i;
    long long mine = v.level[major];
    for (long long k = t.offsets[major]; k < t.offsets[major + 1]; ++k) {
      const long long minor = t.minors[k];
      if (!t.used(major, minor)) continue;
      if (!t.flipped)
        mine = max(mine, v.level[minor] + 1);
      else if (v.level[minor] < mine + 1)
        v.level[minor] = mine + 1;
    }
    v.level[major] = mine;
    count = max(count, mine + 1);
  }
  *v.count = count;
  for (long long i = 0; i <= n; ++i) v.starts[i] = 0;
  for (long long i = 0; i < n; ++i) ++v.starts[v.level[i] + 1];
  for (long long i = 1; i <= count; ++i) v.starts[i] += v.starts[i - 1];
  // Each start moves on with its rows, up to the next one's, and is moved back at the end.
  for (long long i = 0; i < n; ++i) v.order[v.starts[v.level[i]]++] = i;
  for (long long i = count; i > 0; --i) v.starts[i] = v.starts[i - 1];
  v.starts[0] = 0;
}

}  // namespace

cusparseStatus_t find_levels(cusparseHandle_t handle, const Triangle& triangle, const Levels& levels) {
  put_in_levels<<<1, 1, 0, handle->stream>>>(triangle, levels);
  return launched();
}

}  // namespace gs_sparse
