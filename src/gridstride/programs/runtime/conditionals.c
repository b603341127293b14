/* Conditional nodes: handles whose values kernels set, and the bodies that run by them. */
#include "graphs.h"

size_t gs_graphs_within(const Node *node, Graph *const **bodies) {
    switch (node->does.type) {
    case cudaGraphNodeTypeGraph:
        *bodies = &node->does.graph.graph;
        return 1;
    case cudaGraphNodeTypeConditional:
        *bodies = node->does.conditional.phGraph_out;
        return node->does.conditional.size;
    default:
        return 0;
    }
}

int gs_has_conditions(const Graph *graph) {
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->does.type == cudaGraphNodeTypeConditional)
            return 1;
    return 0; /* a child graph has none: it would have been refused */
}

/* -- handles ------------------------------------------------------------------------------------------------------- */
static void list_condition(Graph *graph, Condition *condition) {
    graph->conditions = gs_grown(graph->conditions, graph->condition_count, sizeof *graph->conditions);
    graph->conditions[graph->condition_count++] = condition;
    condition->holders++;
}

static void drop(Condition *condition) {
    int gs_take(const void *pointer, MemoryKind first, MemoryKind second, Block *block);
    Block block;
    if (--condition->holders > 0)
        return;
    if (gs_take(condition->value, GS_DEVICE, GS_DEVICE, &block))
        gs_board.release(block.start);
    free(condition);
}

void gs_drop_conditions(Graph *graph) {
    for (size_t i = 0; i < graph->condition_count; i++)
        drop(graph->conditions[i]);
    free(graph->conditions);
    graph->conditions = NULL, graph->condition_count = 0;
}

void gs_copy_conditions(Graph *copy, const Graph *graph) {
    for (size_t i = 0; i < graph->condition_count; i++)
        list_condition(copy, graph->conditions[i]);
}

/* The graph that a body is in, however deep: handles are its, whichever of them they were created for. */
static Graph *outermost(Graph *graph) {
    while (graph->around != NULL)
        graph = graph->around->graph;
    return graph;
}

static Condition *condition_of(Graph *graph, cudaGraphConditionalHandle handle) {
    graph = outermost(graph);
    for (size_t i = 0; i < graph->condition_count; i++)
        if ((cudaGraphConditionalHandle)graph->conditions[i]->value == handle)
            return graph->conditions[i];
    return NULL;
}

static void assign(Value *value, unsigned number, int set) {
    *value = (Value){number, set};
    gs_written(value, sizeof *value);
}

void gs_reset_conditions(const Graph *graph) {
    for (size_t i = 0; i < graph->condition_count; i++) {
        const Condition *condition = graph->conditions[i];
        int applied = condition->flags & cudaGraphCondAssignDefault;
        assign(condition->value, applied ? condition->initial : 0, applied);
    }
}

PUBLIC cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                                    unsigned initial, unsigned flags) {
    ENTER();
    CHECK(handle != NULL && gs_is_graph(graph) && (flags & ~cudaGraphCondAssignDefault) == 0, cudaErrorInvalidValue);
    uint64_t address = gs_board.allocate(sizeof(Value), gs_current());
    CHECK(address != 0, cudaErrorMemoryAllocation);
    gs_remember(address, sizeof(Value), GS_DEVICE, address, GS_OF_A_GRAPH);
    Condition *condition = malloc(sizeof *condition);
    *condition = (Condition){.value = (Value *)address, .initial = initial, .flags = flags};
    assign(condition->value, 0, 0);
    list_condition(outermost(graph), condition);
    *handle = address;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                                       cudaExecutionContext_t context, unsigned initial,
                                                       unsigned flags) {
    if (context != NULL)
        return gs_refused("cudaGraphConditionalHandleCreate_v2", "a GPU is one context here: pass NULL");
    return cudaGraphConditionalHandleCreate(handle, graph, initial, flags);
}

/* -- nodes --------------------------------------------------------------------------------------------------------- */
cudaError_t gs_check_condition(Graph *graph, const struct cudaConditionalNodeParams *given) {
    const Condition *condition = condition_of(graph, given->handle);
    CHECK(condition != NULL && condition->node == NULL, cudaErrorInvalidValue);
    unsigned most = given->type == cudaGraphCondTypeIf ? 2 : given->type == cudaGraphCondTypeWhile ? 1 : UINT32_MAX;
    CHECK(given->type >= cudaGraphCondTypeIf && given->type <= cudaGraphCondTypeSwitch && given->size > 0 &&
              given->size <= most,
          cudaErrorInvalidValue);
    return cudaSuccess;
}

