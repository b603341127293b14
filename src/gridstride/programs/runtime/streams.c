/* Streams and events. Work runs when it is given; when it would have run is the timeline's to say. */
#include <time.h>

#include "streams.h"

enum { ALIVE = 0x5354524d, GONE = 0 };

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * now.tv_sec + 1e-6 * now.tv_nsec;
}

int gs_is_stream(cudaStream_t stream) {
    return gs_is_default(stream) ||
           (stream->state == ALIVE && gs_is_alive(stream->context) && gs_is_alive(stream->green));
}

cudaError_t gs_no_stream(cudaStream_t stream) {
    int is_detached = !gs_is_default(stream) && stream->state == ALIVE && !gs_is_alive(stream->green);
    return is_detached ? cudaErrorStreamDetached : cudaErrorInvalidResourceHandle;
}

int gs_stream_device(cudaStream_t stream) { return gs_is_default(stream) ? gs_current() : stream->device; }

uint64_t gs_stream_number(cudaStream_t stream) {
    if (!gs_is_default(stream))
        return (uint64_t)stream;
    return 2 * gs_current() + (uint64_t)gs_named(stream);
}

__attribute__((visibility("hidden"))) int gs_zero_is_the_threads;

int gs_is_default(cudaStream_t stream) {
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

int gs_is_event(cudaEvent_t event) { return event != NULL && event->state == ALIVE && gs_is_alive(event->context); }

static cudaStream_t streams;
cudaStream_t gs_streams(void) { return __atomic_load_n(&streams, __ATOMIC_ACQUIRE); }

cudaError_t gs_new_stream(cudaStream_t *stream, unsigned flags, int priority, const Context *owner,
                          const Context *green) {
    static unsigned long long last = 16;
    int device = gs_context_device(owner);
    cudaStream_t made = malloc(sizeof *made);
    CHECK(made != NULL, cudaErrorMemoryAllocation);
    priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    *made = (struct CUstream_st){.state = ALIVE, .flags = flags, .device = device, .context = owner, .green = green,
                                 .priority = priority, .id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED)};
    made->next = gs_streams();
    while (!__atomic_compare_exchange_n(&streams, &made->next, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    gs_board.object(OBJECT_STREAM, 1);
    MODEL(add_stream(gs_stream_number(made), flags, priority, device));
    *stream = made;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    ENTER();
    CHECK(stream != NULL && flags <= cudaStreamNonBlocking, cudaErrorInvalidValue);
    const Context *owner = gs_owner();
    return gs_error(gs_new_stream(stream, flags, priority, owner, owner == gs_context ? NULL : gs_context));
}

PUBLIC cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

PUBLIC cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

PUBLIC cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    ENTER();
    CHECK(!gs_is_default(stream) && stream->state == ALIVE && gs_is_alive(stream->context),
          cudaErrorInvalidResourceHandle);
    stream->state = GONE;
    gs_board.object(OBJECT_STREAM, -1);
    return cudaSuccess;
}

static cudaError_t wait(cudaStream_t stream) {
    ENTER();
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    return cudaSuccess;
}

static cudaError_t may_wait(cudaStream_t stream) {
    TRY(wait(stream));
    if (gs_capturing(stream))
        return gs_spoil(stream);
    return gs_may_use(stream);
}

PUBLIC cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    TRY(may_wait(stream));
    gs_board.waited(WAITED_STREAM, gs_stream_number(stream));
    return gs_fault(); /* of what a late device has only done now */
}

/* Work runs when it is given: only the modelled clock has something outstanding. */
static cudaError_t query(int64_t what, uint64_t number) {
    if (gs_board.models && !gs_board.is_done(what, number))
        return gs_error(cudaErrorNotReady);
    gs_board.waited(what, number);
    return gs_fault();
}

PUBLIC cudaError_t cudaStreamQuery(cudaStream_t stream) {
    TRY(may_wait(stream));
    return query(WAITED_STREAM, gs_stream_number(stream));
}

PUBLIC cudaError_t cudaDeviceSynchronize(void) {
    ENTER();
    TRY(gs_may_wait_for_device());
    gs_board.waited(WAITED_DEVICE, gs_current());
    return gs_fault();
}

