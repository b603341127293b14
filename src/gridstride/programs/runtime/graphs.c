/* Graphs as they are built: nodes, edges, copies, and what each node is told to do. */
#include "graphs.h"

enum { ALIVE = 0x47524150, GONE = 0 };

int gs_is_graph(const Graph *graph) { return graph != NULL && graph->state == ALIVE; }
int gs_is_node(const Node *node) { return node != NULL && node->state == ALIVE && gs_is_graph(node->graph); }

#define GRAPH(graph) CHECK(gs_is_graph(graph), cudaErrorInvalidValue)
#define NODE(node, kind) CHECK(gs_is_node(node) && (node)->does.type == (kind), cudaErrorInvalidValue)

void *gs_grown(void *list, size_t count, size_t each) {
    return count & (count - 1) ? list : realloc(list, (count ? 2 * count : 1) * each); /* full at every power of two */
}

/* -- making and ending --------------------------------------------------------------------------------------------- */
Graph *gs_new_graph(void) {
    static unsigned last;
    Graph *graph = calloc(1, sizeof *graph);
    graph->state = ALIVE;
    graph->id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return graph;
}

static GraphMemory *promised; /* that any graph holds */
static pthread_mutex_t promised_lock = PTHREAD_MUTEX_INITIALIZER;

static void let_go(GraphMemory *memory) {
    int gs_take(const void *pointer, MemoryKind first, MemoryKind second, Block *block);
    Block block;
    if (--memory->holders > 0)
        return;
    pthread_mutex_lock(&promised_lock);
    GraphMemory **place = &promised;
    while (*place != NULL && *place != memory)
        place = &(*place)->next;
    if (*place != NULL)
        *place = memory->next;
    pthread_mutex_unlock(&promised_lock);
    if (gs_take(memory->address, GS_DEVICE, GS_DEVICE, &block))
        gs_board.release(block.start);
    free(memory);
}

static void return_memory(const void *address) {
    for (GraphMemory *each = promised; each != NULL; each = each->next)
        if (each->address == address)
            each->lent = 0;
}

void gs_return_to_graph(const void *address) {
    pthread_mutex_lock(&promised_lock);
    return_memory(address);
    pthread_mutex_unlock(&promised_lock);
}

int gs_lend_memory(const Graph *graph, int again) {
    int lent = 0;
    pthread_mutex_lock(&promised_lock);
    for (size_t i = 0; i < graph->count; i++)
        lent |= graph->nodes[i]->memory != NULL && graph->nodes[i]->memory->lent;
    for (size_t i = 0; i < graph->count && (again || !lent); i++)
        if (graph->nodes[i]->memory != NULL)
            graph->nodes[i]->memory->lent = 1;
    for (size_t i = 0; i < graph->count && (again || !lent); i++)
        if (graph->nodes[i]->does.type == cudaGraphNodeTypeMemFree)
            return_memory(graph->nodes[i]->does.free.dptr);
    pthread_mutex_unlock(&promised_lock);
    return again || !lent;
}

static void delete_node(Node *node) {
    if (node->does.type == cudaGraphNodeTypeKernel)
        free(node->does.kernel.kernelParams);
    if (node->does.type == cudaGraphNodeTypeGraph)
        gs_delete_graph(node->does.graph.graph);
    if (node->does.type == cudaGraphNodeTypeConditional)
        gs_delete_bodies(node);
    if (node->memory != NULL)
        let_go(node->memory);
    free(node->after);
    node->after = NULL, node->count = 0, node->state = GONE;
}

void gs_delete_graph(Graph *graph) {
    for (size_t i = 0; i < graph->count; i++)
        delete_node(graph->nodes[i]);
    for (size_t i = 0; i < graph->object_count; i++)
        cudaUserObjectRelease(graph->objects[i], 1);
    gs_drop_conditions(graph);
    free(graph->nodes);
    free(graph->objects);
    graph->nodes = NULL, graph->objects = NULL, graph->count = graph->object_count = 0, graph->state = GONE;
}

PUBLIC cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    ENTER();
    CHECK(graph != NULL && flags == 0, cudaErrorInvalidValue);
    *graph = gs_new_graph();
    gs_board.object(OBJECT_GRAPH, 1);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    ENTER();
    GRAPH(graph);
    CHECK(graph->around == NULL, cudaErrorInvalidValue);
    gs_delete_graph(graph);
    gs_board.object(OBJECT_GRAPH, -1);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphGetId(cudaGraph_t graph, unsigned *id) {
    GRAPH(graph);
    CHECK(id != NULL, cudaErrorInvalidValue);
    *id = graph->id;
    return cudaSuccess;
}

