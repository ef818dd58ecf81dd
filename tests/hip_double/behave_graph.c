/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave_graph.c - cases about graphs that are captured, made, changed and launched
 */
#include "behave.h"

#include <string.h>

enum { SOON_MS = 200 };

/* A word, and its address for devices. */
struct word {
    uint64_t *here, *there;
};

static struct word new_word(void)
{
    struct word word;

    word.here = behave_word(&word.there);
    return word;
}

static void store(hipStream_t stream, struct word word, uint64_t value)
{
    struct behave_words words = {word.there, value, NULL, 0};

    NEED(behave_launch(BEHAVE_STORE, stream, words) == hipSuccess);
}

static void await(hipStream_t stream, struct word gate)
{
    struct behave_words words = {gate.there, 1, NULL, 0};

    NEED(behave_launch(BEHAVE_WAIT, stream, words) == hipSuccess);
}

/* Does the word become the value within a short time? */
static bool becomes(struct word word, uint64_t value)
{
    for (int i = 0; i < SOON_MS && behave_get(word.here) != value; i++) {
        behave_nap(1);
    }
    return behave_get(word.here) == value;
}

static void begin(hipStream_t stream)
{
    /* Which loads the module: not during a capture. */
    static struct word spare;

    if (spare.here == NULL) {
        hipStream_t other = behave_stream();

        spare = new_word();
        store(other, spare, 1);
        NEED(hipStreamSynchronize(other) == hipSuccess);
    }
    NEED(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed) == hipSuccess);
}

static hipGraph_t end(hipStream_t stream)
{
    hipGraph_t graph = NULL;

    NEED(hipStreamEndCapture(stream, &graph) == hipSuccess && graph != NULL);
    return graph;
}

static hipGraphExec_t executable(hipGraph_t graph)
{
    hipGraphExec_t exec = NULL;

    NEED(hipGraphInstantiate(&exec, graph, NULL, NULL, 0) == hipSuccess && exec != NULL);
    NEED(hipGraphDestroy(graph) == hipSuccess);
    return exec;
}

static hipGraph_t graph_of_store(struct word word, uint64_t value)
{
    hipStream_t stream = behave_stream();

    begin(stream);
    store(stream, word, value);
    return end(stream);
}

static hipEvent_t event_in(hipStream_t stream)
{
    hipEvent_t event;

    NEED(hipEventCreateWithFlags(&event, hipEventDisableTiming) == hipSuccess);
    NEED(hipEventRecord(event, stream) == hipSuccess);
    return event;
}

static bool graph_launch(void)
{
    enum { BYTES = 8, TIMES = 3 };
    unsigned char bytes[BYTES], wanted[BYTES];
    hipStream_t stream = behave_stream();
    hipGraphExec_t exec;
    size_t count = 0;
    hipGraph_t graph;
    void *memory;

    NEED(hipMalloc(&memory, BYTES) == hipSuccess);
    NEED(hipMemset(memory, 0, BYTES) == hipSuccess);
    begin(stream);
    NEED(behave_launch(BEHAVE_ADD, stream, (struct behave_words){NULL, 1, memory, BYTES}) == 0);
    graph = end(stream);
    NEED(hipGraphGetNodes(graph, NULL, &count) == hipSuccess && count == 1);
    exec = executable(graph);
    NEED(hipMemcpy(bytes, memory, BYTES, hipMemcpyDefault) == hipSuccess && bytes[0] == 0);
    for (int i = 0; i < TIMES; i++) {
        NEED(hipGraphLaunch(exec, stream) == hipSuccess);
    }
    NEED(hipStreamSynchronize(stream) == hipSuccess);
    NEED(hipMemcpy(bytes, memory, BYTES, hipMemcpyDefault) == hipSuccess);
    NEED(hipGraphExecDestroy(exec) == hipSuccess);
    memset(wanted, TIMES, BYTES);
    return memcmp(bytes, wanted, BYTES) == 0;
}

