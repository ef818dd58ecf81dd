/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * userobject.c - objects of the user that graphs keep: the last who gives one back has it destroyed
 */
#include "double.h"

#include <stdlib.h>
#include <unistd.h>

struct hipUserObject {
    struct hipUserObject *next;
    void *data;
    hipHostFn_t destroy;
    unsigned refs;
};

static struct hipUserObject *objects; /* under hip.lock, as all here */

static bool is_object(const struct hipUserObject *object)
{
    const struct hipUserObject *one = objects;

    while (one != NULL && one != object) {
        one = one->next;
    }
    return one != NULL;
}

/* By a thread of the runtime, as a host function, whatever the caller does next. */
static void *destroy(void *arg)
{
    struct hipUserObject *object = arg;

    hip_in_host_function = true;
    usleep((useconds_t)hip_switches.objects_ms * 1000);
    object->destroy(object->data);
    free(object);
    return NULL;
}

static void give_back(struct hipUserObject *object, unsigned count)
{
    struct hipUserObject **place = &objects;
    pthread_t thread;

    object->refs -= count;
    if (object->refs > 0) {
        return;
    }
    while (*place != object) {
        place = &(*place)->next;
    }
    *place = object->next;
    if (pthread_create(&thread, NULL, destroy, object) != 0) {
        hip_die("cannot start a thread");
    }
    pthread_setname_np(thread, HIP_THREAD);
    pthread_detach(thread);
}

void hip_users_add(struct hip_users *users, struct hipUserObject *object, unsigned count)
{
    struct hip_user *at = realloc(users->at, (users->count + 1) * sizeof(*at));

    if (at == NULL) {
        hip_die("out of memory");
    }
    users->at = at;
    at[users->count++] = (struct hip_user){object, count};
}

void hip_users_copy(struct hip_users *users, const struct hip_users *others)
{
    for (size_t i = 0; i < others->count && !hip_is_wrong("graph-object"); i++) {
        others->at[i].object->refs++;
        hip_users_add(users, others->at[i].object, 1);
    }
}

void hip_users_clear(struct hip_users *users)
{
    for (size_t i = 0; i < users->count; i++) {
        give_back(users->at[i].object, users->at[i].count);
    }
    free(users->at);
    *users = (struct hip_users){NULL, 0};
}

HIP_EXPORT hipError_t hipUserObjectCreate(hipUserObject_t *object, void *data,
                                          hipHostFn_t destroyer, unsigned count, unsigned flags)
{
    HIP_ENTER(hipUserObjectCreate);
    if (object == NULL || destroyer == NULL || count == 0 ||
        flags != hipUserObjectNoDestructorSync) {
        return hip_leave(hipErrorInvalidValue);
    }
    *object = calloc(1, sizeof(**object));
    if (*object == NULL) {
        return hip_leave(hipErrorOutOfMemory);
    }
    pthread_mutex_lock(&hip.lock);
    **object = (struct hipUserObject){objects, data, destroyer, count};
    objects = *object;
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count)
{
    bool known;

    HIP_ENTER(hipUserObjectRelease);
    pthread_mutex_lock(&hip.lock);
    known = is_object(object) && count > 0 && count <= object->refs;
    if (known) {
        give_back(object, count);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(known ? hipSuccess : hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object,
                                               unsigned count, unsigned flags)
{
    bool known;

    HIP_ENTER(hipGraphRetainUserObject);
    if (count == 0 || flags > hipGraphUserObjectMove) {
        return hip_leave(hipErrorInvalidValue);
    }
    pthread_mutex_lock(&hip.lock);
    known = hip_is_graph(graph) && is_object(object);
    if (known) {
        object->refs += flags == hipGraphUserObjectMove ? 0 : count;
        hip_users_add(&graph->users, object, count);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(known ? hipSuccess : hipErrorInvalidValue);
}
