/* Functions of the runtime that releases after CUDA 11 dropped, or gave other parameters. C and C++.
 *
 * cuda_runtime_api.h of toolchain/old_headers.py includes it behind NVIDIA's.
 */
#ifndef GS_CUDA11_OLD_RUNTIME_H
#define GS_CUDA11_OLD_RUNTIME_H

#define GS_OLD static __inline__ __host__ cudaError_t

GS_OLD cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
GS_OLD cudaThreadExit(void) { return cudaDeviceReset(); }
GS_OLD cudaThreadSetLimit(enum cudaLimit limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
GS_OLD cudaThreadGetLimit(size_t *value, enum cudaLimit limit) { return cudaDeviceGetLimit(value, limit); }
GS_OLD cudaThreadGetCacheConfig(enum cudaFuncCache *config) { return cudaDeviceGetCacheConfig(config); }
GS_OLD cudaThreadSetCacheConfig(enum cudaFuncCache config) { return cudaDeviceSetCacheConfig(config); }

#ifdef __cplusplus
/* A GPU by its number; the host is cudaCpuDeviceId. */
static __inline__ __host__ struct cudaMemLocation gs_cuda11_location(int device) {
    struct cudaMemLocation location = {};
    location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return location;
}

GS_OLD cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, cudaStream_t stream = 0) {
    return cudaMemPrefetchAsync(pointer, bytes, gs_cuda11_location(device), 0, stream);
}

GS_OLD cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice, int device) {
    return cudaMemAdvise(pointer, bytes, advice, gs_cuda11_location(device));
}

GS_OLD cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                size_t count) {
    return cudaGraphAddDependencies(graph, from, to, NULL, count);
}

GS_OLD cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                   size_t count) {
    return cudaGraphRemoveDependencies(graph, from, to, NULL, count);
}

GS_OLD cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count) {
    return cudaGraphGetEdges(graph, from, to, NULL, count);
}

GS_OLD cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
    return cudaGraphNodeGetDependencies(node, nodes, NULL, count);
}

GS_OLD cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
    return cudaGraphNodeGetDependentNodes(node, nodes, NULL, count);
}

/* A symbol may be given by its name, as a string: a string is an array of characters, and so may a symbol be. */
extern "C" const void *gs_symbol_of_name(const void *symbol, const char *name);
template <size_t n> static __inline__ __host__ cudaError_t cudaMemcpyToSymbol(
    const char (&symbol)[n], const void *from, size_t bytes, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpyToSymbol(gs_symbol_of_name(symbol, symbol), from, bytes, offset, kind);
}

template <size_t n> static __inline__ __host__ cudaError_t cudaMemcpyFromSymbol(
    void *to, const char (&symbol)[n], size_t bytes, size_t offset = 0,
    enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cudaMemcpyFromSymbol(to, gs_symbol_of_name(symbol, symbol), bytes, offset, kind);
}

template <size_t n> static __inline__ __host__ cudaError_t cudaGetSymbolAddress(void **pointer,
                                                                                const char (&symbol)[n]) {
    return cudaGetSymbolAddress(pointer, gs_symbol_of_name(symbol, symbol));
}
#endif
#undef GS_OLD

#endif