/* -- edges --------------------------------------------------------------------------------------------------------- */
static size_t place_of(const Node *node, Node *const *list, size_t count) {
    size_t place = 0;
    while (place < count && list[place] != node)
        place++;
    return place;
}

static int comes_after(const Node *node, const Node *other) {
    return place_of(other, node->after, node->count) < node->count;
}

static void add_edge(Node *from, Node *to) {
    to->after = gs_grown(to->after, to->count, sizeof *to->after);
    to->after[to->count++] = from;
}

static cudaError_t edges(Graph *graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count, int add) {
    GRAPH(graph);
    CHECK(count == 0 || (from != NULL && to != NULL), cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        CHECK(gs_is_node(from[i]) && gs_is_node(to[i]) && from[i]->graph == graph && to[i]->graph == graph &&
                  from[i] != to[i] && comes_after(to[i], from[i]) != add,
              cudaErrorInvalidValue);
        if (add) {
            add_edge(from[i], to[i]);
        } else {
            size_t place = place_of(from[i], to[i]->after, to[i]->count--);
            memmove(to[i]->after + place, to[i]->after + place + 1, (to[i]->count - place) * sizeof(Node *));
        }
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                            const cudaGraphEdgeData *data, size_t count) {
    ENTER();
    return edges(graph, from, to, count, 1);
}

int gs_has_memory_nodes(const Graph *graph) {
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->does.type == cudaGraphNodeTypeMemAlloc || graph->nodes[i]->does.type == cudaGraphNodeTypeMemFree)
            return 1;
    return 0;
}

PUBLIC cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                               const cudaGraphNode_t *to, const cudaGraphEdgeData *data, size_t count) {
    ENTER();
    GRAPH(graph);
    CHECK(!gs_has_memory_nodes(graph), cudaErrorNotSupported);
    return edges(graph, from, to, count, 0);
}

/* Lists are asked for twice: without room for how many there are, then with it; what is left of the room is cleared. */
typedef struct {
    cudaGraphNode_t *nodes, *others;
    cudaGraphEdgeData *data;
    size_t room, count;
} Answer;

static void answer(Answer *list, Node *node, Node *other) {
    if (list->count < list->room) {
        if (list->nodes != NULL)
            list->nodes[list->count] = node;
        if (list->others != NULL)
            list->others[list->count] = other;
        if (list->data != NULL)
            memset(&list->data[list->count], 0, sizeof *list->data);
    }
    list->count++;
}

static cudaError_t answered(Answer *list, size_t *count) {
    for (size_t i = list->count; i < list->room && list->nodes != NULL; i++)
        list->nodes[i] = NULL;
    *count = list->nodes == NULL || list->count < list->room ? list->count : list->room;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    ENTER();
    GRAPH(graph);
    CHECK(count != NULL, cudaErrorInvalidValue);
    Answer list = {.nodes = nodes, .room = nodes ? *count : 0};
    for (size_t i = 0; i < graph->count; i++)
        answer(&list, graph->nodes[i], NULL);
    return answered(&list, count);
}

PUBLIC cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    ENTER();
    GRAPH(graph);
    CHECK(count != NULL, cudaErrorInvalidValue);
    Answer list = {.nodes = nodes, .room = nodes ? *count : 0};
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->count == 0)
            answer(&list, graph->nodes[i], NULL);
    return answered(&list, count);
}

PUBLIC cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                     cudaGraphEdgeData *data, size_t *count) {
    ENTER();
    GRAPH(graph);
    CHECK(count != NULL && (from == NULL) == (to == NULL), cudaErrorInvalidValue);
    Answer list = {.nodes = from, .others = to, .data = data, .room = from ? *count : 0};
    for (size_t i = 0; i < graph->count; i++)
        for (size_t j = 0; j < graph->nodes[i]->count; j++)
            answer(&list, graph->nodes[i]->after[j], graph->nodes[i]);
    return answered(&list, count);
}

PUBLIC cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data,
                                                size_t *count) {
    ENTER();
    CHECK(gs_is_node(node) && count != NULL, cudaErrorInvalidValue);
    Answer list = {.nodes = nodes, .data = data, .room = nodes ? *count : 0};
    for (size_t i = 0; i < node->count; i++)
        answer(&list, node->after[i], NULL);
    return answered(&list, count);
}

