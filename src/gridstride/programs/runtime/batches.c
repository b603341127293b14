/* Copies with attributes, one or many in a call. */
#include "graphs.h"

static int is_order(int order) {
    return order >= cudaMemcpySrcAccessOrderStream && order <= cudaMemcpySrcAccessOrderAny;
}

/* A source that is read while the call lasts is read before a late device goes on, and whoever uses it then comes behind. */
static void read_now(int order) {
    if (order != cudaMemcpySrcAccessOrderDuringApiCall)
        return;
    gs_catch_up();
    ORDER(source_read());
}

static cudaError_t check_stream(cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(gs_named(stream) != cudaStreamLegacy, cudaErrorInvalidValue);
    CHECK(!gs_capturing(stream), cudaErrorStreamCaptureUnsupported);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemcpyWithAttributesAsync(void *to, const void *from, size_t bytes,
                                                 struct cudaMemcpyAttributes *attributes, cudaStream_t stream) {
    ENTER();
    TRY(check_stream(stream));
    CHECK(attributes != NULL && is_order(attributes->srcAccessOrder), cudaErrorInvalidValue);
    TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
    read_now(attributes->srcAccessOrder);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes, size_t count,
                                        struct cudaMemcpyAttributes *attributes, size_t *first, size_t kinds,
                                        cudaStream_t stream) {
    ENTER();
    TRY(check_stream(stream));
    CHECK(to != NULL && from != NULL && bytes != NULL && attributes != NULL && first != NULL, cudaErrorInvalidValue);
    CHECK(count > 0 && kinds > 0 && kinds <= count && first[0] == 0, cudaErrorInvalidValue);
    for (size_t k = 0; k < kinds; k++)
        CHECK(is_order(attributes[k].srcAccessOrder) && first[k] < count && (k == 0 || first[k] > first[k - 1]),
              cudaErrorInvalidValue);
    for (size_t i = 0, k = 0; i < count; i++) {
        k += k + 1 < kinds && first[k + 1] <= i;
        TRY(cudaMemcpyWithAttributesAsync(to[i], from[i], bytes[i], &attributes[k], stream));
    }
    return cudaSuccess;
}

static size_t texel(const struct cudaMemcpy3DOperand *side) {
    struct cudaChannelFormatDesc format;
    if (side->type != cudaMemcpyOperandTypeArray || cudaGetChannelDesc(&format, side->op.array.array) != cudaSuccess)
        return 0;
    return (format.x + format.y + format.z + format.w) / 8;
}

static struct cudaPitchedPtr pitched(const struct cudaMemcpy3DOperand *side, struct cudaExtent extent, size_t element) {
    size_t row = side->op.ptr.rowLength ? side->op.ptr.rowLength : extent.width;
    size_t height = side->op.ptr.layerHeight ? side->op.ptr.layerHeight : extent.height;
    return (struct cudaPitchedPtr){side->op.ptr.ptr, row * element, extent.width * element, height};
}

PUBLIC cudaError_t cudaMemcpy3DWithAttributesAsync(struct cudaMemcpy3DBatchOp *op, unsigned long long flags,
                                                   cudaStream_t stream) {
    ENTER();
    TRY(check_stream(stream));
    CHECK(op != NULL && flags == 0 && is_order(op->srcAccessOrder), cudaErrorInvalidValue);
    size_t element = texel(&op->src) ? texel(&op->src) : texel(&op->dst) ? texel(&op->dst) : 1;
    struct cudaMemcpy3DParms copy = {.extent = op->extent, .kind = cudaMemcpyDefault};
    if (op->src.type == cudaMemcpyOperandTypeArray) {
        struct cudaOffset3D at = op->src.op.array.offset;
        copy.srcArray = op->src.op.array.array, copy.srcPos = (struct cudaPos){at.x, at.y, at.z};
    } else {
        copy.srcPtr = pitched(&op->src, op->extent, element);
    }
    if (op->dst.type == cudaMemcpyOperandTypeArray) {
        struct cudaOffset3D at = op->dst.op.array.offset;
        copy.dstArray = op->dst.op.array.array, copy.dstPos = (struct cudaPos){at.x, at.y, at.z};
    } else {
        copy.dstPtr = pitched(&op->dst, op->extent, element);
    }
    TRY(cudaMemcpy3DAsync(&copy, stream));
    read_now(op->srcAccessOrder);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *ops, unsigned long long flags,
                                          cudaStream_t stream) {
    ENTER();
    CHECK(count > 0 && ops != NULL, cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        TRY(cudaMemcpy3DWithAttributesAsync(&ops[i], flags, stream));
    return cudaSuccess;
}
