/* Graphs as they run: copies in an order that keeps every edge, launched whole and changed in place. */
#define _GNU_SOURCE
#include <pthread.h>

#include "graphs.h"

enum { ALIVE = 0x45584543, GONE = 0 };

struct CUgraphExec_st {
    int state;
    unsigned id;
    Graph *graph; /* a copy: what the original becomes later is none of its business */
    Graph *original;
    unsigned long long flags;
    int given; /* to a late device, and in which stream the last time: its launches never overlap */
    cudaStream_t stream;
};

typedef struct cudaGraphNodeParams Does;

#define EXEC(exec) CHECK((exec) != NULL && (exec)->state == ALIVE, cudaErrorInvalidValue)

/* Memory of allocation nodes, in bytes: in use now, and at most. */
static uint64_t used, used_most;

static cudaError_t run_graph(const Graph *graph, cudaStream_t stream);

/* The device finds out by itself what comes next: the host is not asked. */
static cudaError_t run_conditional(const Node *node) {
    size_t run = 0;
    for (const Graph *body; gs_fault() == cudaSuccess && (body = gs_next_body(node, run)) != NULL; run++)
        TRY(run_graph(body, NULL));
    return gs_fault();
}

static _Thread_local const void *program_frame; /* where the program's functions end that are being called */

/* A place on this thread's stack below them belongs to one that has returned. */
static void look_at_stack(const struct cudaMemcpy3DParms *copy) {
    const void *const sides[] = {copy->srcPtr.ptr, copy->dstPtr.ptr};
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        if (sides[i] >= lowest && sides[i] < program_frame)
            gs_board.gone_frame((uint64_t)sides[i], copy->extent.width * copy->extent.height * copy->extent.depth);
}

static cudaError_t run_here(const Node *node) {
    const Does *does = &node->does;
    switch (does->type) {
    case cudaGraphNodeTypeKernel:
        gs_board.graph_call(GRAPH_KERNEL, 1);
        return gs_launch(does->kernel.func, does->kernel.gridDim, does->kernel.blockDim, does->kernel.kernelParams,
                         does->kernel.sharedMemBytes, node->cooperative, node->cluster, NULL);
    case cudaGraphNodeTypeMemcpy:
        if (gs_board.orders)
            look_at_stack(&does->memcpy.copyParams);
        return cudaMemcpy3DAsync(&does->memcpy.copyParams, NULL); /* nobody waits inside a graph */
    case cudaGraphNodeTypeMemset:
        return gs_fill_rows(&does->memset, NULL);
    case cudaGraphNodeTypeHost:
        MODEL(host_function(0));
        gs_in_host_function++;
        does->host.fn(does->host.userData);
        gs_in_host_function--;
        ORDER(host_returned());
        return cudaSuccess;
    case cudaGraphNodeTypeGraph:
        return run_graph(does->graph.graph, NULL);
    case cudaGraphNodeTypeConditional:
        return run_conditional(node);
    case cudaGraphNodeTypeEventRecord:
        return cudaEventRecord(does->eventRecord.event, NULL);
    case cudaGraphNodeTypeMemAlloc:
        used += does->alloc.bytesize;
        used_most = used > used_most ? used : used_most;
        return cudaSuccess;
    case cudaGraphNodeTypeMemFree: {
        Block block;
        if (gs_block(does->free.dptr, &block))
            used -= block.bytes < used ? block.bytes : used;
        return cudaSuccess;
    }
    case cudaGraphNodeTypeWaitEvent: /* work runs when it is given, so the event has come already */
        MODEL(follow(0, (uint64_t)does->eventWait.event));
        return cudaSuccess;
    default: /* nothing to do */
        return cudaSuccess;
    }
}

/* On the GPU that it was made for. */
static cudaError_t run_node(const Node *node) {
    int before = gs_current();
    gs_make_current(node->device);
    gs_node_partition = 1 + node->partition;
    cudaError_t error = run_here(node);
    gs_node_partition = 0;
    gs_make_current(before);
    return error;
}

/* Puts the nodes into an order in which each comes after those it needs; an error where there is none. Of those that
   nothing orders the first one made comes first, and the last one where the device is late. */
