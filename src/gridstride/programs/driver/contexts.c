/* Contexts: each GPU's primary one, which is the runtime's, and those that the program makes; a stack for each thread. */
#include "execution_contexts.h"

enum { ALIVE = 0x43545854, GONE = 0 };
enum { API_VERSION = 3020, MOST_PUSHED = 1024 };

_Thread_local Context *gs_context; /* the top of the thread's stack */
static _Thread_local Context **pushed;
static _Thread_local int depth, room;

static Context primary[GS_MOST_DEVICES];
static Context *made; /* those that the program made, destroyed ones too: who uses one gets an error and no crash */
static int initialised;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int forked; /* the process has an initialised parent's memory, and no GPU: as on hardware */
int gs_initialised(void) { return __atomic_load_n(&initialised, __ATOMIC_ACQUIRE) && !forked; }
int gs_is_forked(void) { return forked; }
PUBLIC void gs_forked(void) {
    forked = initialised;
    if (forked)
        gs_set_fault(cudaErrorInitializationError);
}
int gs_is_alive(const Context *context) { return context == NULL || context->state == ALIVE; }
int gs_is_primary(const Context *context) { return context >= primary && context < primary + GS_MOST_DEVICES; }

int gs_context_device(const Context *context) { return context->device; }

unsigned long long gs_next_context_id(void) {
    static unsigned long long last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

Context *gs_primary(int device) {
    Context *context = &primary[device];
    pthread_mutex_lock(&lock);
    if (context->id == 0)
        context->primary = 1, context->device = device, context->id = gs_next_context_id();
    pthread_mutex_unlock(&lock);
    return context;
}

int gs_is_context(const Context *context) {
    if (gs_is_primary(context) || gs_green_of(context) != NULL)
        return context->state == ALIVE;
    for (const Context *each = made; each != NULL; each = each->next)
        if (each == context)
            return each->state == ALIVE;
    return 0;
}

/* -- the thread's stack -------------------------------------------------------------------------------------------- */
static void set_top(Context *context) {
    gs_context = context;
    if (context != NULL)
        gs_make_current(context->device);
}

static int push(Context *context) {
    if (depth == MOST_PUSHED)
        return 0;
    if (depth == room)
        pushed = realloc(pushed, (room = room ? 2 * room : 8) * sizeof *pushed);
    pushed[depth++] = context;
    set_top(context);
    return 1;
}

static void pop(void) {
    depth--;
    set_top(depth > 0 ? pushed[depth - 1] : NULL);
}

static void replace_top(Context *context) {
    if (depth == 0)
        push(context);
    else
        pushed[depth - 1] = context, set_top(context);
}

void gs_use_primary(int device) {
    Context *context = gs_primary(device);
    context->runtime_uses = 1;
    context->state = ALIVE;
    __atomic_store_n(&initialised, 1, __ATOMIC_RELEASE);
    replace_top(context);
}

CUresult gs_enter_driver(void) {
    gs_begin_call(NULL, NULL, NULL); /* what was called before is none of this */
    gs_await_host_function();
    ENTER_INITIALISED();
    NEED(!gs_in_host_function, CUDA_ERROR_NOT_PERMITTED);
    NEED(gs_context != NULL, CUDA_ERROR_INVALID_CONTEXT);
    NEED(gs_context->state == ALIVE, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return gs_result(gs_fault());
}

/* -- functions ----------------------------------------------------------------------------------------------------- */
PUBLIC CUresult CUDAAPI cuInit(unsigned flags) {
    NEED(flags == 0, CUDA_ERROR_INVALID_VALUE);
    NEED(!forked, CUDA_ERROR_NOT_INITIALIZED);
    __atomic_store_n(&initialised, 1, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *context, unsigned flags, CUdevice device) {
    ENTER_INITIALISED();
    NEED(context != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    NEED((flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0, CUDA_ERROR_INVALID_VALUE);
    GIVE(gs_result(gs_fault()));
    Context *new = calloc(1, sizeof *new);
    *new = (Context){.state = ALIVE, .device = device, .flags = flags, .id = gs_next_context_id()};
    pthread_mutex_lock(&lock);
    new->next = made;
    made = new;
    pthread_mutex_unlock(&lock);
    if (!push(new))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *context = new;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxCreate(CUcontext *context, CUctxCreateParams *parameters, unsigned flags, CUdevice device) {
    if (parameters != NULL && (parameters->numExecAffinityParams != 0 || parameters->cigParams != NULL))
        return RUNTIME(gs_refused("cuCtxCreate", "parts of a GPU and graphics are nothing that the virtual GPU has"));
    return create(context, flags, device);
}

/* As they were before CUDA 12.5, for who asks for them by name. */
PUBLIC CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    return create(context, flags, device);
}

PUBLIC CUresult CUDAAPI cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *parts, int count, unsigned flags,
                                       CUdevice device) {
    return cuCtxCreate(context, &(CUctxCreateParams){.execAffinityParams = parts, .numExecAffinityParams = count}, flags,
                       device);
}

/* All that was made while it was current goes with it. */
static void end(Context *context) {
    gs_board.waited(WAITED_DEVICE, context->device);
    context->state = GONE;
    gs_unload_context(context);
    gs_forget_all(context->device, context);
}

PUBLIC CUresult CUDAAPI cuCtxDestroy(CUcontext context) {
    ENTER_INITIALISED();
    NEED(gs_is_context(context) && !gs_is_primary(context) && gs_green_of(context) == NULL, CUDA_ERROR_INVALID_CONTEXT);
    end(context);
    if (context == gs_context)
        pop();
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxDetach(CUcontext context) { return cuCtxDestroy(context); }

PUBLIC CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
    ENTER_INITIALISED();
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    return push(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

PUBLIC CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context) {
    ENTER_INITIALISED();
    NEED(depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (context != NULL)
        *context = gs_context;
    pop();
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
    ENTER_INITIALISED();
    if (context == NULL) {
        if (depth > 0)
            pop();
        return CUDA_SUCCESS;
    }
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    replace_top(context);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context) {
    ENTER_INITIALISED();
    NEED(context != NULL, CUDA_ERROR_INVALID_VALUE);
    *context = gs_context;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext context) {
    ENTER_INITIALISED();
    context = context != NULL ? context : gs_context;
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    NEED(device != NULL, CUDA_ERROR_INVALID_VALUE);
    *device = context->device;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxGetDevice(CUdevice *device) {
    ENTER_INITIALISED(); /* and no look at faults, of which hardware does not know before something waits */
    return cuCtxGetDevice_v2(device, NULL);
}

PUBLIC CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long *id) {
    ENTER_INITIALISED();
    context = context != NULL ? context : gs_context;
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    NEED(id != NULL, CUDA_ERROR_INVALID_VALUE);
    *id = context->id;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxGetApiVersion(CUcontext context, unsigned *version) {
    ENTER_INITIALISED();
    context = context != NULL ? context : gs_context;
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    NEED(version != NULL, CUDA_ERROR_INVALID_VALUE);
    *version = API_VERSION;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxGetFlags(unsigned *flags) {
    ENTER_DRIVER();
    NEED(flags != NULL, CUDA_ERROR_INVALID_VALUE);
    *flags = gs_context->flags;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxSetFlags(unsigned flags) {
    ENTER_DRIVER();
    NEED((flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0, CUDA_ERROR_INVALID_VALUE);
    gs_context->flags = flags;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context) {
    ENTER_INITIALISED();
    context = context != NULL ? context : gs_context;
    NEED(gs_is_context(context), CUDA_ERROR_INVALID_CONTEXT);
    GIVE(gs_result(gs_fault()));
    if (gs_green_of(context) != NULL)
        return RUNTIME(gs_wait_for_context(context));
    int before = gs_current();
    gs_make_current(context->device);
    CUresult result = RUNTIME(gs_may_wait_for_device());
    gs_make_current(before);
    GIVE(result);
    gs_board.waited(WAITED_DEVICE, context->device);
    return gs_result(gs_fault());
}

PUBLIC CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    ENTER_DRIVER();
    NEED(gs_is_context(peer), CUDA_ERROR_INVALID_CONTEXT);
    CUresult result = RUNTIME(cudaDeviceEnablePeerAccess(peer->device, flags));
    return result == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_CONTEXT : result;
}

PUBLIC CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) {
    ENTER_DRIVER();
    NEED(gs_is_context(peer), CUDA_ERROR_INVALID_CONTEXT);
    return RUNTIME(cudaDeviceDisablePeerAccess(peer->device));
}

/* -- primary contexts ---------------------------------------------------------------------------------------------- */
void gs_reset_device(int device) {
    Context *context = gs_primary(device);
    gs_board.waited(WAITED_DEVICE, device);
    gs_unload_context(context);
    gs_unload_modules(device);
    gs_forget_all(device, context);
    gs_forget_peers(device);
    gs_board.limit(cudaLimitMallocHeapSize, RESET_LIMIT, &(uint64_t){0}); /* which may be set again */
}

Context *gs_retain_primary(int device) {
    Context *known = gs_primary(device);
    __atomic_add_fetch(&known->uses, 1, __ATOMIC_RELAXED);
    known->state = ALIVE;
    __atomic_store_n(&initialised, 1, __ATOMIC_RELEASE);
    return known;
}

PUBLIC CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER_INITIALISED();
    NEED(context != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    *context = gs_retain_primary(device);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
    ENTER_INITIALISED();
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    Context *known = gs_primary(device);
    NEED(known->uses > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (__atomic_sub_fetch(&known->uses, 1, __ATOMIC_RELAXED) == 0 && !known->runtime_uses) {
        gs_reset_device(device);
        known->state = GONE;
    }
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device) {
    ENTER_INITIALISED();
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    gs_reset_device(device);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    ENTER_INITIALISED();
    NEED(flags != NULL && active != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    *flags = gs_primary(device)->flags;
    *active = gs_primary(device)->state == ALIVE;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    ENTER_INITIALISED();
    NEED(gs_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    NEED((flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0, CUDA_ERROR_INVALID_VALUE);
    gs_primary(device)->flags = flags;
    return CUDA_SUCCESS;
}