static bool graph_stream(void)
{
    struct word before = new_word(), after = new_word(), inside = new_word(), word = new_word();
    hipStream_t stream = behave_stream();
    hipGraphExec_t exec;
    bool early;

    begin(stream);
    store(stream, inside, 1);
    await(stream, after);
    exec = executable(end(stream));
    await(stream, before);
    NEED(hipGraphLaunch(exec, stream) == hipSuccess);
    store(stream, word, 1);
    early = becomes(inside, 1) || behave_get(word.here) == 1;
    behave_set(before.here, 1);
    NEED(becomes(inside, 1));
    early = early || becomes(word, 1);
    behave_set(after.here, 1);
    NEED(hipStreamSynchronize(stream) == hipSuccess && behave_get(word.here) == 1);
    return !early;
}

/* Of two branches either may be held up, and the other one goes on; what comes after both waits for
 * both. */
static bool graph_branch(void)
{
    struct word gates[] = {new_word(), new_word()}, passed[] = {new_word(), new_word()};
    struct word both = new_word();
    hipStream_t stream = behave_stream(), branch = behave_stream();
    hipGraphExec_t exec;
    bool as_expected = true;

    begin(stream);
    NEED(hipStreamWaitEvent(branch, event_in(stream), 0) == hipSuccess);
    await(stream, gates[0]);
    store(stream, passed[0], 1);
    await(branch, gates[1]);
    store(branch, passed[1], 1);
    NEED(hipStreamWaitEvent(stream, event_in(branch), 0) == hipSuccess);
    store(stream, both, 1);
    exec = executable(end(stream));
    for (int first = 0; first < 2; first++) {
        for (int i = 0; i < 2; i++) {
            behave_set(gates[i].here, 0);
            behave_set(passed[i].here, 0);
        }
        behave_set(both.here, 0);
        NEED(hipGraphLaunch(exec, stream) == hipSuccess);
        behave_set(gates[first].here, 1);
        as_expected = as_expected && becomes(passed[first], 1) && !becomes(both, 1);
        behave_set(gates[!first].here, 1);
        NEED(hipStreamSynchronize(stream) == hipSuccess && behave_get(both.here) == 1);
    }
    return as_expected;
}

/* As many branches as there are hardware queues, and one more, wait; the last one waits for nothing
 * and is behind none of them. */
static bool graph_order(void)
{
    enum { BRANCHES = 6 };
    struct word gate = new_word(), last = new_word();
    hipStream_t streams[BRANCHES];
    hipGraphExec_t exec;
    bool passed;

    for (int i = 0; i < BRANCHES; i++) {
        streams[i] = behave_stream();
    }
    begin(streams[0]);
    for (int i = 1; i < BRANCHES; i++) {
        NEED(hipStreamWaitEvent(streams[i], event_in(streams[0]), 0) == hipSuccess);
    }
    for (int i = 0; i < BRANCHES - 1; i++) {
        await(streams[i], gate);
    }
    store(streams[BRANCHES - 1], last, 1);
    for (int i = 1; i < BRANCHES; i++) {
        NEED(hipStreamWaitEvent(streams[0], event_in(streams[i]), 0) == hipSuccess);
    }
    exec = executable(end(streams[0]));
    NEED(hipGraphLaunch(exec, streams[0]) == hipSuccess);
    passed = becomes(last, 1);
    behave_set(gate.here, 1);
    NEED(hipStreamSynchronize(streams[0]) == hipSuccess && behave_get(last.here) == 1);
    return passed;
}

static bool graph_again(void)
{
    struct word gate = new_word(), begun = new_word();
    hipStream_t stream = behave_stream(), other = behave_stream();
    hipGraphExec_t exec;
    bool overlapped;

    begin(stream);
    store(stream, begun, 1);
    await(stream, gate);
    exec = executable(end(stream));
    NEED(hipGraphLaunch(exec, stream) == hipSuccess && becomes(begun, 1));
    behave_set(begun.here, 0);
    NEED(hipGraphLaunch(exec, other) == hipSuccess);
    overlapped = becomes(begun, 1);
    behave_set(gate.here, 1);
    NEED(hipStreamSynchronize(other) == hipSuccess && behave_get(begun.here) == 1);
    return !overlapped;
}

