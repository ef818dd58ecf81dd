/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "affinity.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>

#include "backoff.h"
#include "env.h"
#include "lock.h"
#include "log.h"
#include "node.h"
#include "thread.h"

#define LOOK_AGAIN_NS UINT64_C(1000000000)
/* Who is bound for a moment only, is bound elsewhere, or not at all, so much later: libraries that
 * look at the machine (hwloc, PSM) bind the thread that loads them to each CPU in turn. */
#define MOMENT_US 5000

static struct {
    /* Constant after mpixq_affinity_setup. */
    struct mpixq_cpus at_load, before_init, started_with;
    const char *source;
    /* Under the lock. */
    struct mpixq_lock lock;
    struct mpixq_seat *seats;
    bool knows_allowed;
    struct mpixq_cpus allowed;   /* to the threads of the library */
    short cores[MPIXQ_CPUS_MAX]; /* number of the core and 1; 0: not looked up yet */
} places = {.source = "the process was started with them",
            .lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_AFFINITY)};

static MPIXQ_THREAD_LOCAL struct mpixq_seat *own;

static bool get_mask(pid_t tid, struct mpixq_cpus *cpus_p)
{
    memset(cpus_p, 0, sizeof *cpus_p);
    return sched_getaffinity(tid, sizeof *cpus_p, (cpu_set_t *)cpus_p) == 0 &&
           mpixq_cpus_count(cpus_p) > 0;
}

static bool set_mask(const struct mpixq_cpus *cpus)
{
    return sched_setaffinity(0, sizeof *cpus, (const cpu_set_t *)cpus) == 0;
}

/* As early as can be: the program may bind its main thread before it initialises MPI. */
__attribute__((constructor)) static void remember_start(void)
{
    if (!get_mask(0, &places.at_load)) {
        mpixq_cpus_add(&places.at_load, 0);
    }
    places.before_init = places.started_with = places.at_load;
}

void mpixq_affinity_before_init(void)
{
    if (!get_mask(0, &places.before_init)) {
        places.before_init = places.at_load;
    }
}

/* GCC's OpenMP binds the main thread before any other code of the program runs, but still knows
 * the CPUs that it found. LLVM's, which also has GCC's names, binds later, and would begin its own
 * set-up if it were asked here. */
static bool add_openmp_places(struct mpixq_cpus *cpus)
{
    union {
        void *object;
        int (*count)(void);
        int (*size)(int place);
        void (*ids)(int place, int *ids);
    } n_places = {dlsym(RTLD_DEFAULT, "omp_get_num_places")},
      size = {dlsym(RTLD_DEFAULT, "omp_get_place_num_procs")},
      ids = {dlsym(RTLD_DEFAULT, "omp_get_place_proc_ids")};
    bool added = false;

    if (n_places.object == NULL || size.object == NULL || ids.object == NULL ||
        dlsym(RTLD_DEFAULT, "GOMP_parallel") == NULL ||
        dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num") != NULL) {
        return false;
    }
    for (int place = 0; place < n_places.count(); place++) {
        int n = size.size(place), list[64];

        if (n > (int)(sizeof list / sizeof list[0])) {
            continue; /* so large a place binds nothing that matters here */
        }
        ids.ids(place, list);
        for (int i = 0; i < n; i++) {
            if (list[i] >= 0 && list[i] < MPIXQ_CPUS_MAX) {
                added = added || !mpixq_cpus_has(cpus, list[i]);
                mpixq_cpus_add(cpus, list[i]);
            }
        }
    }
    return added;
}

void mpixq_affinity_setup(void)
{
    struct mpixq_cpus now;

    places.started_with = places.at_load;
    if (get_mask(0, &now) && !mpixq_cpus_equal(&now, &places.before_init)) {
        places.started_with = now;
        places.source = "MPI bound the process to them";
    } else if (add_openmp_places(&places.started_with)) {
        places.source = "the process was started with them, as OpenMP tells";
    }
}

int mpixq_affinity_count(void)
{
    return mpixq_cpus_count(&places.started_with);
}

void mpixq_affinity_print(void)
{
    char list[256];

    mpixq_print("CPUs %s: %s", mpixq_cpus_format(&places.started_with, list, sizeof list),
                places.source);
}

/* Looking around. */