void gs_make_bodies(Node *node) {
    struct cudaConditionalNodeParams *does = &node->does.conditional;
    node->condition = condition_of(node->graph, does->handle);
    node->condition->node = node;
    does->phGraph_out = malloc(does->size * sizeof *does->phGraph_out);
    for (unsigned i = 0; i < does->size; i++) {
        does->phGraph_out[i] = gs_new_graph();
        does->phGraph_out[i]->around = node;
    }
}

void gs_copy_bodies(Node *copy) {
    struct cudaConditionalNodeParams *does = &copy->does.conditional;
    Graph **originals = does->phGraph_out;
    does->phGraph_out = malloc(does->size * sizeof *does->phGraph_out);
    for (unsigned i = 0; i < does->size; i++) {
        does->phGraph_out[i] = gs_copy_graph(originals[i]);
        does->phGraph_out[i]->around = copy;
    }
}

void gs_delete_bodies(Node *node) {
    struct cudaConditionalNodeParams *does = &node->does.conditional;
    for (unsigned i = 0; i < does->size; i++)
        gs_delete_graph(does->phGraph_out[i]);
    free(does->phGraph_out);
    does->phGraph_out = NULL, does->size = 0;
    if (node->condition->node == node)
        node->condition->node = NULL;
}

/* -- what may be launched ------------------------------------------------------------------------------------------ */
static int is_pageable(const void *pointer) {
    Block block;
    return pointer != NULL && !gs_in_arena(pointer) && !gs_block(pointer, &block);
}

static int may_stand_in_a_body(const Node *node) {
    switch (node->does.type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeConditional:
        return 1;
    case cudaGraphNodeTypeMemcpy: /* nobody would lend a hand to pageable memory */
        return !is_pageable(node->does.memcpy.copyParams.srcPtr.ptr) &&
               !is_pageable(node->does.memcpy.copyParams.dstPtr.ptr);
    default:
        return 0;
    }
}

/* The first node that may not stand in a body on this GPU; NULL for none. */
static const Node *misplaced(const Graph *body, int device) {
    for (size_t i = 0; i < body->count; i++) {
        const Node *node = body->nodes[i], *inner = NULL;
        if (!may_stand_in_a_body(node) || (node->does.type == cudaGraphNodeTypeKernel && node->device != device))
            return node;
        Graph *const *graphs;
        size_t count = gs_graphs_within(node, &graphs);
        for (size_t j = 0; j < count && inner == NULL; j++)
            inner = misplaced(graphs[j], device);
        if (inner != NULL)
            return inner;
    }
    return NULL;
}

enum cudaGraphInstantiateResult gs_check_conditions(const Graph *graph, const Node **at) {
    *at = NULL;
    for (size_t i = 0; i < graph->condition_count; i++)
        if (graph->conditions[i]->node == NULL)
            return cudaGraphInstantiateConditionalHandleUnused;
    for (size_t i = 0; i < graph->count && *at == NULL; i++) {
        const Node *node = graph->nodes[i];
        if (node->does.type == cudaGraphNodeTypeConditional)
            for (unsigned j = 0; j < node->does.conditional.size && *at == NULL; j++)
                *at = misplaced(node->does.conditional.phGraph_out[j], node->device);
    }
    return *at != NULL ? cudaGraphInstantiateError : cudaGraphInstantiateSuccess;
}

/* -- running ------------------------------------------------------------------------------------------------------- */
static void say_unset(void) {
    static int said;
    if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED) == 0)
        fprintf(stderr, "gridstride: a conditional node has looked at a value that nothing had set in this launch: it "
                        "is undefined. Give the handle cudaGraphCondAssignDefault, or let a kernel before the node "
                        "call cudaGraphSetConditional\n");
}

const Graph *gs_next_body(const Node *node, size_t run) {
    const struct cudaConditionalNodeParams *does = &node->does.conditional;
    if (run > 0 && does->type != cudaGraphCondTypeWhile)
        return NULL;
    const volatile Value *value = node->condition->value;
    gs_board.graph_call(GRAPH_CONDITION, 1);
    if (!value->set)
        say_unset();
    unsigned number = value->value;
    unsigned body = does->type == cudaGraphCondTypeSwitch ? number : number == 0;
    return body < does->size ? does->phGraph_out[body] : NULL;
}