static cudaError_t sort(Graph *graph) {
    Node **sorted = malloc(graph->count * sizeof *sorted + 1);
    size_t done = 0;
    for (size_t before = SIZE_MAX; done < graph->count && before != done;) {
        before = done;
        for (size_t n = 0; n < graph->count; n++) {
            size_t i = gs_board.models == MODELS_LATE ? graph->count - 1 - n : n;
            Node *node = graph->nodes[i];
            size_t ready = 0;
            for (size_t j = 0; node != NULL && j < node->count; j++)
                for (size_t k = 0; k < done; k++)
                    ready += sorted[k] == node->after[j];
            if (node != NULL && ready == node->count)
                sorted[done++] = node, graph->nodes[i] = NULL;
        }
    }
    if (done < graph->count) { /* a circle: the nodes stay where they were, or behind those that are sorted */
        for (size_t i = 0; i < graph->count; i++)
            if (graph->nodes[i] != NULL)
                sorted[done++] = graph->nodes[i], graph->state = 0;
    }
    memcpy(graph->nodes, sorted, graph->count * sizeof *sorted);
    free(sorted);
    if (!gs_is_graph(graph))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < graph->count; i++) {
        Graph *const *within;
        size_t graphs = gs_graphs_within(graph->nodes[i], &within);
        for (size_t j = 0; j < graphs; j++)
            TRY(sort(within[j]));
    }
    return cudaSuccess;
}

/* Nodes go by their addresses. */
static void tell_node(const Node *node) {
    uint64_t after[node->count + 1];
    for (size_t i = 0; i < node->count; i++)
        after[i] = (uint64_t)node->after[i];
    gs_board.node((uint64_t)node, after, node->count);
}

static cudaError_t run_graph(const Graph *graph, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    MODEL(begin_graph(gs_stream_number(stream), graph->count));
    for (size_t i = 0; error == cudaSuccess && i < graph->count; i++) {
        if (gs_board.models)
            tell_node(graph->nodes[i]); /* one that is switched off still stands between others */
        error = graph->nodes[i]->enabled ? run_node(graph->nodes[i]) : cudaSuccess;
    }
    MODEL(end_graph());
    return error;
}

/* -- instances ----------------------------------------------------------------------------------------------------- */
static size_t nodes_of(const Graph *graph) {
    size_t nodes = graph->count;
    for (size_t i = 0; i < graph->count; i++) {
        Graph *const *bodies;
        size_t count = graph->nodes[i]->does.type == cudaGraphNodeTypeConditional
                           ? gs_graphs_within(graph->nodes[i], &bodies)
                           : 0;
        for (size_t j = 0; j < count; j++)
            nodes += nodes_of(bodies[j]);
    }
    return nodes;
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *params) {
    const Node *at = NULL;
    ENTER();
    params->result_out = cudaGraphInstantiateError;
    CHECK(exec != NULL && gs_is_graph(graph), cudaErrorInvalidValue);
    if (params->flags & cudaGraphInstantiateFlagDeviceLaunch)
        return gs_refused("cudaGraphInstantiate", "a graph that kernels launch");
    CHECK(graph->around == NULL && graph->instances == 0, cudaErrorNotSupported);
    params->result_out = gs_check_conditions(graph, &at);
    params->errNode_out = (cudaGraphNode_t)at;
    CHECK(params->result_out == cudaGraphInstantiateSuccess, cudaErrorInvalidValue);
    Graph *copy = gs_copy_graph(graph);
    if (sort(copy) != cudaSuccess) {
        gs_delete_graph(copy);
        params->result_out = cudaGraphInstantiateInvalidStructure;
        return gs_error(cudaErrorInvalidValue);
    }
    graph->instances = gs_has_conditions(graph) || gs_has_memory_nodes(graph);
    gs_board.graph_call(GRAPH_INSTANTIATED, nodes_of(copy));
    gs_board.object(OBJECT_INSTANCE, 1);
    *exec = malloc(sizeof **exec);
    **exec = (struct CUgraphExec_st){ALIVE, copy->id, copy, graph, params->flags};
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    return instantiate(exec, graph, &(cudaGraphInstantiateParams){.flags = flags});
}