PUBLIC cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data,
                                                  size_t *count) {
    ENTER();
    CHECK(gs_is_node(node) && count != NULL, cudaErrorInvalidValue);
    Answer list = {.nodes = nodes, .data = data, .room = nodes ? *count : 0};
    for (size_t i = 0; i < node->graph->count; i++)
        if (comes_after(node->graph->nodes[i], node))
            answer(&list, node->graph->nodes[i], NULL);
    return answered(&list, count);
}

PUBLIC cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
    ENTER();
    CHECK(gs_is_node(node), cudaErrorInvalidValue);
    Graph *graph = node->graph;
    CHECK(!gs_has_memory_nodes(graph), cudaErrorNotSupported);
    for (size_t i = 0; i < graph->count; i++)
        if (comes_after(graph->nodes[i], node))
            edges(graph, &node, &graph->nodes[i], 1, 0);
    size_t place = place_of(node, graph->nodes, graph->count--);
    memmove(graph->nodes + place, graph->nodes + place + 1, (graph->count - place) * sizeof(Node *));
    delete_node(node);
    return cudaSuccess;
}

/* -- nodes --------------------------------------------------------------------------------------------------------- */
/* A launch with its arguments copied: the pointers, and behind them what they point to. */
static cudaError_t copied_launch(const struct cudaKernelNodeParamsV2 *given, struct cudaKernelNodeParamsV2 *copied) {
    Kernel *kernel;
    const KernelLayout *layout;
    TRY(gs_kernel(given->func, &kernel));
    TRY(gs_kernel_layout(kernel, &layout));
    TRY(gs_check_launch(kernel, layout, given->gridDim, given->blockDim, given->sharedMemBytes));
    CHECK(given->extra == NULL && (layout->count == 0 || given->kernelParams != NULL), cudaErrorInvalidValue);
    enum { ALIGNED = 16 };
    size_t bytes = (layout->count + 1) * sizeof(void *) + ALIGNED;
    for (int64_t i = 0; i < layout->count; i++)
        bytes += layout->sizes[i] + ALIGNED;
    void **pointers = malloc(bytes);
    char *place = (char *)(pointers + layout->count + 1);
    for (int64_t i = 0; i < layout->count; i++) {
        place += -(uintptr_t)place % ALIGNED;
        pointers[i] = memcpy(place, given->kernelParams[i], layout->sizes[i]);
        place += layout->sizes[i];
    }
    copied->func = (void *)gs_kernel_function(kernel);
    copied->kernelParams = pointers;
    return cudaSuccess;
}

struct cudaMemcpy3DParms gs_plain_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    return (struct cudaMemcpy3DParms){.srcPtr = {(void *)from, bytes, bytes, 1}, .dstPtr = {to, bytes, bytes, 1},
                                      .extent = {bytes, 1, 1}, .kind = kind};
}

/* One row of elements of two or four bytes. */
static void fill_elements(const void *given) {
    const struct cudaMemsetParamsV2 *row = given;
    gs_open_for_work(row->dst, row->width * row->elementSize);
    for (size_t i = 0; i < row->width; i++)
        memcpy((char *)row->dst + i * row->elementSize, &row->value, row->elementSize);
    gs_close_for_work(row->dst, row->width * row->elementSize);
}

cudaError_t gs_fill_rows(const struct cudaMemsetParamsV2 *fill, cudaStream_t stream) {
    if (fill->elementSize == 1)
        return cudaMemset2DAsync(fill->dst, fill->height > 1 ? fill->pitch : fill->width, fill->value, fill->width,
                                 fill->height, stream);
    for (size_t row = 0; row < fill->height; row++) {
        struct cudaMemsetParamsV2 one = *fill;
        size_t bytes = fill->width * fill->elementSize;
        one.dst = (char *)fill->dst + row * fill->pitch;
        TRY(cudaMemset2DAsync(one.dst, bytes, 0, bytes, 1, stream)); /* may it? */
        if (gs_is_late()) /* behind these zeros, which are put off too */
            gs_put_off(stream, fill_elements, &one, sizeof one);
        else
            fill_elements(&one);
    }
    return cudaSuccess;
}

