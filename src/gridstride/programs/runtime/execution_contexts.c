/* Green contexts: a primary context with some of its GPU's multiprocessors, and streams of its own.
 *
 * An execution context of the runtime's is a green one, or a GPU's primary context. What a green one is current for,
 * memory, events and modules, is the primary one's.
 */
#include "execution_contexts.h"

enum { ALIVE = 0x43545854, GONE = 0 };
static Green *greens; /* destroyed ones too: who uses one gets an error and no crash */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

Green *gs_green_of(const Context *context) {
    for (Green *each = greens; each != NULL; each = each->next)
        if (&each->context == context)
            return each;
    return NULL;
}

Green *gs_greens(void) { return greens; }

static int is_green(const void *handle) {
    for (const Green *each = greens; each != NULL; each = each->next)
        if (each == handle)
            return 1;
    return 0;
}

Context *gs_owner(void) {
    return gs_context != NULL && gs_context->partition != 0 ? gs_primary(gs_context->device) : gs_context;
}

int64_t gs_partition(cudaStream_t stream) {
    const Context *context = gs_is_default(stream) ? gs_context : stream->green;
    return context != NULL ? context->partition : 0;
}

/* A handle of the driver's or the runtime's, of a context that is there. */
static cudaError_t find(cudaExecutionContext_t handle, Context **context) {
    CHECK(handle != NULL, cudaErrorInvalidValue);
    *context = is_green(handle) ? &((Green *)handle)->context : (Context *)handle;
    CHECK(is_green(handle) || gs_is_primary(*context), cudaErrorDeviceUninitialized);
    CHECK((*context)->state == ALIVE, cudaErrorContextIsDestroyed);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGreenCtxCreate(cudaExecutionContext_t *handle, cudaDevResourceDesc_t desc, int device,
                                      unsigned flags) {
    CHECK(handle != NULL && desc != NULL && flags == 0, cudaErrorInvalidValue);
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    CHECK(desc->device == device, cudaErrorInvalidValue);
    Green *made = calloc(1, sizeof *made);
    CHECK(made != NULL, cudaErrorMemoryAllocation);
    made->context = (Context){.state = ALIVE, .device = device, .flags = gs_retain_primary(device)->flags, .id = gs_next_context_id(),
                              .partition = desc->partition};
    made->has = desc;
    pthread_mutex_lock(&lock);
    made->next = greens;
    greens = made;
    pthread_mutex_unlock(&lock);
    gs_board.object(OBJECT_GREEN, 1);
    *handle = (cudaExecutionContext_t)made;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaExecutionCtxDestroy(cudaExecutionContext_t handle) {
    Context *context;
    CHECK(handle != NULL && is_green(handle), cudaErrorInvalidValue);
    TRY(find(handle, &context));
    gs_spoil_captures(context);
    gs_wait_for_context(context);
    context->state = GONE;
    gs_board.object(OBJECT_GREEN, -1);
    cuDevicePrimaryCtxRelease(context->device);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetExecutionCtx(cudaExecutionContext_t *handle, int device) {
    ENTER();
    CHECK(handle != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    Context *primary = gs_primary(device);
    primary->state = ALIVE, primary->runtime_uses = 1;
    *handle = (cudaExecutionContext_t)primary;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaExecutionCtxGetDevice(int *device, cudaExecutionContext_t handle) {
    Context *context;
    TRY(find(handle, &context));
    CHECK(device != NULL, cudaErrorInvalidValue);
    *device = context->device;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaExecutionCtxGetId(cudaExecutionContext_t handle, unsigned long long *id) {
    Context *context;
    TRY(find(handle, &context));
    CHECK(id != NULL, cudaErrorInvalidValue);
    *id = context->id;
    return cudaSuccess;
}

cudaError_t gs_context_resource(const Context *context, cudaDevResource *resource, enum cudaDevResourceType type) {
    const Green *green = gs_green_of(context);
    if (green == NULL || (type == cudaDevResourceTypeWorkqueueConfig && green->has->queues.type == 0))
        return gs_device_resource(context->device, resource, type);
    CHECK(resource != NULL, cudaErrorInvalidValue);
    CHECK(type == cudaDevResourceTypeSm || type == cudaDevResourceTypeWorkqueueConfig, cudaErrorInvalidResourceType);
    *resource = type == cudaDevResourceTypeSm ? green->has->resource : green->has->queues;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaExecutionCtxGetDevResource(cudaExecutionContext_t handle, cudaDevResource *resource,
                                                  enum cudaDevResourceType type) {
    Context *context;
    TRY(find(handle, &context));
    return gs_context_resource(context, resource, type);
}

PUBLIC cudaError_t cudaStreamGetDevResource(cudaStream_t stream, cudaDevResource *resource,
                                            enum cudaDevResourceType type) {
    ENTER();
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(type == cudaDevResourceTypeSm, cudaErrorInvalidResourceType);
    const Context *context = gs_is_default(stream) ? gs_context : stream->green;
    return context != NULL ? gs_context_resource(context, resource, type)
                           : gs_device_resource(gs_stream_device(stream), resource, type);
}

PUBLIC cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t *stream, cudaExecutionContext_t handle, unsigned flags,
                                                int priority) {
    Context *context;
    TRY(find(handle, &context));
    CHECK(stream != NULL && flags <= cudaStreamNonBlocking, cudaErrorInvalidValue);
    const Green *green = gs_green_of(context);
    if (green == NULL)
        return gs_error(gs_new_stream(stream, flags, priority, context, NULL));
    TRY(gs_new_stream(stream, cudaStreamNonBlocking, priority, gs_primary(context->device), context));
    if (green->gate != 0)
        MODEL(follow(gs_stream_number(*stream), green->gate));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaExecutionCtxSynchronize(cudaExecutionContext_t handle) {
    Context *context;
    TRY(find(handle, &context));
    return gs_wait_for_context(context);
}

PUBLIC cudaError_t cudaExecutionCtxRecordEvent(cudaExecutionContext_t handle, cudaEvent_t event) {
    Context *context;
    TRY(find(handle, &context));
    return gs_record_context(context, event);
}

PUBLIC cudaError_t cudaExecutionCtxWaitEvent(cudaExecutionContext_t handle, cudaEvent_t event) {
    Context *context;
    TRY(find(handle, &context));
    return gs_hold_context(context, event);
}