/* The core of a CPU, by the number of its first CPU. */
static int core_of(int cpu)
{
    char path[80], text[256] = "";
    FILE *file;

    if (places.cores[cpu] == 0) {
        (void)snprintf(path, sizeof path,
                       "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        file = fopen(path, "re");
        if (file != NULL) {
            if (fgets(text, sizeof text, file) == NULL) {
                text[0] = '\0';
            }
            (void)fclose(file);
        }
        places.cores[cpu] = (short)(isdigit((unsigned char)text[0]) ? atoi(text) + 1 : cpu + 1);
        places.cores[cpu] =
            places.cores[cpu] > MPIXQ_CPUS_MAX ? (short)(cpu + 1) : places.cores[cpu];
    }
    return places.cores[cpu] - 1;
}

static void add_own_thread(pid_t tid, struct mpixq_taken *taken)
{
    struct mpixq_cpus mask;
    struct mpixq_seat *seat;

    LL_FOREACH(places.seats, seat)
    {
        if (seat->tid == tid) {
            return;
        }
    }
    if (get_mask(tid, &mask)) {
        mpixq_taken_add(taken, &mask);
    }
}

/* The threads of the program, and those of other libraries. */
static void add_own_threads(struct mpixq_taken *taken)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;

    if (folder == NULL) {
        return;
    }
    while ((entry = readdir(folder)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            add_own_thread((pid_t)atol(entry->d_name), taken);
        }
    }
    (void)closedir(folder);
}

struct neighbours {
    struct mpixq_taken *taken;
    int ranks;     /* of the node, that could be looked at */
    int with_ours; /* neighbours that may run on any of our CPUs */
};

static bool is_rank(pid_t pid)
{
    for (int i = 0; i < mpixq_node_ranks(); i++) {
        if (mpixq_node_pid(i) == pid) {
            return true;
        }
    }
    return false;
}

static bool add_neighbour(pid_t pid, struct neighbours *neighbours)
{
    struct mpixq_cpus mask;

    if (pid <= 0 || !get_mask(pid, &mask)) {
        return false;
    }
    mpixq_taken_add(neighbours->taken, &mask);
    neighbours->with_ours += mpixq_cpus_meet(&mask, &places.started_with);
    return true;
}

/* Each has told its number, so that no other process needs to be looked at. */
static void add_ranks(struct neighbours *neighbours)
{
    for (int i = 0; i < mpixq_node_ranks(); i++) {
        if (i != mpixq_node_rank()) {
            neighbours->ranks += add_neighbour(mpixq_node_pid(i), neighbours);
        }
    }
}

/* Of programs that a script starts side by side each may be a world of its own. Linux lists the
 * children of a process in a file; where it does not, they are not avoided. */
static void add_siblings(struct neighbours *neighbours)
{
    int parent = (int)getppid(), sibling;
    char path[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    file = parent > 1 ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return;
    }
    while (fscanf(file, "%d", &sibling) == 1) {
        if (sibling != (int)getpid() && !is_rank(sibling)) {
            (void)add_neighbour(sibling, neighbours);
        }
    }
    (void)fclose(file);
}

/* All that the system lets this process use. Leaves the calling thread there. */
static void find_cpuset(struct mpixq_cpus *cpus_p)
{
    struct mpixq_cpus all;

    memset(&all, 0xff, sizeof all);
    if (!set_mask(&all) || !get_mask(0, cpus_p)) {
        *cpus_p = places.started_with;
    }
}

/* Once, by the first thread. */
static void find_allowed(void)
{
    places.allowed = places.started_with;
    switch (mpixq_env.affinity.choice) {
    case MPIXQ_AFFINITY_CPUSET:
        find_cpuset(&places.allowed);
        break;
    case MPIXQ_AFFINITY_LIST:
        places.allowed = mpixq_env.affinity.list;
        break;
    default:
        break;
    }
    places.knows_allowed = true;
}

/* Who is bound to what, and how many share the CPUs of this process. */
static void look_around(struct mpixq_taken *taken)
{
    struct neighbours neighbours = {.taken = taken};

    *taken = (struct mpixq_taken){.all = places.started_with};
    mpixq_cpus_unite(&taken->all, &places.allowed);
    add_ranks(&neighbours);
    add_siblings(&neighbours);
    if (neighbours.ranks + 1 >= mpixq_node_ranks()) { /* all of them were seen */
        mpixq_backoff_crowd(neighbours.with_ours + 1);
    }
    add_own_threads(taken);
}

/* The best place for a seat. Before it is another one than the seat has, in favour of those who are
 * bound, a second look tells whether they are still. */
