/* Tensor maps: what hardware does not take is refused here, the 128 bytes are Python's, as the virtual GPU reads them. */
#include "driver.h"

enum { RANKS = 5, MOST_BOX = 256, MOST_PIXELS = 1024, MOST_STEP = 8 };

static int bytes_of(CUtensorMapDataType type) {
    static const int bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type >= 0 && type < (int)(sizeof bytes / sizeof *bytes) ? bytes[type] : 0;
}

static int is_shape(const TensorMapOrder *t) {
    uint64_t alignment = t->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
    if (t->rank < 1 || t->rank > RANKS || t->address == 0 || t->address % alignment != 0)
        return 0;
    if (t->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && t->rank < 3)
        return 0;
    for (int i = 0; i < t->rank; i++) {
        if (t->sizes[i] < 1 || t->sizes[i] > (int64_t)1 << 32 || t->steps[i] < 1 || t->steps[i] > MOST_STEP)
            return 0;
        /* 0 is taken, as by an H200's driver: a dimension of one element, or the same elements again. */
        if (i < t->rank - 1 && (t->strides[i] % alignment != 0 || t->strides[i] < 0 || t->strides[i] >= (int64_t)1 << 40))
            return 0;
    }
    return t->interleave >= 0 && t->interleave <= CU_TENSOR_MAP_INTERLEAVE_32B && t->swizzle >= 0 &&
           t->swizzle <= CU_TENSOR_MAP_SWIZZLE_128B;
}

/* Of the row that varies fastest: it fills whole 16 bytes, and no more than the pattern of a swizzle is wide. */
static int is_row(const TensorMapOrder *t, int64_t elements) {
    int64_t bytes = elements * bytes_of((CUtensorMapDataType)t->type);
    static const int64_t widest[] = {0, 32, 64, 128};
    if (t->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
        return t->interleave == CU_TENSOR_MAP_INTERLEAVE_16B || t->swizzle == CU_TENSOR_MAP_SWIZZLE_32B;
    return bytes % 16 == 0 && (t->swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || bytes <= widest[t->swizzle]);
}

static void read_shape(TensorMapOrder *t, const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *steps) {
    for (int i = 0; i < t->rank && i < RANKS; i++) {
        t->sizes[i] = sizes[i], t->steps[i] = steps[i];
        t->strides[i] = i < t->rank - 1 ? strides[i] : 0;
    }
}

#define START(data_type, dimensions, start) \
    {.map = (uint64_t)map, .address = (uint64_t)(start), .rank = dimensions, .type = data_type, \
     .interleave = interleave, .swizzle = swizzle, .nan = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE}

PUBLIC CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *start,
                                               const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                               const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                               CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                               CUtensorMapFloatOOBfill fill) {
    TensorMapOrder t = START(type, rank, start);
    (void)promotion; /* caches are the chip's own */
    NEED(map != NULL && sizes != NULL && (strides != NULL || rank == 1) && box != NULL && steps != NULL,
         CUDA_ERROR_INVALID_VALUE);
    if (bytes_of(type) == 0)
        return RUNTIME(gs_refused("cuTensorMapEncodeTiled of packed 4 and 6 bit types", "they are not implemented"));
    read_shape(&t, sizes, strides, steps);
    NEED(is_shape(&t), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < t.rank; i++) {
        NEED(box[i] >= 1 && box[i] <= MOST_BOX, CUDA_ERROR_INVALID_VALUE);
        t.box[i] = box[i];
    }
    NEED(is_row(&t, box[0]), CUDA_ERROR_INVALID_VALUE);
    return gs_result(gs_board.tensor_map(&t));
}

PUBLIC CUresult CUDAAPI cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *start,
                                                const cuuint64_t *sizes, const cuuint64_t *strides, const int *low,
                                                const int *high, cuuint32_t channels, cuuint32_t pixels,
                                                const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                                CUtensorMapFloatOOBfill fill) {
    TensorMapOrder t = START(type, rank, start);
    (void)promotion;
    NEED(map != NULL && sizes != NULL && strides != NULL && low != NULL && high != NULL && steps != NULL,
         CUDA_ERROR_INVALID_VALUE);
    NEED(bytes_of(type) != 0 && rank >= 3, CUDA_ERROR_INVALID_VALUE);
    NEED(channels >= 1 && channels <= MOST_BOX && pixels >= 1 && pixels <= MOST_PIXELS, CUDA_ERROR_INVALID_VALUE);
    read_shape(&t, sizes, strides, steps);
    NEED(is_shape(&t) && is_row(&t, channels), CUDA_ERROR_INVALID_VALUE);
    t.im2col = 1, t.box[0] = channels, t.box[1] = pixels;
    for (int i = 0; i < t.rank - 2; i++)
        t.low[i] = low[i], t.high[i] = high[i];
    return gs_result(gs_board.tensor_map(&t));
}