static cudaError_t promise(Node *node, struct cudaMemAllocNodeParamsV2 *given) {
    CHECK(given->bytesize != 0, cudaErrorInvalidValue);
    uint64_t address = gs_board.allocate(given->bytesize, gs_current());
    CHECK(address != 0, cudaErrorMemoryAllocation);
    gs_remember(address, given->bytesize, GS_DEVICE, address, GS_OF_A_GRAPH);
    node->memory = malloc(sizeof *node->memory);
    *node->memory = (GraphMemory){.address = (void *)address, .bytes = given->bytesize, .holders = 1};
    pthread_mutex_lock(&promised_lock);
    node->memory->next = promised;
    promised = node->memory;
    pthread_mutex_unlock(&promised_lock);
    given->dptr = (void *)address;
    return cudaSuccess;
}

static cudaError_t checked(const struct cudaGraphNodeParams *does) {
    switch (does->type) {
    case cudaGraphNodeTypeMemset: {
        unsigned size = does->memset.elementSize;
        CHECK(does->memset.dst != NULL && (size == 1 || size == 2 || size == 4), cudaErrorInvalidValue);
        return cudaSuccess;
    }
    case cudaGraphNodeTypeHost:
        CHECK(does->host.fn != NULL, cudaErrorInvalidValue);
        return cudaSuccess;
    case cudaGraphNodeTypeGraph:
        CHECK(gs_is_graph(does->graph.graph), cudaErrorInvalidValue);
        CHECK(does->graph.graph->around == NULL && !gs_has_conditions(does->graph.graph), cudaErrorNotSupported);
        return cudaSuccess;
    case cudaGraphNodeTypeMemcpy: {
        const struct cudaMemcpy3DParms *copy = &does->memcpy.copyParams;
        CHECK((copy->srcArray != NULL) != (copy->srcPtr.ptr != NULL) &&
                  (copy->dstArray != NULL) != (copy->dstPtr.ptr != NULL),
              cudaErrorInvalidValue);
        return cudaSuccess;
    }
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        CHECK(gs_is_event(does->type == cudaGraphNodeTypeWaitEvent ? does->eventWait.event : does->eventRecord.event),
              cudaErrorInvalidValue);
        return cudaSuccess;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        return gs_refused("cudaGraphAddNode", "nothing outside shares semaphores with the virtual GPU");
    default:
        return cudaSuccess;
    }
}

cudaError_t gs_set_node(Node *node, const struct cudaGraphNodeParams *does) {
    CHECK(does->type != cudaGraphNodeTypeConditional, cudaErrorNotSupported); /* its bodies' nodes can be set */
    TRY(checked(does));
    struct cudaGraphNodeParams kept = *does;
    if (does->type == cudaGraphNodeTypeKernel)
        TRY(copied_launch(&does->kernel, &kept.kernel));
    if (does->type == cudaGraphNodeTypeGraph)
        kept.graph.graph = gs_copy_graph(does->graph.graph);
    if (node->does.type == cudaGraphNodeTypeKernel)
        free(node->does.kernel.kernelParams);
    if (node->does.type == cudaGraphNodeTypeGraph)
        gs_delete_graph(node->does.graph.graph);
    node->does = kept;
    return cudaSuccess;
}

cudaError_t gs_add_node(Node **made, Graph *graph, Node *const *after, size_t count,
                        const struct cudaGraphNodeParams *does) {
    CHECK(made != NULL && gs_is_graph(graph) && (count == 0 || after != NULL), cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        CHECK(gs_is_node(after[i]) && after[i]->graph == graph && place_of(after[i], after, i) == i,
              cudaErrorInvalidValue);
    static unsigned long long last;
    Node *node = calloc(1, sizeof *node);
    *node = (Node){.state = ALIVE, .graph = graph, .number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED),
                   .enabled = 1, .device = gs_current(), .partition = gs_partition(NULL), .does.type = cudaGraphNodeTypeEmpty};
    cudaError_t error;
    if (does->type == cudaGraphNodeTypeConditional) {
        node->does = *does;
        error = gs_check_condition(graph, &does->conditional);
    } else {
        error = gs_set_node(node, does);
    }
    if (error == cudaSuccess && does->type == cudaGraphNodeTypeMemAlloc)
        error = promise(node, &node->does.alloc);
    if (error != cudaSuccess) {
        free(node);
        return gs_error(error);
    }
    for (size_t i = 0; i < count; i++)
        add_edge(after[i], node);
    graph->nodes = gs_grown(graph->nodes, graph->count, sizeof *graph->nodes);
    graph->nodes[graph->count++] = node;
    if (does->type == cudaGraphNodeTypeConditional)
        gs_make_bodies(node);
    gs_board.graph_call(GRAPH_NODE_ADDED, 1);
    *made = node;
    return cudaSuccess;
}