static enum mpixq_choice choose(const struct mpixq_seat *seat, struct mpixq_cpus *chosen_p)
{
    struct mpixq_taken taken, later;
    enum mpixq_choice choice;

    look_around(&taken);
    choice = mpixq_cpus_choose(&places.allowed, &taken, core_of, chosen_p);
    if (choice == MPIXQ_CHOICE_UNBOUND || choice == MPIXQ_CHOICE_ONLY ||
        (seat->placed && choice == seat->choice && mpixq_cpus_equal(chosen_p, &seat->cpus))) {
        return choice;
    }
    mpixq_sleep_us(MOMENT_US);
    look_around(&later);
    mpixq_taken_keep(&taken, &later);
    return mpixq_cpus_choose(&places.allowed, &taken, core_of, chosen_p);
}

static void say(const struct mpixq_seat *seat)
{
    static const char *const reasons[] = {
        [MPIXQ_CHOICE_UNBOUND] = "nobody is bound to any of them",
        [MPIXQ_CHOICE_CORES] = "nobody is bound to their cores",
        [MPIXQ_CHOICE_CPUS] = "nobody is bound to them, but to others of their cores",
        [MPIXQ_CHOICE_SHARED] = "shared, as others are bound to every one: waits yield",
        [MPIXQ_CHOICE_ONLY] = "shared, as no others are allowed: waits yield"};
    char chosen[256], among[256];
    bool is_list = mpixq_env.affinity.choice == MPIXQ_AFFINITY_LIST;

    (void)mpixq_cpus_format(&seat->cpus, chosen, sizeof chosen);
    (void)mpixq_cpus_format(&places.allowed, among, sizeof among);
    if (mpixq_env.info) {
        mpixq_print("thread %s: CPUs %s of %s%s: %s", seat->name, chosen, among,
                    is_list ? " (MPIXQ_AFFINITY)" : "", reasons[seat->choice]);
    }
}

/* Under the lock. */
static void place(struct mpixq_seat *seat)
{
    struct mpixq_cpus chosen, mask;
    enum mpixq_choice choice;
    bool is_new;

    if (!places.knows_allowed) {
        find_allowed();
    }
    choice = choose(seat, &chosen);
    if (mpixq_env.affinity.choice == MPIXQ_AFFINITY_LIST) {
        chosen = places.allowed;
    }
    mpixq_backoff_share(choice == MPIXQ_CHOICE_SHARED || choice == MPIXQ_CHOICE_ONLY);
    if (!(get_mask(0, &mask) && mpixq_cpus_equal(&mask, &chosen)) && !set_mask(&chosen)) {
        char list[256];

        mpixq_warn("thread %s cannot run on CPUs %s (%s) and stays where it is", seat->name,
                   mpixq_cpus_format(&chosen, list, sizeof list), strerror(errno));
        return;
    }
    is_new = !seat->placed || seat->choice != choice || !mpixq_cpus_equal(&seat->cpus, &chosen);
    seat->placed = true;
    seat->choice = choice;
    seat->cpus = chosen;
    if (is_new) {
        say(seat);
    }
}

void mpixq_affinity_sit(struct mpixq_seat *seat, const char *name)
{
    *seat = (struct mpixq_seat){
        .name = name, .tid = (pid_t)syscall(SYS_gettid), .looked_ns = mpixq_now_ns()};
    own = seat;
    mpixq_lock_acquire(&places.lock);
    LL_PREPEND(places.seats, seat);
    if (mpixq_env.affinity.choice != MPIXQ_AFFINITY_NONE) {
        place(seat);
    } else if (mpixq_env.info) {
        mpixq_print("thread %s: stays where it was made (MPIXQ_AFFINITY none)", name);
    }
    mpixq_lock_release(&places.lock);
}

void mpixq_affinity_rise(void)
{
    mpixq_lock_acquire(&places.lock);
    LL_DELETE(places.seats, own);
    mpixq_lock_release(&places.lock);
    own = NULL;
}

const char *mpixq_affinity_name(void)
{
    return own != NULL ? own->name : NULL;
}

void mpixq_affinity_look_again(void)
{
    uint64_t now = own != NULL ? mpixq_now_ns() : 0;

    if (own == NULL || !own->placed || now - own->looked_ns < LOOK_AGAIN_NS) {
        return;
    }
    own->looked_ns = now;
    mpixq_lock_acquire(&places.lock);
    place(own);
    mpixq_lock_release(&places.lock);
}
