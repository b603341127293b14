/* Events of a whole context: all that its streams have been given. A primary context has its green ones' streams, too. */
#include "execution_contexts.h"

static int is_of(const struct CUstream_st *stream, const Context *context) {
    if (!gs_is_stream((cudaStream_t)stream) || stream->device != gs_context_device(context))
        return 0;
    return gs_green_of(context) != NULL ? stream->green == context : stream->context == context;
}

void gs_spoil_captures(const Context *context) {
    for (cudaStream_t each = gs_streams(); each != NULL; each = each->next)
        if (is_of(each, context) && gs_capturing(each))
            gs_spoil(each);
}

static cudaError_t check(const Context *context, cudaEvent_t event, int of_the_same) {
    CHECK(gs_is_event(event), cudaErrorInvalidResourceHandle);
    CHECK(!of_the_same || event->device == gs_context_device(context), cudaErrorInvalidResourceHandle);
    for (cudaStream_t each = gs_streams(); each != NULL; each = each->next)
        if (is_of(each, context) && gs_capturing(each)) {
            gs_spoil_captures(context);
            return gs_error(cudaErrorStreamCaptureUnsupported);
        }
    return cudaSuccess;
}

/* Calls a function for each stream's number. */
static void for_each(const Context *context, void (*call)(uint64_t stream, uint64_t data), uint64_t data) {
    uint64_t first = 2 * (uint64_t)gs_context_device(context) + 1;
    if (gs_green_of(context) == NULL)
        call(first, data), call(first + 1, data);
    for (cudaStream_t each = gs_streams(); each != NULL; each = each->next)
        if (is_of(each, context))
            call((uint64_t)each, data);
}

/* A stream that only the timeline knows, in which what others have done comes together. */
static uint64_t new_meeting(int device) {
    char *made = malloc(1); /* an address of its own */
    gs_board.add_stream((uint64_t)made, cudaStreamNonBlocking, 0, device);
    return (uint64_t)made;
}

static void meet(uint64_t stream, uint64_t meeting) {
    gs_board.record(meeting, stream); /* as an event of the same number, which each stream's own replaces */
    gs_board.follow(meeting, meeting);
}

static void hold(uint64_t stream, uint64_t event) { gs_board.follow(stream, event); }

static void wait(uint64_t stream, uint64_t data) {
    (void)data;
    gs_board.waited(WAITED_STREAM, stream);
}

cudaError_t gs_wait_for_context(const Context *context) {
    for_each(context, wait, 0);
    return gs_fault();
}

cudaError_t gs_record_context(const Context *context, cudaEvent_t event) {
    TRY(check(context, event, 1));
    if (!gs_board.models)
        return cudaEventRecord(event, NULL); /* all is done when it is given */
    uint64_t meeting = new_meeting(gs_context_device(context));
    for_each(context, meet, meeting);
    event->capture = NULL;
    event->recorded = 1;
    gs_board.record((uint64_t)event, meeting);
    return cudaSuccess;
}

cudaError_t gs_hold_context(Context *context, cudaEvent_t event) {
    TRY(check(context, event, 0));
    if (event->capture != NULL)
        return gs_spoil_event(event);
    if (!gs_board.models)
        return cudaSuccess;
    for_each(context, hold, (uint64_t)event);
    for (Green *green = gs_greens(); green != NULL; green = green->next)
        if (&green->context == context || gs_primary(green->context.device) == context) {
            if (green->gate == 0)
                green->gate = new_meeting(green->context.device);
            gs_board.follow(green->gate, (uint64_t)event);
            gs_board.record(green->gate, green->gate);
        }
    return cudaSuccess;
}