PUBLIC cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

PUBLIC cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                  cudaGraphInstantiateParams *params) {
    CHECK(params != NULL, cudaErrorInvalidValue);
    params->errNode_out = NULL;
    return instantiate(exec, graph, params);
}

PUBLIC cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    ENTER();
    EXEC(exec);
    gs_catch_up();
    gs_delete_graph(exec->graph);
    exec->original->instances = 0;
    exec->state = GONE;
    gs_board.object(OBJECT_INSTANCE, -1);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) {
    EXEC(exec);
    CHECK(flags != NULL, cudaErrorInvalidValue);
    *flags = exec->flags;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphExecGetId(cudaGraphExec_t exec, unsigned *id) {
    EXEC(exec);
    CHECK(id != NULL, cudaErrorInvalidValue);
    *id = exec->id;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER();
    EXEC(exec);
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    return cudaSuccess;
}

typedef struct {
    const Graph *graph;
    cudaStream_t stream;
} GraphLaunch;

static void late_graph(const void *given) {
    const GraphLaunch *late = given;
    gs_reset_conditions(late->graph);
    run_graph(late->graph, late->stream);
}

static int records_events(const Graph *graph) {
    int found = 0;
    for (size_t i = 0; i < graph->count; i++) {
        Graph *const *within;
        size_t graphs = gs_graphs_within(graph->nodes[i], &within);
        found |= graph->nodes[i]->does.type == cudaGraphNodeTypeEventRecord;
        for (size_t j = 0; j < graphs; j++)
            found |= records_events(within[j]);
    }
    return found;
}

static cudaError_t launch_late(cudaGraphExec_t exec, cudaStream_t stream) {
    if (exec->given && exec->stream != stream)
        gs_board.waited(WAITED_STREAM, gs_stream_number(exec->stream));
    exec->given = 1, exec->stream = stream;
    GraphLaunch late = {exec->graph, stream};
    gs_put_off(stream, late_graph, &late, sizeof late);
    if (records_events(exec->graph)) /* who waits for one waits for what this launch makes of it */
        gs_board.waited(WAITED_STREAM, gs_stream_number(stream));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER();
    EXEC(exec);
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    if (gs_capturing(stream) && gs_has_conditions(exec->graph))
        return gs_spoil(stream); /* it cannot be a child */
    CAPTURE(stream, .type = cudaGraphNodeTypeGraph, .graph.graph = exec->graph);
    CHECK(gs_lend_memory(exec->graph, (exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0),
          cudaErrorInvalidValue);
    gs_board.graph_call(GRAPH_LAUNCHED, exec->graph->count);
    if (gs_is_late())
        return launch_late(exec, stream);
    gs_reset_conditions(exec->graph);
    program_frame = __builtin_frame_address(0);
    ORDER(follow(gs_stream_number(stream), (uint64_t)exec)); /* launches of one instance come one behind another */
    cudaError_t error = run_graph(exec->graph, stream);
    ORDER(record((uint64_t)exec, gs_stream_number(stream)));
    return gs_error(error);
}

/* -- changing an instance ------------------------------------------------------------------------------------------ */
static cudaError_t change(cudaGraphExec_t exec, const Node *original, const Does *does) {
    ENTER();
    EXEC(exec);
    gs_catch_up();
    Node *node = gs_copy_of(original, exec->graph);
    CHECK(node != NULL && node->does.type == does->type, cudaErrorInvalidValue);
    TRY(gs_set_node(node, does));
    gs_board.graph_call(GRAPH_NODE_SET, 1);
    return does->type == cudaGraphNodeTypeGraph ? gs_error(sort(node->does.graph.graph)) : cudaSuccess;
}

/* The nodes of another graph take the place of an instance's, in the order in which both were made. */
static int same_edges(const Node *node, const Node *other, Node *const *nodes, Node *const *others, size_t count) {
    for (size_t i = 0; node->count == other->count && i < node->count; i++) {
        size_t place = 0;
        while (place < count && nodes[place] != node->after[i])
            place++;
        size_t seen = 0;
        for (size_t j = 0; place < count && j < other->count; j++)
            seen += others[place] == other->after[j];
        if (seen == 0)
            return 0;
    }
    return node->count == other->count;
}

static int in_order(const void *one, const void *other) {
    unsigned long long a = (*(Node *const *)one)->number, b = (*(Node *const *)other)->number;
    return (a > b) - (a < b);
}

/* The nodes in the order in which they were made, which is what two graphs are compared in. */
static Node **as_made(const Graph *graph) {
    Node **nodes = malloc((graph->count + 1) * sizeof *nodes);
    memcpy(nodes, graph->nodes, graph->count * sizeof *nodes);
    qsort(nodes, graph->count, sizeof *nodes, in_order);
    return nodes;
}

static enum cudaGraphExecUpdateResult mismatch(const Graph *graph, const Graph *other, Node **at);

static enum cudaGraphExecUpdateResult mismatched_bodies(const Node *node, const Node *other, Node **at) {
    const struct cudaConditionalNodeParams *one = &node->does.conditional, *two = &other->does.conditional;
    enum cudaGraphExecUpdateResult result = cudaGraphExecUpdateSuccess;
    if (one->type != two->type || one->size != two->size)
        return cudaGraphExecUpdateErrorParametersChanged;
    for (unsigned i = 0; i < one->size && result == cudaGraphExecUpdateSuccess; i++)
        result = mismatch(one->phGraph_out[i], two->phGraph_out[i], at);
    return result;
}

static enum cudaGraphExecUpdateResult mismatch(const Graph *graph, const Graph *other, Node **at) {
    enum cudaGraphExecUpdateResult result = cudaGraphExecUpdateSuccess;
    *at = NULL;
    if (graph->count != other->count)
        return cudaGraphExecUpdateErrorTopologyChanged;
    Node **nodes = as_made(graph), **others = as_made(other);
    for (size_t i = 0; i < graph->count && result == cudaGraphExecUpdateSuccess; i++) {
        if (nodes[i]->does.type != others[i]->does.type)
            result = cudaGraphExecUpdateErrorNodeTypeChanged;
        else if (!same_edges(nodes[i], others[i], nodes, others, graph->count))
            result = cudaGraphExecUpdateErrorTopologyChanged;
        else if (nodes[i]->does.type == cudaGraphNodeTypeConditional)
            result = mismatched_bodies(nodes[i], others[i], at);
        if (result != cudaGraphExecUpdateSuccess && *at == NULL)
            *at = others[i];
    }
    free(nodes);
    free(others);
    return result;
}

static cudaError_t take_over(Graph *graph, const Graph *other);

static cudaError_t take_over_node(Node *node, const Node *other) {
    cudaError_t error = cudaSuccess;
    if (node->does.type == cudaGraphNodeTypeConditional) {
        struct cudaConditionalNodeParams *does = &node->does.conditional;
        node->condition = other->condition, does->handle = other->does.conditional.handle;
        for (unsigned i = 0; i < does->size && error == cudaSuccess; i++)
            error = take_over(does->phGraph_out[i], other->does.conditional.phGraph_out[i]);
        return error;
    }
    TRY(gs_set_node(node, &other->does));
    node->cooperative = other->cooperative, node->cluster = other->cluster;
    return node->does.type == cudaGraphNodeTypeGraph ? sort(node->does.graph.graph) : cudaSuccess;
}

static cudaError_t take_over(Graph *graph, const Graph *other) {
    cudaError_t error = cudaSuccess;
    Node **nodes = as_made(graph), **others = as_made(other);
    for (size_t i = 0; i < graph->count && error == cudaSuccess; i++)
        error = take_over_node(nodes[i], others[i]);
    free(nodes);
    free(others);
    Graph before = {.conditions = graph->conditions, .condition_count = graph->condition_count};
    graph->conditions = NULL, graph->condition_count = 0;
    gs_copy_conditions(graph, other); /* before the old ones go: they may be the same */
    gs_drop_conditions(&before);
    return error;
}

PUBLIC cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info) {
    ENTER();
    EXEC(exec);
    CHECK(gs_is_graph(graph) && info != NULL, cudaErrorInvalidValue);
    gs_catch_up();
    *info = (cudaGraphExecUpdateResultInfo){0};
    info->result = mismatch(exec->graph, graph, &info->errorNode);
    CHECK(info->result == cudaGraphExecUpdateSuccess, cudaErrorGraphExecUpdateFailure);
    TRY(take_over(exec->graph, graph));
    gs_board.graph_call(GRAPH_UPDATED, nodes_of(graph));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                              struct cudaGraphNodeParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    return change(exec, node, given);
}

PUBLIC cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const struct cudaKernelNodeParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    return change(exec, node,
                  &(Does){.type = cudaGraphNodeTypeKernel,
                          .kernel = {.func = given->func, .gridDim = given->gridDim, .blockDim = given->blockDim,
                                     .sharedMemBytes = given->sharedMemBytes, .kernelParams = given->kernelParams,
                                     .extra = given->extra}});
}

