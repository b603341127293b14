/* Stream capture: work given to a stream becomes nodes of a graph, with the edges that streams and events mean. */
#include "graphs.h"
#include "streams.h"

/* One capture, from its begin to its end. The streams that take part are those whose `capture` it is. */
struct Capture {
    Graph *graph;
    int own_graph; /* made for the capture, not given by the caller */
    cudaStream_t origin;
    enum cudaStreamCaptureMode mode;
    unsigned long long id;
    pthread_t thread; /* that began it */
    int spoilt, ended;
    unsigned devices, blocking; /* a bit for each GPU with a stream that takes part, and that the legacy one waits for */
    cudaStream_t *streams;
    size_t stream_count;
    Capture *next;
};

static _Thread_local enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
static Capture *captures; /* those that go on */
static pthread_mutex_t captures_lock = PTHREAD_MUTEX_INITIALIZER;

/* Where a stream's part in a capture is kept: of a thread's default stream one for each GPU. NULL for the legacy one. */
static cudaStream_t kept(cudaStream_t stream) {
    static _Thread_local cudaStream_t own[GS_MOST_DEVICES];
    if (gs_named(stream) != cudaStreamPerThread)
        return gs_is_default(stream) ? NULL : stream;
    int device = gs_current();
    if (own[device] == NULL) {
        own[device] = calloc(1, sizeof *own[device]); /* it stays, as events may point to it when the thread has ended */
        own[device]->device = device;
    }
    return own[device];
}

int gs_capturing(cudaStream_t stream) {
    stream = kept(stream);
    return stream != NULL && stream->capture != NULL;
}

static void join(Capture *capture, cudaStream_t stream) {
    capture->streams = realloc(capture->streams, (capture->stream_count + 1) * sizeof *capture->streams);
    capture->streams[capture->stream_count++] = stream;
    stream->capture = capture;
    capture->devices |= 1u << stream->device;
    capture->blocking |= !(stream->flags & cudaStreamNonBlocking) << stream->device;
}

static void set_last(cudaStream_t stream, Node *const *nodes, size_t count) {
    Node **kept = malloc((count + 1) * sizeof *kept);
    if (count > 0)
        memcpy(kept, nodes, count * sizeof *kept);
    free(stream->last);
    stream->last = kept, stream->last_count = count;
}

/* The stream's last nodes and these, each once. */
static void add_last(cudaStream_t stream, Node *const *nodes, size_t count) {
    Node **both = malloc((stream->last_count + count + 1) * sizeof *both);
    size_t many = stream->last_count;
    memcpy(both, stream->last, many * sizeof *both);
    for (size_t i = 0; i < count; i++) {
        size_t known = 0;
        while (known < many && both[known] != nodes[i])
            known++;
        if (known == many)
            both[many++] = nodes[i];
    }
    free(stream->last);
    stream->last = both, stream->last_count = many;
}

cudaError_t gs_capture(cudaStream_t stream, const struct cudaGraphNodeParams *does) {
    cudaStream_t into = kept(stream);
    CHECK(!into->capture->spoilt, cudaErrorStreamCaptureInvalidated);
    Node *node;
    TRY(gs_add_node(&node, into->capture->graph, into->last, into->last_count, does));
    node->partition = gs_partition(stream);
    set_last(into, &node, 1);
    return cudaSuccess;
}

cudaError_t gs_capture_kernel(cudaStream_t stream, const struct cudaGraphNodeParams *does, int cooperative,
                              dim3 cluster) {
    TRY(gs_capture(stream, does));
    stream = kept(stream);
    stream->last[0]->cooperative = cooperative, stream->last[0]->cluster = cluster;
    return cudaSuccess;
}

cudaError_t gs_capture_allocation(cudaStream_t stream, void **pointer, size_t bytes) {
    TRY(gs_capture(stream, &(struct cudaGraphNodeParams){.type = cudaGraphNodeTypeMemAlloc, .alloc.bytesize = bytes}));
    *pointer = kept(stream)->last[0]->does.alloc.dptr;
    return cudaSuccess;
}

cudaError_t gs_spoil(cudaStream_t stream) {
    kept(stream)->capture->spoilt = 1;
    return gs_error(cudaErrorStreamCaptureUnsupported);
}

cudaError_t gs_spoil_event(cudaEvent_t event) {
    event->capture->spoilt = 1;
    return gs_error(cudaErrorStreamCaptureUnsupported);
}