PUBLIC cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    TRY(wait(stream));
    CHECK(priority != NULL, cudaErrorInvalidValue);
    *priority = gs_is_default(stream) ? 0 : stream->priority;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags) {
    TRY(wait(stream));
    CHECK(flags != NULL, cudaErrorInvalidValue);
    *flags = gs_is_default(stream) ? 0 : stream->flags;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
    TRY(wait(stream));
    CHECK(id != NULL, cudaErrorInvalidValue);
    *id = gs_is_default(stream) ? (unsigned long long)(uintptr_t)gs_named(stream) : stream->id;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
    TRY(wait(stream));
    CHECK(device != NULL, cudaErrorInvalidValue);
    *device = gs_stream_device(stream);
    return cudaSuccess;
}

/* Managed memory is in one place for host and device: nothing is to be done. */
PUBLIC cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes, unsigned flags) {
    TRY(wait(stream));
    Block block;
    (void)bytes;
    CHECK(gs_block(pointer, &block) && block.kind == GS_MANAGED, cudaErrorInvalidValue);
    CHECK(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle,
          cudaErrorInvalidValue);
    CHECK(flags != cudaMemAttachSingle || (stream != NULL && stream != cudaStreamLegacy), cudaErrorInvalidValue);
    return cudaSuccess;
}

typedef struct {
    cudaStream_t stream;
    cudaStreamCallback_t callback;
    cudaHostFn_t function;
    void *data;
} HostWork;

_Thread_local int gs_in_host_function;

/* Either a callback or a function. */
static void call_host(const HostWork *work) {
    gs_in_host_function++;
    if (work->callback != NULL)
        work->callback(work->stream, cudaSuccess, work->data);
    else
        work->function(work->data);
    gs_in_host_function--;
    ORDER(host_returned());
}

static void host_work(const void *given) {
    const HostWork *work = given;
    MODEL(host_function(gs_stream_number(work->stream)));
    call_host(work);
}

/* A thread of its own, as the driver has one: whoever gives a function may hold a lock that it waits for, and then goes on
 * after a while. Until it has ended the thread that gave it waits in its next call. */
typedef struct {
    HostWork work;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ended;
} HostThread;
enum { PATIENCE_NS = 50 * 1000 * 1000 };
static _Thread_local HostThread *running;

static void *run_host_thread(void *given) {
    HostThread *own = given;
    call_host(&own->work);
    pthread_mutex_lock(&own->lock);
    own->ended = 1;
    pthread_cond_signal(&own->changed);
    pthread_mutex_unlock(&own->lock);
    return NULL;
}

void gs_await_host_function(void) {
    HostThread *awaited = running;
    if (awaited == NULL)
        return;
    running = NULL;
    pthread_join(awaited->thread, NULL);
    free(awaited);
}

/* A thread that ends makes no next call: whoever joins it knows then that its function has ended, too. */
static pthread_key_t at_thread_end;
static void end_of_thread(void *unused) { (void)unused, gs_await_host_function(); }
static void make_key(void) { pthread_key_create(&at_thread_end, end_of_thread); }
static void await_at_thread_end(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    pthread_setspecific(at_thread_end, &at_thread_end);
}

static cudaError_t give_host_work(HostWork work) {
    if (gs_is_late())
        return gs_put_off(work.stream, host_work, &work, sizeof work);
    HostThread *started = calloc(1, sizeof *started);
    started->work = work;
    pthread_mutex_init(&started->lock, NULL);
    pthread_cond_init(&started->changed, NULL);
    MODEL(host_function(gs_stream_number(work.stream)));
    if (pthread_create(&started->thread, NULL, run_host_thread, started) != 0) {
        free(started);
        call_host(&work);
        return cudaSuccess;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE_NS;
    until.tv_sec += until.tv_nsec / 1000000000, until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&started->lock);
    int waited = 0;
    while (!started->ended && waited == 0)
        waited = pthread_cond_timedwait(&started->changed, &started->lock, &until);
    int ended = started->ended;
    pthread_mutex_unlock(&started->lock);
    running = started;
    if (ended)
        gs_await_host_function();
    else
        await_at_thread_end();
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                         unsigned flags) {
    TRY(wait(stream));
    CHECK(callback != NULL && flags == 0, cudaErrorInvalidValue);
    if (gs_capturing(stream))
        return gs_spoil(stream);
    TRY(gs_may_use(stream));
    return give_host_work((HostWork){.stream = stream, .callback = callback, .data = data});
}

