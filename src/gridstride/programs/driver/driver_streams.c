/* Streams of the driver's: where its calls ask for something that the runtime's have not. */
#include "driver.h"
#include "streams.h"

PUBLIC CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext *context) {
    ENTER_DRIVER();
    NEED(context != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_stream(stream), gs_result(gs_no_stream(stream)));
    const Context *own = gs_is_default(stream) ? gs_context : stream->green != NULL ? stream->green : stream->context;
    *context = (CUcontext)own;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                               CUgraph *graph, const CUgraphNode **nodes, const CUgraphEdgeData **data,
                                               size_t *count) {
    ENTER_DRIVER();
    return RUNTIME(cudaStreamGetCaptureInfo(stream, (enum cudaStreamCaptureStatus *)status, (unsigned long long *)id,
                                            graph, nodes, (const cudaGraphEdgeData **)data, count));
}

/* -- values in memory that streams write and wait for -------------------------------------------------------------- */
static CUresult check_value(CUstream stream, CUdeviceptr address, size_t bytes) {
    NEED(gs_is_stream(stream), gs_result(gs_no_stream(stream)));
    NEED(address != 0 && address % bytes == 0 && gs_in_arena((void *)address) && gs_reaches((void *)address, bytes),
         CUDA_ERROR_INVALID_VALUE);
    if (gs_capturing(stream))
        return RUNTIME(gs_refused("a stream's value in a captured graph", "only streams outside of a capture write them"));
    return RUNTIME(gs_may_use(stream));
}

typedef struct {
    CUstream stream;
    CUdeviceptr address;
    uint64_t value;
    size_t bytes;
} Write;

static void write_now(const void *given) {
    const Write *write = given;
    ORDER(using(1));
    memcpy((void *)write->address, &write->value, write->bytes);
    gs_written((void *)write->address, write->bytes);
    ORDER(value_written(gs_stream_number(write->stream), write->address, write->bytes, write->value));
    ORDER(using(-1));
}

static CUresult write_value(CUstream stream, CUdeviceptr address, uint64_t value, size_t bytes) {
    ENTER_DRIVER();
    GIVE(check_value(stream, address, bytes));
    Write write = {stream, address, value, bytes};
    if (gs_is_late())
        return RUNTIME(gs_put_off(stream, write_now, &write, sizeof write));
    write_now(&write);
    return CUDA_SUCCESS;
}

/* Whether it is as waited for; a 32-bit difference is taken with its sign, as the driver does. */
static int has_come(uint64_t now, uint64_t value, size_t bytes, unsigned flags) {
    int64_t difference = bytes == 4 ? (int64_t)(int32_t)(uint32_t)(now - value) : (int64_t)(now - value);
    switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return difference >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & value) != 0;
    default:
        return (bytes == 4 ? (uint32_t)~(now | value) : ~(now | value)) != 0;
    }
}

/* Work runs when it is given, so what has not come by now would come only from what is given later. A late device does
 * all that it was given before: any of it may write the value. */
static CUresult wait_value(CUstream stream, CUdeviceptr address, uint64_t value, size_t bytes, unsigned flags) {
    uint64_t now = 0;
    ENTER_DRIVER();
    GIVE(check_value(stream, address, bytes));
    gs_catch_up();
    NEED(gs_fault() == cudaSuccess, gs_result(gs_fault()));
    ORDER(using(1));
    memcpy(&now, (void *)address, bytes);
    ORDER(using(-1));
    if (has_come(now, value, bytes, flags)) {
        ORDER(value_waited(gs_stream_number(stream), address, bytes, value, flags));
        return CUDA_SUCCESS;
    }
    return RUNTIME(gs_refused("a stream that waits for a value which is written later",
                              "work runs in the order in which it is given; order streams by events"));
}

PUBLIC CUresult CUDAAPI cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    (void)flags;
    return write_value(stream, address, value, 4);
}

PUBLIC CUresult CUDAAPI cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    (void)flags;
    return write_value(stream, address, value, 8);
}

PUBLIC CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return wait_value(stream, address, value, 4, flags);
}

PUBLIC CUresult CUDAAPI cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return wait_value(stream, address, value, 8, flags);
}

static CUresult do_operation(CUstream stream, const CUstreamBatchMemOpParams *p) {
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return write_value(stream, p->writeValue.address, p->writeValue.value, 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return write_value(stream, p->writeValue.address, p->writeValue.value64, 8);
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return wait_value(stream, p->waitValue.address, p->waitValue.value, 4, p->waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return wait_value(stream, p->waitValue.address, p->waitValue.value64, 8, p->waitValue.flags);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

PUBLIC CUresult CUDAAPI cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list,
                                           unsigned flags) {
    NEED(flags == 0 && count <= 256 && (list != NULL || count == 0), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; i++)
        GIVE(do_operation(stream, &list[i]));
    return CUDA_SUCCESS;
}
