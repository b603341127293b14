/* Votes and shuffles without a mask, which compute capability 7.0 dropped: of the lanes that execute the call together,
 * as a warp of an older GPU. They do not order memory, and older programs may rely on lanes in step that are not so now.
 */
#ifndef GS_CUDA11_OLD_WARP_H
#define GS_CUDA11_OLD_WARP_H

#define __any(predicate) __any_sync(__activemask(), predicate)
#define __all(predicate) __all_sync(__activemask(), predicate)
#define __ballot(predicate) __ballot_sync(__activemask(), predicate)

#define GS_SHUFFLE(name, Lane) \
    template <class T> static __device__ __forceinline__ T gs_cuda11_##name(T value, Lane lane, int width = 32) { \
        return __##name##_sync(__activemask(), value, lane, width); \
    }
GS_SHUFFLE(shfl, int)
GS_SHUFFLE(shfl_up, unsigned int)
GS_SHUFFLE(shfl_down, unsigned int)
GS_SHUFFLE(shfl_xor, int)
#undef GS_SHUFFLE
#define __shfl(...) gs_cuda11_shfl(__VA_ARGS__)
#define __shfl_up(...) gs_cuda11_shfl_up(__VA_ARGS__)
#define __shfl_down(...) gs_cuda11_shfl_down(__VA_ARGS__)
#define __shfl_xor(...) gs_cuda11_shfl_xor(__VA_ARGS__)

#endif
