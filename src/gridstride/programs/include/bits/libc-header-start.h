/* Newer C libraries declare sinpi, cospi and rsqrt, which CUDA's own headers declare too, otherwise. Programs are linked
 * for a library that has none of them.
 */
#include_next <bits/libc-header-start.h>
#undef __GLIBC_USE_IEC_60559_FUNCS_EXT_C23
#define __GLIBC_USE_IEC_60559_FUNCS_EXT_C23 0