/* -- copies -------------------------------------------------------------------------------------------------------- */
static Node *copied(const Node *node, Graph *into) {
    Node *copy = malloc(sizeof *copy);
    *copy = *node;
    copy->graph = into, copy->origin = node, copy->after = NULL, copy->count = 0;
    if (node->does.type == cudaGraphNodeTypeKernel &&
        copied_launch(&node->does.kernel, &copy->does.kernel) != cudaSuccess)
        copy->does.kernel.kernelParams = NULL; /* the module is gone; launching says so */
    if (node->does.type == cudaGraphNodeTypeGraph)
        copy->does.graph.graph = gs_copy_graph(node->does.graph.graph);
    if (node->does.type == cudaGraphNodeTypeConditional)
        gs_copy_bodies(copy);
    if (node->memory != NULL)
        node->memory->holders++;
    return copy;
}

Graph *gs_copy_graph(const Graph *graph) {
    Graph *copy = gs_new_graph();
    for (size_t i = 0; i < graph->count; i++) {
        copy->nodes = gs_grown(copy->nodes, i, sizeof *copy->nodes);
        copy->nodes[copy->count++] = copied(graph->nodes[i], copy);
    }
    for (size_t i = 0; i < graph->count; i++)
        for (size_t j = 0; j < graph->nodes[i]->count; j++)
            add_edge(copy->nodes[place_of(graph->nodes[i]->after[j], graph->nodes, graph->count)], copy->nodes[i]);
    for (size_t i = 0; i < graph->object_count; i++)
        cudaGraphRetainUserObject(copy, graph->objects[i], 1, 0);
    gs_copy_conditions(copy, graph);
    return copy;
}

Node *gs_copy_of(const Node *node, const Graph *copy) {
    for (size_t i = 0; i < copy->count; i++) {
        Node *each = copy->nodes[i];
        if (each->origin == node)
            return each;
        Graph *const *within;
        size_t graphs = gs_graphs_within(each, &within);
        for (size_t j = 0; j < graphs; j++)
            if ((each = gs_copy_of(node, within[j])) != NULL)
                return each;
    }
    return NULL;
}

PUBLIC cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
    ENTER();
    GRAPH(graph);
    CHECK(clone != NULL, cudaErrorInvalidValue);
    CHECK(graph->around == NULL && !gs_has_conditions(graph), cudaErrorNotSupported);
    CHECK(!gs_has_memory_nodes(graph), cudaErrorNotSupported);
    *clone = gs_copy_graph(graph);
    gs_board.object(OBJECT_GRAPH, 1);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone) {
    ENTER();
    GRAPH(clone);
    CHECK(node != NULL, cudaErrorInvalidValue);
    *node = gs_copy_of(original, clone);
    CHECK(*node != NULL, cudaErrorInvalidValue);
    return cudaSuccess;
}

/* -- one function for each kind of node ---------------------------------------------------------------------------- */
typedef struct cudaGraphNodeParams Does;
#define ADD(...) do { ENTER(); return gs_add_node(node, graph, after, count, &(Does){__VA_ARGS__}); } while (0)
#define ADDED cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count

PUBLIC cudaError_t cudaGraphAddEmptyNode(ADDED) {
    ADD(.type = cudaGraphNodeTypeEmpty);
}

static Does kernel_of(const struct cudaKernelNodeParams *given) {
    return (Does){.type = cudaGraphNodeTypeKernel,
                  .kernel = {.func = given->func, .gridDim = given->gridDim, .blockDim = given->blockDim,
                             .sharedMemBytes = given->sharedMemBytes, .kernelParams = given->kernelParams,
                             .extra = given->extra}};
}

static Does copy_of(const struct cudaMemcpy3DParms *given) {
    return (Does){.type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = *given};
}

static Does fill_of(const struct cudaMemsetParams *given) {
    return (Does){.type = cudaGraphNodeTypeMemset,
                  .memset = {.dst = given->dst, .pitch = given->pitch, .value = given->value,
                             .elementSize = given->elementSize, .width = given->width, .height = given->height}};
}

static Does call_of(const struct cudaHostNodeParams *given) {
    return (Does){.type = cudaGraphNodeTypeHost, .host = {.fn = given->fn, .userData = given->userData}};
}