PUBLIC cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const struct cudaMemcpy3DParms *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    return change(exec, node, &(Does){.type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = *given});
}

PUBLIC cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                      const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    return change(exec, node, &(Does){.type = cudaGraphNodeTypeMemcpy,
                                      .memcpy.copyParams = gs_plain_copy(to, from, bytes, kind)});
}

static cudaError_t change_symbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void *symbol, void *to,
                                 const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
    uint64_t address, size;
    TRY(gs_symbol(symbol, &address, &size));
    CHECK(offset <= size && bytes <= size - offset, cudaErrorInvalidValue);
    void *place = (char *)address + offset;
    return cudaGraphExecMemcpyNodeSetParams1D(exec, node, to ? to : place, to ? place : from, bytes, kind);
}

PUBLIC cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const void *symbol, const void *from, size_t bytes,
                                                            size_t offset, enum cudaMemcpyKind kind) {
    return change_symbol(exec, node, symbol, NULL, from, bytes, offset, kind);
}

PUBLIC cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                              const void *symbol, size_t bytes, size_t offset,
                                                              enum cudaMemcpyKind kind) {
    CHECK(to != NULL, cudaErrorInvalidValue);
    return change_symbol(exec, node, symbol, to, NULL, bytes, offset, kind);
}

PUBLIC cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const struct cudaMemsetParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    return change(exec, node,
                  &(Does){.type = cudaGraphNodeTypeMemset,
                          .memset = {.dst = given->dst, .pitch = given->pitch, .value = given->value,
                                     .elementSize = given->elementSize, .width = given->width,
                                     .height = given->height}});
}

