/* Graphs of the driver's: the nodes whose records differ from the runtime's; all else is the runtime's (functions.toml). */
#include "driver.h"
#include "graphs.h"

static CUresult kernel_of(const CUDA_KERNEL_NODE_PARAMS *p, struct cudaKernelNodeParams *as, void ***unpacked) {
    NEED(p != NULL, CUDA_ERROR_INVALID_VALUE);
    void *function = p->func != NULL ? (void *)p->func : (void *)p->kern;
    NEED(function != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(gs_arguments(function, p->kernelParams, p->extra, unpacked));
    *as = (struct cudaKernelNodeParams){.func = function, .gridDim = {p->gridDimX, p->gridDimY, p->gridDimZ},
                                        .blockDim = {p->blockDimX, p->blockDimY, p->blockDimZ},
                                        .sharedMemBytes = p->sharedMemBytes,
                                        .kernelParams = *unpacked != NULL ? *unpacked : p->kernelParams};
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                             const CUDA_KERNEL_NODE_PARAMS *p) {
    struct cudaKernelNodeParams same;
    void **unpacked;
    ENTER_DRIVER();
    GIVE(kernel_of(p, &same, &unpacked));
    CUresult result = RUNTIME(cudaGraphAddKernelNode(node, graph, after, count, &same));
    free(unpacked);
    return result;
}

PUBLIC CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p) {
    struct cudaKernelNodeParams same;
    void **unpacked;
    ENTER_DRIVER();
    GIVE(kernel_of(p, &same, &unpacked));
    CUresult result = RUNTIME(cudaGraphKernelNodeSetParams(node, &same));
    free(unpacked);
    return result;
}

PUBLIC CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       const CUDA_KERNEL_NODE_PARAMS *p) {
    struct cudaKernelNodeParams same;
    void **unpacked;
    ENTER_DRIVER();
    GIVE(kernel_of(p, &same, &unpacked));
    CUresult result = RUNTIME(cudaGraphExecKernelNodeSetParams(exec, node, &same));
    free(unpacked);
    return result;
}

PUBLIC CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p) {
    struct cudaKernelNodeParams same;
    ENTER_DRIVER();
    NEED(p != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(RUNTIME(cudaGraphKernelNodeGetParams(node, &same)));
    *p = (CUDA_KERNEL_NODE_PARAMS){.func = same.func, .gridDimX = same.gridDim.x, .gridDimY = same.gridDim.y,
                                   .gridDimZ = same.gridDim.z, .blockDimX = same.blockDim.x,
                                   .blockDimY = same.blockDim.y, .blockDimZ = same.blockDim.z,
                                   .sharedMemBytes = same.sharedMemBytes, .kernelParams = same.kernelParams};
    return CUDA_SUCCESS;
}

/* -- copies -------------------------------------------------------------------------------------------------------- */
PUBLIC CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                             const CUDA_MEMCPY3D *copy, CUcontext context) {
    struct cudaMemcpy3DParms same;
    ENTER_DRIVER();
    NEED(copy != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    GIVE(gs_box_copy(copy, &same));
    return RUNTIME(cudaGraphAddMemcpyNode(node, graph, after, count, &same));
}

PUBLIC CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *copy) {
    struct cudaMemcpy3DParms same;
    ENTER_DRIVER();
    NEED(copy != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(gs_box_copy(copy, &same));
    return RUNTIME(cudaGraphMemcpyNodeSetParams(node, &same));
}

PUBLIC CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy,
                                                       CUcontext context) {
    struct cudaMemcpy3DParms same;
    ENTER_DRIVER();
    NEED(copy != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    GIVE(gs_box_copy(copy, &same));
    return RUNTIME(cudaGraphExecMemcpyNodeSetParams(exec, node, &same));
}

PUBLIC CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *copy) {
    struct cudaMemcpy3DParms same;
    ENTER_DRIVER();
    NEED(copy != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(RUNTIME(cudaGraphMemcpyNodeGetParams(node, &same)));
    cudaArray_t array = same.srcArray != NULL ? same.srcArray : same.dstArray;
    size_t texel = array != NULL ? gs_texel_bytes(array) : 1;
    *copy = (CUDA_MEMCPY3D){
        .srcXInBytes = same.srcPos.x * (same.srcArray != NULL ? texel : 1), .srcY = same.srcPos.y,
        .srcZ = same.srcPos.z, .srcMemoryType = same.srcArray != NULL ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (CUdeviceptr)same.srcPtr.ptr, .srcArray = (CUarray)same.srcArray, .srcPitch = same.srcPtr.pitch,
        .srcHeight = same.srcPtr.ysize, .dstXInBytes = same.dstPos.x * (same.dstArray != NULL ? texel : 1),
        .dstY = same.dstPos.y, .dstZ = same.dstPos.z,
        .dstMemoryType = same.dstArray != NULL ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (CUdeviceptr)same.dstPtr.ptr, .dstArray = (CUarray)same.dstArray, .dstPitch = same.dstPtr.pitch,
        .dstHeight = same.dstPtr.ysize, .WidthInBytes = same.extent.width * texel, .Height = same.extent.height,
        .Depth = same.extent.depth};
    return CUDA_SUCCESS;
}

/* -- fills: the record is the runtime's, by layout, as the test of this file's sizes says --------------------------- */
_Static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == sizeof(struct cudaMemsetParams), "records of fills");