static cudaError_t symbol_copy(Does *does, const void *symbol, void *to, const void *from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind) {
    uint64_t address, size;
    TRY(gs_symbol(symbol, &address, &size));
    CHECK(offset <= size && bytes <= size - offset, cudaErrorInvalidValue);
    void *place = (char *)address + offset;
    *does = (Does){.type = cudaGraphNodeTypeMemcpy,
                   .memcpy.copyParams = gs_plain_copy(to ? to : place, to ? place : from, bytes, kind)};
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphAddKernelNode(ADDED, const struct cudaKernelNodeParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    Does does = kernel_of(given);
    ENTER();
    return gs_add_node(node, graph, after, count, &does);
}

PUBLIC cudaError_t cudaGraphAddMemcpyNode(ADDED, const struct cudaMemcpy3DParms *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    Does does = copy_of(given);
    ENTER();
    return gs_add_node(node, graph, after, count, &does);
}

PUBLIC cudaError_t cudaGraphAddMemcpyNode1D(ADDED, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    ADD(.type = cudaGraphNodeTypeMemcpy, .memcpy.copyParams = gs_plain_copy(to, from, bytes, kind));
}

PUBLIC cudaError_t cudaGraphAddMemcpyNodeToSymbol(ADDED, const void *symbol, const void *from, size_t bytes,
                                                  size_t offset, enum cudaMemcpyKind kind) {
    ENTER();
    Does does;
    TRY(symbol_copy(&does, symbol, NULL, from, bytes, offset, kind));
    return gs_add_node(node, graph, after, count, &does);
}

PUBLIC cudaError_t cudaGraphAddMemcpyNodeFromSymbol(ADDED, void *to, const void *symbol, size_t bytes, size_t offset,
                                                    enum cudaMemcpyKind kind) {
    ENTER();
    Does does;
    CHECK(to != NULL, cudaErrorInvalidValue);
    TRY(symbol_copy(&does, symbol, to, NULL, bytes, offset, kind));
    return gs_add_node(node, graph, after, count, &does);
}

PUBLIC cudaError_t cudaGraphAddMemsetNode(ADDED, const struct cudaMemsetParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    Does does = fill_of(given);
    ENTER();
    return gs_add_node(node, graph, after, count, &does);
}

PUBLIC cudaError_t cudaGraphAddHostNode(ADDED, const struct cudaHostNodeParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    Does does = call_of(given);
    ENTER();
    return gs_add_node(node, graph, after, count, &does);
}

PUBLIC cudaError_t cudaGraphAddChildGraphNode(ADDED, cudaGraph_t child) {
    ADD(.type = cudaGraphNodeTypeGraph, .graph.graph = child);
}

PUBLIC cudaError_t cudaGraphAddEventRecordNode(ADDED, cudaEvent_t event) {
    ADD(.type = cudaGraphNodeTypeEventRecord, .eventRecord.event = event);
}

PUBLIC cudaError_t cudaGraphAddEventWaitNode(ADDED, cudaEvent_t event) {
    ADD(.type = cudaGraphNodeTypeWaitEvent, .eventWait.event = event);
}

PUBLIC cudaError_t cudaGraphAddMemAllocNode(ADDED, struct cudaMemAllocNodeParams *given) {
    ENTER();
    CHECK(given != NULL && node != NULL, cudaErrorInvalidValue);
    Does does = {.type = cudaGraphNodeTypeMemAlloc,
                 .alloc = {.poolProps = given->poolProps, .bytesize = given->bytesize}};
    TRY(gs_add_node(node, graph, after, count, &does));
    given->dptr = (*node)->does.alloc.dptr;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphAddMemFreeNode(ADDED, void *address) {
    Block block;
    CHECK(gs_block(address, &block) && block.start == (uint64_t)address, cudaErrorInvalidValue);
    ADD(.type = cudaGraphNodeTypeMemFree, .free.dptr = address);
}

PUBLIC cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                    const cudaGraphEdgeData *data, size_t count, struct cudaGraphNodeParams *given) {
    ENTER();
    CHECK(given != NULL, cudaErrorInvalidValue);
    TRY(gs_add_node(node, graph, after, count, given));
    if (given->type == cudaGraphNodeTypeMemAlloc)
        given->alloc.dptr = (*node)->does.alloc.dptr;
    if (given->type == cudaGraphNodeTypeConditional)
        given->conditional.phGraph_out = (*node)->does.conditional.phGraph_out;
    return cudaSuccess;
}

/* -- asking and changing ------------------------------------------------------------------------------------------- */
PUBLIC cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    ENTER();
    CHECK(gs_is_node(node) && type != NULL, cudaErrorInvalidValue);
    *type = node->does.type;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphNodeGetContainingGraph(cudaGraphNode_t node, cudaGraph_t *graph) {
    CHECK(gs_is_node(node) && graph != NULL, cudaErrorInvalidValue);
    *graph = node->graph;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphNodeGetLocalId(cudaGraphNode_t node, unsigned *id) {
    CHECK(gs_is_node(node) && id != NULL, cudaErrorInvalidValue);
    *id = (unsigned)place_of(node, node->graph->nodes, node->graph->count);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params) {
    NODE(node, cudaGraphNodeTypeKernel);
    CHECK(params != NULL, cudaErrorInvalidValue);
    const struct cudaKernelNodeParamsV2 *does = &node->does.kernel;
    *params = (struct cudaKernelNodeParams){does->func, does->gridDim, does->blockDim, does->sharedMemBytes,
                                            does->kernelParams, NULL};
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *params) {
    NODE(node, cudaGraphNodeTypeMemcpy);
    CHECK(params != NULL, cudaErrorInvalidValue);
    *params = node->does.memcpy.copyParams;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *params) {
    NODE(node, cudaGraphNodeTypeMemset);
    CHECK(params != NULL, cudaErrorInvalidValue);
    const struct cudaMemsetParamsV2 *does = &node->does.memset;
    *params = (struct cudaMemsetParams){does->dst, does->pitch, does->value, does->elementSize, does->width,
                                        does->height};
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *params) {
    NODE(node, cudaGraphNodeTypeHost);
    CHECK(params != NULL, cudaErrorInvalidValue);
    params->fn = node->does.host.fn, params->userData = node->does.host.userData;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph) {
    NODE(node, cudaGraphNodeTypeGraph);
    CHECK(graph != NULL, cudaErrorInvalidValue);
    *graph = node->does.graph.graph;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
    NODE(node, cudaGraphNodeTypeEventRecord);
    CHECK(event != NULL, cudaErrorInvalidValue);
    *event = node->does.eventRecord.event;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
    NODE(node, cudaGraphNodeTypeWaitEvent);
    CHECK(event != NULL, cudaErrorInvalidValue);
    *event = node->does.eventWait.event;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params) {
    NODE(node, cudaGraphNodeTypeMemAlloc);
    CHECK(params != NULL, cudaErrorInvalidValue);
    *params = (struct cudaMemAllocNodeParams){.poolProps = node->does.alloc.poolProps,
                                              .bytesize = node->does.alloc.bytesize, .dptr = node->does.alloc.dptr};
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *address) {
    NODE(node, cudaGraphNodeTypeMemFree);
    CHECK(address != NULL, cudaErrorInvalidValue);
    *(void **)address = node->does.free.dptr;
    return cudaSuccess;
}

static cudaError_t change(Node *node, const Does *does) {
    ENTER();
    NODE(node, does->type);
    return gs_set_node(node, does);
}

PUBLIC cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    return change(node, given);
}

PUBLIC cudaError_t cudaGraphNodeGetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *given) {
    CHECK(gs_is_node(node) && given != NULL, cudaErrorInvalidValue);
    *given = node->does;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    Does does = kernel_of(given);
    return change(node, &does);
}

