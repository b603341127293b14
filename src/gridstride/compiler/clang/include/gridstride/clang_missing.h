// What CUDA C++ has and clang lacks: __cluster_dims__, and loads and stores with a cache operator, for any type of 1, 2,
// 4, 8 or 16 bytes. Overloads of CUDA's headers (those of __half, say) are taken before these templates.
#pragma once

// Read off an annotation in a run of its own, see cluster_dims.py.
#undef __cluster_dims__
#ifdef GRIDSTRIDE_READ_CLUSTER_DIMS
#define __cluster_dims__(...) __attribute__((annotate("gridstride_cluster", __VA_ARGS__)))
#else
#define __cluster_dims__(...)
#endif

#define GRIDSTRIDE_CACHED_LOAD(name, operation)                                                                        \
    template <class T> __device__ __forceinline__ T name(const T* address) {                                           \
        T value;                                                                                                       \
        if constexpr (sizeof(T) == 1) {                                                                                \
            unsigned short held;                                                                                       \
            asm volatile("ld.global." operation ".u8 %0, [%1];" : "=h"(held) : "l"(address) : "memory");               \
            __builtin_memcpy(&value, &held, 1);                                                                        \
        } else if constexpr (sizeof(T) == 2) {                                                                         \
            unsigned short held;                                                                                       \
            asm volatile("ld.global." operation ".u16 %0, [%1];" : "=h"(held) : "l"(address) : "memory");              \
            __builtin_memcpy(&value, &held, 2);                                                                        \
        } else if constexpr (sizeof(T) == 4) {                                                                         \
            unsigned held;                                                                                             \
            asm volatile("ld.global." operation ".u32 %0, [%1];" : "=r"(held) : "l"(address) : "memory");              \
            __builtin_memcpy(&value, &held, 4);                                                                        \
        } else if constexpr (sizeof(T) == 8) {                                                                         \
            unsigned long long held;                                                                                   \
            asm volatile("ld.global." operation ".u64 %0, [%1];" : "=l"(held) : "l"(address) : "memory");              \
            __builtin_memcpy(&value, &held, 8);                                                                        \
        } else {                                                                                                       \
            static_assert(sizeof(T) == 16, #name " takes a type of 1, 2, 4, 8 or 16 bytes");                           \
            unsigned held[4];                                                                                          \
            asm volatile("ld.global." operation ".v4.u32 {%0, %1, %2, %3}, [%4];"                                      \
                         : "=r"(held[0]), "=r"(held[1]), "=r"(held[2]), "=r"(held[3]) : "l"(address) : "memory");      \
            __builtin_memcpy(&value, held, 16);                                                                        \
        }                                                                                                              \
        return value;                                                                                                  \
    }

#define GRIDSTRIDE_CACHED_STORE(name, operation)                                                                       \
    template <class T> __device__ __forceinline__ void name(T* address, T value) {                                     \
        if constexpr (sizeof(T) == 1) {                                                                                \
            unsigned short held = 0;                                                                                   \
            __builtin_memcpy(&held, &value, 1);                                                                        \
            asm volatile("st.global." operation ".u8 [%0], %1;" ::"l"(address), "h"(held) : "memory");                 \
        } else if constexpr (sizeof(T) == 2) {                                                                         \
            unsigned short held;                                                                                       \
            __builtin_memcpy(&held, &value, 2);                                                                        \
            asm volatile("st.global." operation ".u16 [%0], %1;" ::"l"(address), "h"(held) : "memory");                \
        } else if constexpr (sizeof(T) == 4) {                                                                         \
            unsigned held;                                                                                             \
            __builtin_memcpy(&held, &value, 4);                                                                        \
            asm volatile("st.global." operation ".u32 [%0], %1;" ::"l"(address), "r"(held) : "memory");                \
        } else if constexpr (sizeof(T) == 8) {                                                                         \
            unsigned long long held;                                                                                   \
            __builtin_memcpy(&held, &value, 8);                                                                        \
            asm volatile("st.global." operation ".u64 [%0], %1;" ::"l"(address), "l"(held) : "memory");                \
        } else {                                                                                                       \
            static_assert(sizeof(T) == 16, #name " takes a type of 1, 2, 4, 8 or 16 bytes");                           \
            unsigned held[4];                                                                                          \
            __builtin_memcpy(held, &value, 16);                                                                        \
            asm volatile("st.global." operation ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(held[0]),        \
                         "r"(held[1]), "r"(held[2]), "r"(held[3]) : "memory");                                         \
        }                                                                                                              \
    }

GRIDSTRIDE_CACHED_LOAD(__ldca, "ca")
GRIDSTRIDE_CACHED_LOAD(__ldcg, "cg")
GRIDSTRIDE_CACHED_LOAD(__ldcs, "cs")
GRIDSTRIDE_CACHED_LOAD(__ldlu, "lu")
GRIDSTRIDE_CACHED_LOAD(__ldcv, "cv")
GRIDSTRIDE_CACHED_STORE(__stwb, "wb")
GRIDSTRIDE_CACHED_STORE(__stcg, "cg")
GRIDSTRIDE_CACHED_STORE(__stcs, "cs")
GRIDSTRIDE_CACHED_STORE(__stwt, "wt")

#undef GRIDSTRIDE_CACHED_LOAD
#undef GRIDSTRIDE_CACHED_STORE
