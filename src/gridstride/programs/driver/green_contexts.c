/* Green contexts as the driver has them, where its calls differ from the runtime's (runtime/execution_contexts.c). */
#include "execution_contexts.h"

#define HANDLE(green) ((cudaExecutionContext_t)(green))

PUBLIC CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green) {
    unsigned long long id;
    ENTER_INITIALISED();
    NEED(green != NULL, CUDA_ERROR_INVALID_CONTEXT);
    NEED(context != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(RUNTIME(cudaExecutionCtxGetId(HANDLE(green), &id))); /* it is there */
    *context = &green->context;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc desc, CUdevice device, unsigned flags) {
    ENTER_INITIALISED();
    NEED(flags <= CU_GREEN_CTX_DEFAULT_STREAM, CUDA_ERROR_INVALID_VALUE); /* the runtime's takes none */
    return RUNTIME(cudaGreenCtxCreate((cudaExecutionContext_t *)green, (cudaDevResourceDesc_t)desc, device, 0));
}

PUBLIC CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx green) {
    ENTER_INITIALISED();
    CUresult result = RUNTIME(cudaExecutionCtxDestroy(HANDLE(green)));
    return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_INVALID_CONTEXT : result;
}

PUBLIC CUresult CUDAAPI cuGreenCtxGetId(CUgreenCtx green, unsigned long long *id) {
    ENTER_INITIALISED();
    if (green == NULL)
        green = gs_green_of(gs_context);
    NEED(green != NULL, CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaExecutionCtxGetId(HANDLE(green), id));
}

PUBLIC CUresult CUDAAPI cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource *resource, CUdevResourceType type) {
    ENTER_INITIALISED();
    NEED(green != NULL, CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaExecutionCtxGetDevResource(HANDLE(green), (cudaDevResource *)resource,
                                                  (enum cudaDevResourceType)type));
}

PUBLIC CUresult CUDAAPI cuCtxGetDevResource(CUcontext context, CUdevResource *resource, CUdevResourceType type) {
    ENTER_INITIALISED();
    NEED(context != NULL && gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(gs_context_resource(context, (cudaDevResource *)resource, (enum cudaDevResourceType)type));
}

PUBLIC CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned flags, int priority) {
    ENTER_INITIALISED();
    NEED(green != NULL, CUDA_ERROR_INVALID_CONTEXT);
    NEED(flags == CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    return RUNTIME(cudaExecutionCtxStreamCreate(stream, HANDLE(green), flags, priority));
}

PUBLIC CUresult CUDAAPI cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
    ENTER_INITIALISED();
    NEED(green != NULL, CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaExecutionCtxRecordEvent(HANDLE(green), event));
}

PUBLIC CUresult CUDAAPI cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
    ENTER_INITIALISED();
    NEED(green != NULL, CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaExecutionCtxWaitEvent(HANDLE(green), event));
}

PUBLIC CUresult CUDAAPI cuCtxRecordEvent(CUcontext context, CUevent event) {
    ENTER_INITIALISED();
    NEED(context != NULL && gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(gs_record_context(context, event));
}

PUBLIC CUresult CUDAAPI cuCtxWaitEvent(CUcontext context, CUevent event) {
    ENTER_INITIALISED();
    NEED(context != NULL && gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(gs_hold_context(context, event));
}

static CUresult green_of(CUstream stream, CUgreenCtx *green) {
    ENTER_DRIVER();
    NEED(gs_is_stream(stream), gs_result(gs_no_stream(stream)));
    *green = gs_green_of(gs_is_default(stream) ? gs_context : stream->green);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *green) {
    NEED(green != NULL, CUDA_ERROR_INVALID_VALUE);
    return green_of(stream, green);
}

PUBLIC CUresult CUDAAPI cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green) {
    NEED(context != NULL && green != NULL, CUDA_ERROR_INVALID_VALUE);
    GIVE(green_of(stream, green));
    NEED(*green == NULL || stream != CU_STREAM_PER_THREAD, CUDA_ERROR_INVALID_HANDLE);
    *context = *green != NULL         ? gs_primary((*green)->context.device)
               : gs_is_default(stream) ? gs_context
                                       : (CUcontext)stream->context;
    return CUDA_SUCCESS;
}