PUBLIC cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    Does does = copy_of(given);
    return change(node, &does);
}

PUBLIC cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t bytes,
                                                  enum cudaMemcpyKind kind) {
    return change(node, &(Does){.type = cudaGraphNodeTypeMemcpy,
                                .memcpy.copyParams = gs_plain_copy(to, from, bytes, kind)});
}

PUBLIC cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *from,
                                                        size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
    Does does;
    TRY(symbol_copy(&does, symbol, NULL, from, bytes, offset, kind));
    return change(node, &does);
}

PUBLIC cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to, const void *symbol,
                                                          size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
    Does does;
    CHECK(to != NULL, cudaErrorInvalidValue);
    TRY(symbol_copy(&does, symbol, to, NULL, bytes, offset, kind));
    return change(node, &does);
}

PUBLIC cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    Does does = fill_of(given);
    return change(node, &does);
}

PUBLIC cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *given) {
    CHECK(given != NULL, cudaErrorInvalidValue);
    Does does = call_of(given);
    return change(node, &does);
}

PUBLIC cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return change(node, &(Does){.type = cudaGraphNodeTypeEventRecord, .eventRecord.event = event});
}

PUBLIC cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return change(node, &(Does){.type = cudaGraphNodeTypeWaitEvent, .eventWait.event = event});
}