PUBLIC CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                             const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context) {
    ENTER_DRIVER();
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaGraphAddMemsetNode(node, graph, after, count, (const struct cudaMemsetParams *)fill));
}

PUBLIC CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context) {
    ENTER_DRIVER();
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaGraphExecMemsetNodeSetParams(exec, node, (const struct cudaMemsetParams *)fill));
}

PUBLIC CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
                                                       CUcontext context, unsigned initial, unsigned flags) {
    ENTER_DRIVER();
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaGraphConditionalHandleCreate((cudaGraphConditionalHandle *)handle, graph, initial, flags));
}

PUBLIC CUresult CUDAAPI cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams *p) {
    ENTER_DRIVER();
    NEED(p != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(RUNTIME(cudaGraphNodeGetParams(node, (struct cudaGraphNodeParams *)p)));
    if (p->type != CU_GRAPH_NODE_TYPE_MEMCPY)
        return CUDA_SUCCESS; /* of all others the record is the runtime's, by layout, as far as it says something */
    memset(&p->memcpy, 0, sizeof p->memcpy);
    return cuGraphMemcpyNodeGetParams(node, &p->memcpy.copyParams);
}

/* -- nodes of any kind --------------------------------------------------------------------------------------------- */
_Static_assert(sizeof(CUgraphNodeParams) == sizeof(struct cudaGraphNodeParams), "records of nodes");

/* Of kernels and copies the records differ; of all others they are the runtime's, by layout. */
static CUresult node_of(const CUgraphNodeParams *p, struct cudaGraphNodeParams *as, void ***unpacked) {
    struct cudaKernelNodeParams kernel;
    NEED(p != NULL, CUDA_ERROR_INVALID_VALUE);
    *unpacked = NULL;
    memcpy(as, p, sizeof *as);
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        CUDA_KERNEL_NODE_PARAMS older;
        memcpy(&older, &p->kernel, sizeof older);
        GIVE(kernel_of(&older, &kernel, unpacked));
        memset(&as->kernel, 0, sizeof as->kernel);
        as->kernel.func = kernel.func, as->kernel.gridDim = kernel.gridDim, as->kernel.blockDim = kernel.blockDim;
        as->kernel.sharedMemBytes = kernel.sharedMemBytes, as->kernel.kernelParams = kernel.kernelParams;
    } else if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY) {
        memset(&as->memcpy, 0, sizeof as->memcpy);
        GIVE(gs_box_copy(&p->memcpy.copyParams, &as->memcpy.copyParams));
    }
    return CUDA_SUCCESS;
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *data,
                         size_t count, CUgraphNodeParams *p) {
    struct cudaGraphNodeParams same;
    void **unpacked;
    ENTER_DRIVER();
    GIVE(node_of(p, &same, &unpacked));
    CUresult result = RUNTIME(cudaGraphAddNode(node, graph, after, (const cudaGraphEdgeData *)data, count, &same));
    free(unpacked);
    if (result == CUDA_SUCCESS && p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        p->alloc.dptr = (CUdeviceptr)same.alloc.dptr;
    if (result == CUDA_SUCCESS && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        p->conditional.phGraph_out = same.conditional.phGraph_out;
    return result;
}

PUBLIC CUresult CUDAAPI cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                                       const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *p) {
    return add_node(node, graph, after, data, count, p);
}

PUBLIC CUresult CUDAAPI cuGraphAddNode_v3(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                                          const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *p) {
    return add_node(node, graph, after, data, count, p);
}

PUBLIC CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p) {
    struct cudaGraphNodeParams same;
    void **unpacked;
    ENTER_DRIVER();
    GIVE(node_of(p, &same, &unpacked));
    CUresult result = RUNTIME(cudaGraphNodeSetParams(node, &same));
    free(unpacked);
    return result;
}

PUBLIC CUresult CUDAAPI cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams *p) {
    return cuGraphNodeSetParams(node, p);
}

PUBLIC CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p) {
    struct cudaGraphNodeParams same;
    void **unpacked;
    ENTER_DRIVER();
    GIVE(node_of(p, &same, &unpacked));
    CUresult result = RUNTIME(cudaGraphExecNodeSetParams(exec, node, &same));
    free(unpacked);
    return result;
}