PUBLIC cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  const struct cudaHostNodeParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    return change(exec, node,
                  &(Does){.type = cudaGraphNodeTypeHost, .host = {.fn = given->fn, .userData = given->userData}});
}

PUBLIC cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
    return change(exec, node, &(Does){.type = cudaGraphNodeTypeGraph, .graph.graph = child});
}

PUBLIC cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
    return change(exec, node, &(Does){.type = cudaGraphNodeTypeEventRecord, .eventRecord.event = event});
}

PUBLIC cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
    return change(exec, node, &(Does){.type = cudaGraphNodeTypeWaitEvent, .eventWait.event = event});
}

PUBLIC cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t original, unsigned enabled) {
    ENTER();
    EXEC(exec);
    gs_catch_up();
    Node *node = gs_copy_of(original, exec->graph);
    CHECK(node != NULL && (node->does.type == cudaGraphNodeTypeKernel || node->does.type == cudaGraphNodeTypeMemcpy ||
                           node->does.type == cudaGraphNodeTypeMemset),
          cudaErrorInvalidValue);
    node->enabled = enabled != 0;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t original, unsigned *enabled) {
    EXEC(exec);
    Node *node = gs_copy_of(original, exec->graph);
    CHECK(node != NULL && enabled != NULL, cudaErrorInvalidValue);
    *enabled = node->enabled;
    return cudaSuccess;
}

/* -- memory of graphs ---------------------------------------------------------------------------------------------- */
PUBLIC cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value) {
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    CHECK(value != NULL, cudaErrorInvalidValue);
    int most = attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
    *(uint64_t *)value = most ? used_most : used;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value) {
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    CHECK(value != NULL && (attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh),
          cudaErrorInvalidValue);
    used_most = used;
    return cudaSuccess;
}