PUBLIC cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    TRY(wait(stream));
    CHECK(function != NULL, cudaErrorInvalidValue);
    CAPTURE(stream, .type = cudaGraphNodeTypeHost, .host = {.fn = function, .userData = data});
    return give_host_work((HostWork){.stream = stream, .function = function, .data = data});
}

PUBLIC cudaError_t cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t function, void *data, unsigned mode) {
    CHECK(mode == cudaHostTaskBlocking || mode == cudaHostTaskSpinWait, cudaErrorInvalidValue);
    return cudaLaunchHostFunc(stream, function, data);
}

PUBLIC cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    ENTER();
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = -5;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    ENTER();
    CHECK(event != NULL && flags <= 7, cudaErrorInvalidValue);
    CHECK(!(flags & cudaEventInterprocess) || flags & cudaEventDisableTiming, cudaErrorInvalidValue);
    *event = malloc(sizeof **event);
    **event = (struct CUevent_st){.state = ALIVE, .flags = flags, .device = gs_current(), .context = gs_owner()};
    gs_board.object(OBJECT_EVENT, 1);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

PUBLIC cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    TRY(wait(stream));
    CHECK(gs_is_event(event), cudaErrorInvalidResourceHandle);
    CHECK(flags <= cudaEventRecordExternal, cudaErrorInvalidValue);
    CHECK(event->device == gs_stream_device(stream), cudaErrorInvalidResourceHandle);
    if (flags == cudaEventRecordExternal)
        CAPTURE(stream, .type = cudaGraphNodeTypeEventRecord, .eventRecord.event = event);
    if (gs_capturing(stream))
        return gs_capture_record(stream, event);
    CHECK(flags != cudaEventRecordExternal, cudaErrorInvalidValue);
    TRY(gs_may_use(stream));
    event->capture = NULL;
    event->recorded = 1;
    if (event->flags & cudaEventInterprocess)
        gs_catch_up(); /* another process cannot ask for what is put off here */
    if (gs_board.models)
        gs_board.record((uint64_t)event, gs_stream_number(stream));
    else
        event->at_ms = now_ms();
    return cudaSuccess;
}

PUBLIC cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}

static cudaError_t check_event(cudaEvent_t event) {
    ENTER();
    CHECK(gs_is_event(event), cudaErrorInvalidResourceHandle);
    CHECK(event->capture == NULL, cudaErrorCapturedEvent);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaEventQuery(cudaEvent_t event) {
    TRY(check_event(event));
    return query(WAITED_EVENT, (uint64_t)event);
}

PUBLIC cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    TRY(check_event(event));
    gs_board.waited(WAITED_EVENT, (uint64_t)event);
    return gs_fault();
}

PUBLIC cudaError_t cudaEventDestroy(cudaEvent_t event) {
    ENTER();
    CHECK(gs_is_event(event), cudaErrorInvalidResourceHandle);
    event->state = GONE;
    gs_stop_sharing_event(event);
    gs_board.object(OBJECT_EVENT, -1);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    ENTER();
    CHECK(ms != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_event(start) && gs_is_event(end) && start->recorded && end->recorded, cudaErrorInvalidResourceHandle);
    CHECK(!((start->flags | end->flags) & cudaEventDisableTiming) && start->device == end->device,
          cudaErrorInvalidResourceHandle);
    CHECK(start->capture == NULL && end->capture == NULL, cudaErrorCapturedEvent);
    double elapsed = gs_board.models ? gs_board.elapsed_ms((uint64_t)start, (uint64_t)end) : end->at_ms - start->at_ms;
    if (elapsed != elapsed)
        return gs_error(cudaErrorNotReady);
    *ms = (float)elapsed;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    TRY(wait(stream));
    CHECK(gs_is_event(event), cudaErrorInvalidResourceHandle);
    CHECK(flags <= cudaEventWaitExternal, cudaErrorInvalidValue);
    if (flags == cudaEventWaitExternal)
        CAPTURE(stream, .type = cudaGraphNodeTypeWaitEvent, .eventWait.event = event);
    cudaError_t error;
    if (gs_capture_wait(stream, event, &error))
        return gs_error(error);
    CHECK(flags != cudaEventWaitExternal, cudaErrorInvalidValue);
    TRY(gs_may_use(stream));
    MODEL(follow(gs_stream_number(stream), (uint64_t)event));
    return cudaSuccess;
}