/* Whether the capture forbids the calling thread what may not be safe. */
static int forbids_unsafe(const Capture *capture) {
    if (capture->mode == cudaStreamCaptureModeRelaxed || thread_mode == cudaStreamCaptureModeRelaxed)
        return 0;
    return pthread_equal(capture->thread, pthread_self()) ||
           (capture->mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal);
}

/* Whoever asks, and in whatever mode: the legacy stream and a GPU would have to wait for what is captured. */
static int is_in_legacy(const Capture *capture) { return capture->blocking >> gs_current() & 1; }
static int is_in_device(const Capture *capture) { return capture->devices >> gs_current() & 1; }

/* Whether any capture that goes on is so; these are spoilt if `spoils`. */
static int any_capture(int (*is)(const Capture *capture), int spoils) {
    if (__atomic_load_n(&captures, __ATOMIC_ACQUIRE) == NULL)
        return 0;
    int found = 0;
    pthread_mutex_lock(&captures_lock);
    for (Capture *each = captures; each != NULL; each = each->next)
        if (is(each))
            found = 1, each->spoilt |= spoils;
    pthread_mutex_unlock(&captures_lock);
    return found;
}

cudaError_t gs_may_be_unsafe(void) {
    return any_capture(forbids_unsafe, 1) ? gs_error(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t gs_may_wait_for_device(void) {
    return any_capture(is_in_device, 1) ? gs_error(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

/* What a graph's nodes and late work do has been given to another stream, or before. */
cudaError_t gs_may_use(cudaStream_t stream) {
    if (kept(stream) != NULL || gs_node_partition != 0 || (gs_board.models == MODELS_LATE && !gs_is_late()))
        return cudaSuccess;
    return any_capture(is_in_legacy, 1) ? gs_error(cudaErrorStreamCaptureImplicit) : cudaSuccess;
}

static void goes_on(Capture *capture) {
    pthread_mutex_lock(&captures_lock);
    capture->next = captures;
    __atomic_store_n(&captures, capture, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&captures_lock);
}

static void goes_on_no_longer(Capture *capture) {
    pthread_mutex_lock(&captures_lock);
    Capture **place = &captures;
    while (*place != NULL && *place != capture)
        place = &(*place)->next;
    if (*place != NULL)
        __atomic_store_n(place, capture->next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&captures_lock);
}

cudaError_t gs_capture_record(cudaStream_t stream, cudaEvent_t event) {
    stream = kept(stream);
    CHECK(!stream->capture->spoilt, cudaErrorStreamCaptureInvalidated);
    free(event->last);
    event->last = malloc((stream->last_count + 1) * sizeof *event->last);
    memcpy(event->last, stream->last, stream->last_count * sizeof *event->last);
    event->last_count = stream->last_count;
    event->capture = stream->capture;
    return cudaSuccess;
}

int gs_capture_wait(cudaStream_t stream, cudaEvent_t event, cudaError_t *error) {
    int capturing = gs_capturing(stream);
    *error = cudaSuccess;
    if (event->capture == NULL && !capturing)
        return 0;
    stream = kept(stream);
    if (event->capture != NULL && !event->capture->ended && capturing && stream->capture != event->capture) {
        stream->capture->spoilt = event->capture->spoilt = 1;
        *error = cudaErrorStreamCaptureMerge;
    } else if (event->capture == NULL || (capturing && stream->capture != event->capture)) {
        stream->capture->spoilt = 1;
        *error = cudaErrorStreamCaptureIsolation; /* what is outside of the capture cannot be waited for inside */
    } else if (event->capture->ended) {
        *error = cudaErrorCapturedEvent;
    } else if (stream == NULL) {
        event->capture->spoilt = 1;
        *error = cudaErrorStreamCaptureImplicit;
    } else {
        if (!capturing)
            join(event->capture, stream);
        add_last(stream, event->last, event->last_count);
    }
    return 1;
}

/* -- begin and end ------------------------------------------------------------------------------------------------- */
static cudaError_t begin(cudaStream_t stream, Graph *graph, Node *const *after, size_t count,
                         enum cudaStreamCaptureMode mode) {
    static unsigned long long last;
    ENTER();
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    stream = kept(stream);
    CHECK(stream != NULL, cudaErrorStreamCaptureUnsupported);
    CHECK(stream->capture == NULL, cudaErrorIllegalState);
    CHECK(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed, cudaErrorInvalidValue);
    Capture *capture = calloc(1, sizeof *capture);
    *capture = (Capture){.graph = graph ? graph : gs_new_graph(), .own_graph = graph == NULL, .origin = stream,
                         .mode = mode, .thread = pthread_self(),
                         .id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED)};
    join(capture, stream);
    set_last(stream, after, count);
    goes_on(capture);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    return begin(stream, NULL, NULL, 0, mode);
}

PUBLIC cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after,
                                                 const cudaGraphEdgeData *data, size_t count,
                                                 enum cudaStreamCaptureMode mode) {
    CHECK(gs_is_graph(graph) && (count == 0 || after != NULL), cudaErrorInvalidValue);
    return begin(stream, graph, after, count, mode);
}

static int reaches(const Node *from, const Node *to) {
    for (size_t i = 0; i < from->count; i++)
        if (from->after[i] == to || reaches(from->after[i], to))
            return 1;
    return 0;
}

/* Whether what another stream did last comes before something that the first one did last. */
static int is_joined(cudaStream_t origin, cudaStream_t stream) {
    for (size_t i = 0; i < stream->last_count; i++) {
        int joined = 0;
        for (size_t j = 0; j < origin->last_count; j++)
            joined |= origin->last[j] == stream->last[i] || reaches(origin->last[j], stream->last[i]);
        if (!joined)
            return 0;
    }
    return 1;
}

PUBLIC cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    ENTER();
    CHECK(gs_is_stream(stream) && kept(stream) != NULL, gs_no_stream(stream));
    stream = kept(stream);
    CHECK(stream->capture != NULL, cudaErrorIllegalState);
    Capture *capture = stream->capture;
    CHECK(capture->origin == stream, cudaErrorStreamCaptureUnmatched);
    CHECK(capture->mode == cudaStreamCaptureModeRelaxed || pthread_equal(capture->thread, pthread_self()),
          cudaErrorStreamCaptureWrongThread);
    cudaError_t error = capture->spoilt ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    for (size_t i = 0; i < capture->stream_count; i++) {
        cudaStream_t each = capture->streams[i];
        if (error == cudaSuccess && each != stream && !is_joined(stream, each))
            error = cudaErrorStreamCaptureUnjoined;
    }
    for (size_t i = 0; i < capture->stream_count; i++)
        set_last(capture->streams[i], NULL, 0), capture->streams[i]->capture = NULL;
    if (error != cudaSuccess && capture->own_graph)
        gs_delete_graph(capture->graph);
    else if (capture->own_graph)
        gs_board.object(OBJECT_GRAPH, 1);
    if (graph != NULL)
        *graph = error == cudaSuccess ? capture->graph : NULL;
    goes_on_no_longer(capture);
    free(capture->streams);
    capture->streams = NULL, capture->stream_count = 0, capture->ended = 1; /* events may still point to it */
    return gs_error(error);
}

PUBLIC cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    ENTER();
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(status != NULL, cudaErrorInvalidValue);
    CHECK(kept(stream) != NULL || !any_capture(is_in_legacy, 0), cudaErrorStreamCaptureImplicit);
    *status = !gs_capturing(stream)            ? cudaStreamCaptureStatusNone
              : kept(stream)->capture->spoilt ? cudaStreamCaptureStatusInvalidated
                                              : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                            unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes,
                                            const cudaGraphEdgeData **data, size_t *count) {
    TRY(cudaStreamIsCapturing(stream, status));
    if (*status != cudaStreamCaptureStatusActive)
        return cudaSuccess;
    stream = kept(stream);
    if (id != NULL)
        *id = stream->capture->id;
    if (graph != NULL)
        *graph = stream->capture->graph;
    if (nodes != NULL)
        *nodes = stream->last;
    if (data != NULL)
        *data = NULL; /* no edge says more than that it is there */
    if (count != NULL)
        *count = stream->last_count;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                       const cudaGraphEdgeData *data, size_t count, unsigned flags) {
    ENTER();
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(gs_capturing(stream), cudaErrorIllegalState);
    CHECK((count == 0 || nodes != NULL) && flags <= cudaStreamSetCaptureDependencies, cudaErrorInvalidValue);
    stream = kept(stream);
    for (size_t i = 0; i < count; i++)
        CHECK(gs_is_node(nodes[i]) && nodes[i]->graph == stream->capture->graph, cudaErrorInvalidValue);
    if (flags == cudaStreamSetCaptureDependencies)
        set_last(stream, nodes, count);
    else
        add_last(stream, nodes, count);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    CHECK(mode != NULL && *mode >= cudaStreamCaptureModeGlobal && *mode <= cudaStreamCaptureModeRelaxed,
          cudaErrorInvalidValue);
    enum cudaStreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return cudaSuccess;
}