static bool graph_update(void)
{
    struct word word = new_word();
    hipStream_t stream = behave_stream();
    hipGraphExec_t exec = executable(graph_of_store(word, 1));
    hipGraphExecUpdateResult result;
    hipGraphNode_t wrong;
    hipGraph_t graph;

    NEED(hipGraphExecUpdate(exec, graph_of_store(word, 2), &wrong, &result) == hipSuccess);
    NEED(result == hipGraphExecUpdateSuccess);
    begin(stream);
    await(stream, word);
    graph = end(stream);
    NEED(hipGraphExecUpdate(exec, graph, &wrong, &result) == hipErrorGraphExecUpdateFailure);
    NEED(result == hipGraphExecUpdateErrorFunctionChanged);
    begin(stream);
    store(stream, word, 3);
    store(stream, word, 4);
    graph = end(stream);
    NEED(hipGraphExecUpdate(exec, graph, &wrong, &result) == hipErrorGraphExecUpdateFailure);
    NEED(result == hipGraphExecUpdateErrorTopologyChanged);
    NEED(hipGraphLaunch(exec, stream) == hipSuccess);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
    return behave_get(word.here) == 2;
}

/* Two child graphs, one after the other, of which the first one is held up. */
static bool graph_child(void)
{
    struct word gate = new_word(), word = new_word();
    hipStream_t stream = behave_stream();
    hipGraph_t graph, first, second = graph_of_store(word, 1);
    hipGraphNode_t nodes[2];
    hipGraphExec_t exec;
    bool waited;

    begin(stream);
    await(stream, gate);
    first = end(stream);
    NEED(hipGraphCreate(&graph, 0) == hipSuccess);
    NEED(hipGraphAddChildGraphNode(&nodes[0], graph, NULL, 0, first) == hipSuccess);
    NEED(hipGraphAddChildGraphNode(&nodes[1], graph, nodes, 1, second) == hipSuccess);
    NEED(hipGraphDestroy(first) == hipSuccess && hipGraphDestroy(second) == hipSuccess);
    exec = executable(graph);
    NEED(hipGraphLaunch(exec, stream) == hipSuccess);
    waited = !becomes(word, 1);
    behave_set(gate.here, 1);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
    return waited && behave_get(word.here) == 1;
}

static void note(void *word)
{
    behave_set(word, 1);
}

/* Of a graph, or of one that is its child. */
static bool keeps_object(bool is_child)
{
    struct word gate = new_word(), destroyed = new_word();
    hipStream_t stream = behave_stream();
    hipUserObject_t object;
    hipGraphExec_t exec;
    hipGraph_t graph, child;
    hipGraphNode_t node;
    bool kept;

    NEED(hipUserObjectCreate(&object, destroyed.here, note, 1, 0) == hipErrorInvalidValue);
    NEED(hipUserObjectCreate(&object, destroyed.here, note, 1, hipUserObjectNoDestructorSync) == 0);
    begin(stream);
    await(stream, gate);
    graph = end(stream);
    NEED(hipGraphRetainUserObject(graph, object, 1, hipGraphUserObjectMove) == hipSuccess);
    if (is_child) {
        child = graph;
        NEED(hipGraphCreate(&graph, 0) == hipSuccess);
        NEED(hipGraphAddChildGraphNode(&node, graph, NULL, 0, child) == hipSuccess);
        NEED(hipGraphDestroy(child) == hipSuccess);
    }
    exec = executable(graph);
    kept = !becomes(destroyed, 1);
    NEED(hipGraphLaunch(exec, stream) == hipSuccess);
    NEED(hipGraphExecDestroy(exec) == hipSuccess);
    kept = kept && !becomes(destroyed, 1);
    behave_set(gate.here, 1);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
    return kept && becomes(destroyed, 1);
}

static bool graph_object(void)
{
    return keeps_object(false) && keeps_object(true);
}

static bool capture_fork(void)
{
    hipStream_t stream = behave_stream(), branch = behave_stream();
    hipStreamCaptureStatus status;
    struct word word = new_word();
    hipGraph_t graph;

    begin(stream);
    NEED(hipStreamWaitEvent(branch, event_in(stream), 0) == hipSuccess);
    store(branch, word, 1);
    NEED(hipStreamEndCapture(branch, &graph) == hipErrorStreamCaptureUnmatched);
    if (hipStreamEndCapture(stream, &graph) != hipErrorStreamCaptureUnjoined || graph != NULL) {
        return false;
    }
    NEED(hipStreamIsCapturing(branch, &status) == hipSuccess);
    return status == hipStreamCaptureStatusNone && !becomes(word, 1);
}

