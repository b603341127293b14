/* Memory pools: handles here, what they hold is reckoned by Python (programs/pools.py). */
#include "graphs.h"

typedef struct {
    int64_t number;
    uint32_t reuse[4]; /* by cudaMemPoolAttr, 1 to 3 */
} Pool;

static Pool default_pool = {.number = 0, .reuse = {0, 1, 1, 1}};
static cudaMemPool_t current_pool = (cudaMemPool_t)&default_pool;

int64_t gs_current_pool(void) { return ((Pool *)current_pool)->number; }

PUBLIC cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    CHECK(pool != NULL && device == 0, cudaErrorInvalidValue);
    *pool = (cudaMemPool_t)&default_pool;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
    CHECK(pool != NULL && device == 0, cudaErrorInvalidValue);
    *pool = current_pool;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    CHECK(pool != NULL && device == 0, cudaErrorInvalidValue);
    current_pool = pool;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    CHECK(pool != NULL && properties != NULL, cudaErrorInvalidValue);
    Pool *made = calloc(1, sizeof(Pool));
    CHECK(made != NULL, cudaErrorMemoryAllocation);
    *made = default_pool;
    made->number = gs_board.create_pool();
    *pool = (cudaMemPool_t)made;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    CHECK(pool != NULL && pool != (cudaMemPool_t)&default_pool, cudaErrorInvalidValue);
    if (current_pool == pool)
        current_pool = (cudaMemPool_t)&default_pool;
    gs_board.destroy_pool(((Pool *)pool)->number);
    free(pool);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    CHECK(pool != NULL, cudaErrorInvalidValue);
    return gs_malloc_async(pointer, bytes, stream, ((Pool *)pool)->number);
}

PUBLIC cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
    CHECK(pool != NULL, cudaErrorInvalidValue);
    gs_board.trim_pool(((Pool *)pool)->number, keep);
    return cudaSuccess;
}

static int is_reuse(enum cudaMemPoolAttr attribute) {
    return attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

PUBLIC cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    CHECK(pool != NULL && value != NULL, cudaErrorInvalidValue);
    if (is_reuse(attribute)) {
        ((Pool *)pool)->reuse[attribute] = *(uint32_t *)value;
        if (*(uint32_t *)value == 0)
            return gs_refused("cudaMemPoolSetAttribute", "what is freed may be reused by any stream");
        return cudaSuccess;
    }
    return gs_error(gs_board.pool_attribute(((Pool *)pool)->number, attribute, 1, value));
}

PUBLIC cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    CHECK(pool != NULL && value != NULL, cudaErrorInvalidValue);
    if (is_reuse(attribute)) {
        *(uint32_t *)value = ((Pool *)pool)->reuse[attribute];
        return cudaSuccess;
    }
    return gs_error(gs_board.pool_attribute(((Pool *)pool)->number, attribute, 0, value));
}