PUBLIC cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                                   const cudaLaunchAttributeValue *value) {
    NODE(node, cudaGraphNodeTypeKernel);
    CHECK(value != NULL, cudaErrorInvalidValue);
    if (attribute == cudaLaunchAttributeCooperative)
        node->cooperative = value->cooperative;
    if (attribute == cudaLaunchAttributeClusterDimension)
        node->cluster = (dim3){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    return cudaSuccess; /* the others say what may overlap or where data should stay */
}

PUBLIC cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                                   cudaLaunchAttributeValue *value) {
    NODE(node, cudaGraphNodeTypeKernel);
    CHECK(value != NULL, cudaErrorInvalidValue);
    memset(value, 0, sizeof *value);
    if (attribute == cudaLaunchAttributeCooperative)
        value->cooperative = node->cooperative;
    if (attribute == cudaLaunchAttributeClusterDimension)
        value->clusterDim.x = node->cluster.x, value->clusterDim.y = node->cluster.y,
        value->clusterDim.z = node->cluster.z;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
    NODE(to, cudaGraphNodeTypeKernel);
    NODE(from, cudaGraphNodeTypeKernel);
    to->cooperative = from->cooperative, to->cluster = from->cluster;
    return cudaSuccess;
}

/* -- objects that live as long as a graph -------------------------------------------------------------------------- */
struct CUuserObject_st {
    int state, count;
    void *object;
    cudaHostFn_t destroy;
};

PUBLIC cudaError_t cudaUserObjectCreate(cudaUserObject_t *made, void *object, cudaHostFn_t destroy, unsigned count,
                                        unsigned flags) {
    CHECK(made != NULL && destroy != NULL && count > 0 && flags == cudaUserObjectNoDestructorSync,
          cudaErrorInvalidValue);
    *made = malloc(sizeof **made);
    **made = (struct CUuserObject_st){ALIVE, (int)count, object, destroy};
    return cudaSuccess;
}

PUBLIC cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
    CHECK(object != NULL && object->state == ALIVE && count > 0, cudaErrorInvalidValue);
    object->count += count;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
    CHECK(object != NULL && object->state == ALIVE && count > 0 && (int)count <= object->count, cudaErrorInvalidValue);
    object->count -= count;
    if (object->count == 0) {
        object->state = GONE;
        object->destroy(object->object);
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                             unsigned flags) {
    GRAPH(graph);
    CHECK(count > 0, cudaErrorInvalidValue);
    if (!(flags & cudaGraphUserObjectMove))
        TRY(cudaUserObjectRetain(object, count));
    for (unsigned i = 0; i < count; i++) {
        graph->objects = gs_grown(graph->objects, graph->object_count, sizeof *graph->objects);
        graph->objects[graph->object_count++] = object;
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
    GRAPH(graph);
    for (size_t i = graph->object_count; i-- > 0 && count > 0;)
        if (graph->objects[i] == object) {
            graph->objects[i] = graph->objects[--graph->object_count];
            TRY(cudaUserObjectRelease(object, 1));
            count--;
        }
    CHECK(count == 0, cudaErrorInvalidValue);
    return cudaSuccess;
}

/* -- as a picture -------------------------------------------------------------------------------------------------- */
static const char *label(const Node *node, char *room, size_t bytes) {
    static const char *const names[] = {"kernel", "memcpy", "memset", "host", "graph", "empty", "wait event",
                                        "record event", "signal", "wait", "malloc", "free", "", "conditional"};
    Kernel *kernel;
    const char *name = (size_t)node->does.type < sizeof names / sizeof *names ? names[node->does.type] : "";
    if (node->does.type == cudaGraphNodeTypeKernel && gs_kernel(node->does.kernel.func, &kernel) == cudaSuccess)
        name = gs_kernel_name(kernel);
    snprintf(room, bytes, "%s", name);
    return room;
}

PUBLIC cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags) {
    GRAPH(graph);
    CHECK(path != NULL, cudaErrorInvalidValue);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL, cudaErrorOperatingSystem);
    char room[256];
    fprintf(file, "digraph dot {\n");
    for (size_t i = 0; i < graph->count; i++)
        fprintf(file, "  node_%zu [label=\"%zu %s\"];\n", i, i, label(graph->nodes[i], room, sizeof room));
    for (size_t i = 0; i < graph->count; i++)
        for (size_t j = 0; j < graph->nodes[i]->count; j++)
            fprintf(file, "  node_%zu -> node_%zu;\n", place_of(graph->nodes[i]->after[j], graph->nodes, graph->count),
                    i);
    fprintf(file, "}\n");
    fclose(file);
    return cudaSuccess;
}