static bool capture_event(void)
{
    hipStream_t stream = behave_stream(), other = behave_stream();
    hipStreamCaptureStatus status;
    hipEvent_t inside, outside = event_in(other);
    hipGraph_t graph;

    begin(stream);
    inside = event_in(stream);
    if (hipEventQuery(inside) != hipErrorCapturedEvent ||
        hipEventSynchronize(inside) != hipErrorCapturedEvent) {
        return false;
    }
    NEED(hipStreamWaitEvent(stream, outside, 0) == hipErrorStreamCaptureIsolation);
    NEED(hipStreamIsCapturing(stream, &status) == hipSuccess);
    NEED(status == hipStreamCaptureStatusInvalidated);
    NEED(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated);
    NEED(hipStreamWaitEvent(other, inside, 0) != hipSuccess);
    NEED(hipEventRecord(inside, other) == hipSuccess);
    return hipEventSynchronize(inside) == hipSuccess;
}

static bool capture_merge(void)
{
    hipStream_t one = behave_stream(), other = behave_stream();
    hipGraph_t graph;

    begin(one);
    begin(other);
    return hipStreamWaitEvent(other, event_in(one), 0) == hipErrorStreamCaptureMerge &&
           hipStreamEndCapture(one, &graph) == hipErrorStreamCaptureInvalidated &&
           hipStreamEndCapture(other, &graph) == hipErrorStreamCaptureInvalidated;
}

/* A wait, a store that is told not to come after it, and one that is told to do so again. */
static bool capture_after(void)
{
    struct word gate = new_word(), freed = new_word(), last = new_word();
    hipStream_t stream = behave_stream();
    const hipGraphNode_t *after = NULL;
    hipStreamCaptureStatus status;
    hipGraphNode_t waits;
    size_t count = 0;
    bool passed, waited;

    NEED(hipStreamUpdateCaptureDependencies(stream, NULL, 0, hipStreamSetCaptureDependencies) ==
         hipErrorIllegalState);
    begin(stream);
    await(stream, gate);
    NEED(hipStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, &after, &count) == hipSuccess);
    NEED(status == hipStreamCaptureStatusActive && count == 1);
    waits = after[0];
    NEED(hipStreamUpdateCaptureDependencies(stream, NULL, 0, hipStreamSetCaptureDependencies) ==
         hipSuccess);
    store(stream, freed, 1);
    NEED(hipStreamUpdateCaptureDependencies(stream, &waits, 1, hipStreamAddCaptureDependencies) ==
         hipSuccess);
    store(stream, last, 1);
    NEED(hipGraphLaunch(executable(end(stream)), stream) == hipSuccess);
    passed = becomes(freed, 1);
    waited = !becomes(last, 1);
    behave_set(gate.here, 1);
    NEED(hipStreamSynchronize(stream) == hipSuccess && behave_get(last.here) == 1);
    return passed && waited;
}

static bool capture_values(void)
{
    struct word word = new_word();
    hipStream_t stream = behave_stream();
    hipGraphExec_t exec;
    bool early;

    begin(stream);
    NEED(hipStreamWriteValue64(stream, word.there, 1, 0) == hipSuccess);
    early = becomes(word, 1);
    exec = executable(end(stream));
    NEED(hipGraphLaunch(exec, stream) == hipSuccess);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
    return !early && behave_get(word.here) == 1;
}

const struct behave_case behave_graph_cases[] = {
    {"graph-launch", graph_launch},     {"graph-stream", graph_stream},
    {"graph-branch", graph_branch},     {"graph-order", graph_order},
    {"graph-again", graph_again},       {"graph-update", graph_update},
    {"graph-child", graph_child},       {"graph-object", graph_object},
    {"capture-fork", capture_fork},     {"capture-event", capture_event},
    {"capture-merge", capture_merge},   {"capture-after", capture_after},
    {"capture-values", capture_values}, {NULL, NULL},
};
