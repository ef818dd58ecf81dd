/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_shares.c - trigger entries of NICs, divided among processes: each is a child, told what to do
 */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cxi/shares.h"
#include "util/lock.h"

enum { ROOM = 8 };

static char folder[200];
static struct mpixq_lock among = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CXI_SHARES);
static struct cxi_shares shares = {.among = &among}; /* of a child */

/* What a child is told, and what it answers. */
struct order {
    enum { JOIN, LIMIT, TAKE, GIVE, ASK, LEAVE, END } what;
    char world, device; /* of join */
    int ranks, depth;
    int n; /* of take, give and ask */
};

struct child {
    pid_t pid;
    int channel;
};

static struct mpixq_ident ident_of(char name)
{
    return mpixq_ident_add((struct mpixq_ident){.low = 1}, &name, 1);
}

static int obey(const struct order *order)
{
    struct cxi_sharer me = {.process = mpixq_process_self(),
                            .world = ident_of(order->world),
                            .ranks = order->ranks,
                            .device = ident_of(order->device),
                            .depth = order->depth};
    int done = 0;

    switch (order->what) {
    case JOIN:
        return mpixq_cxi_shares_join(&shares, folder, &me) == NULL;
    case LIMIT:
        return mpixq_cxi_shares_limit(&shares);
    case TAKE:
        for (; done < order->n && mpixq_cxi_shares_take(&shares); done++) {
        }
        return done;
    case GIVE:
        for (; done < order->n; done++) {
            mpixq_cxi_shares_give(&shares);
        }
        return mpixq_cxi_shares_room(&shares);
    case ASK:
        (void)usleep(20000); /* it is not asked too often */
        mpixq_cxi_shares_ask(&shares, order->n);
        return mpixq_cxi_shares_limit(&shares);
    case LEAVE:
        mpixq_cxi_shares_leave(&shares);
        return 0;
    default:
        _exit(0);
    }
}

static struct child child_start(void)
{
    struct child child;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        struct order order;

        (void)close(ends[0]);
        while (read(ends[1], &order, sizeof order) == (ssize_t)sizeof order) {
            int answer = obey(&order);

            if (write(ends[1], &answer, sizeof answer) != (ssize_t)sizeof answer) {
                break;
            }
        }
        _exit(0);
    }
    (void)close(ends[1]);
    child.channel = ends[0];
    return child;
}

static int tell(const struct child *child, struct order order)
{
    int answer = -1;

    assert_int_equal(write(child->channel, &order, sizeof order), (int)sizeof order);
    assert_int_equal(read(child->channel, &answer, sizeof answer), (int)sizeof answer);
    return answer;
}

static int join(const struct child *child, char world, int ranks, char device, int depth)
{
    return tell(
        child, (struct order){
                   .what = JOIN, .world = world, .ranks = ranks, .device = device, .depth = depth});
}

#define TELL(child, what_, n_) tell(child, (struct order){.what = what_, .n = n_})

static void child_kill(struct child *child)
{
    int status;

    assert_int_equal(kill(child->pid, SIGKILL), 0);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    (void)close(child->channel);
    child->pid = 0;
}

static void children_start(struct child children[], int n)
{
    for (int i = 0; i < n; i++) {
        children[i] = child_start();
    }
}

static void children_end(struct child children[], int n)
{
    static const struct order end = {.what = END};
    int status;

    for (int i = 0; i < n; i++) {
        if (children[i].pid != 0) {
            (void)TELL(&children[i], LEAVE, 0);
            assert_int_equal(write(children[i].channel, &end, sizeof end), (int)sizeof end);
            (void)close(children[i].channel);
            assert_int_equal(waitpid(children[i].pid, &status, 0), children[i].pid);
            assert_int_equal(status, 0);
        }
    }
}

/* The path of the table, which this process would use too. */
static void table_path(char path[256])
{
    (void)snprintf(path, 256, "%s/mpixq-shares-2-%u-%016llx", folder, (unsigned)geteuid(),
                   (unsigned long long)mpixq_process_self().home.low);
}

static bool is_there(void)
{
    char path[256];
    struct stat status;

    table_path(path);
    return lstat(path, &status) == 0;
}

static int make_folder(void **state)
{
    const char *parent = getenv("TMPDIR");

    (void)state;
    (void)snprintf(folder, sizeof folder, "%.150s/mpixq_shares_XXXXXX",
                   parent != NULL ? parent : "/tmp");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char path[256];

    (void)state;
    table_path(path);
    (void)unlink(path);
    return rmdir(folder);
}

/* ---- Who gets what -------------------------------------------------------------------------- */

static void ranks_of_one_nic_get_equal_parts(void **state)
{
    struct child c[4];

    (void)state;
    children_start(c, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(join(&c[i], 'a', 4, 'x', 16));
        assert_int_equal(TELL(&c[i], LIMIT, 0), 4);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(TELL(&c[i], LIMIT, 0), 4);
        assert_int_equal(TELL(&c[i], TAKE, 100), 4);
    }
    children_end(c, 4);
}

static void nics_are_divided_among_their_own_users(void **state)
{
    struct child c[8];

    (void)state;
    children_start(c, 8);
    for (int i = 0; i < 8; i++) {
        assert_true(join(&c[i], 'a', 8, "wxyz"[i % 4], 56));
        /* Those who are to come may come to this NIC too. */
        assert_true(TELL(&c[i], LIMIT, 0) >= 7);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(TELL(&c[i], LIMIT, 0), 28);
    }
    children_end(c, 8);
}

static void the_part_of_those_who_have_not_come_is_kept(void **state)
{
    struct child c[3];

    (void)state;
    children_start(c, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(join(&c[i], 'a', 8, 'x', 56));
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(TELL(&c[i], LIMIT, 0), 7);
    }
    children_end(c, 3);
}

/* As with MPI_Comm_spawn, and with another job step. */
static void another_world_gets_what_is_not_in_use(void **state)
{
    struct child a[2], b[2];

    (void)state;
    children_start(a, 2);
    children_start(b, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(join(&a[i], 'a', 2, 'x', 16));
    }
    assert_int_equal(TELL(&a[0], TAKE, 100), 8);
    assert_int_equal(TELL(&a[1], TAKE, 5), 5);
    /* What is posted is not taken back: 8, and 5; 3 are left. */
    assert_true(join(&b[0], 'b', 2, 'x', 16));
    assert_int_equal(TELL(&a[0], LIMIT, 0), 8);
    assert_int_equal(TELL(&a[1], LIMIT, 0), 5);
    assert_int_equal(TELL(&b[0], LIMIT, 0), 3);
    assert_true(join(&b[1], 'b', 2, 'x', 16));
    assert_int_equal(TELL(&b[1], LIMIT, 0), 0);
    assert_int_equal(TELL(&b[1], TAKE, 1), 0);
    assert_int_equal(TELL(&b[0], TAKE, 100), 3);
    /* It is given back, and those who lack some ask. */
    (void)TELL(&a[0], GIVE, 8);
    assert_int_equal(TELL(&b[1], ASK, 0), 3);
    assert_int_equal(TELL(&b[0], ASK, 3), 4);
    (void)TELL(&a[1], GIVE, 5);
    assert_int_equal(TELL(&b[1], ASK, 0), 4);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(TELL(&a[i], LIMIT, 0), 4);
        assert_int_equal(TELL(&b[i], LIMIT, 0), 4);
    }
    children_end(b, 2);
    assert_int_equal(TELL(&a[0], LIMIT, 0), 8);
    children_end(a, 2);
}

static void what_the_dead_had_comes_back(void **state)
{
    struct child a[2], b;

    (void)state;
    children_start(a, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(join(&a[i], 'a', 2, 'x', 16));
        assert_int_equal(TELL(&a[i], TAKE, 100), 8);
    }
    for (int i = 0; i < 2; i++) {
        child_kill(&a[i]);
    }
    assert_true(is_there());
    b = child_start();
    assert_true(join(&b, 'b', 1, 'x', 16));
    assert_int_equal(TELL(&b, LIMIT, 0), 16);
    children_end(&b, 1);
    assert_false(is_there());
}

static void who_lacks_some_finds_the_dead(void **state)
{
    struct child a, b;
    int limit = 0;

    (void)state;
    a = child_start();
    b = child_start();
    assert_true(join(&a, 'a', 1, 'x', 16));
    assert_int_equal(TELL(&a, TAKE, 100), 16);
    assert_true(join(&b, 'b', 1, 'x', 16));
    assert_int_equal(TELL(&b, LIMIT, 0), 0);
    child_kill(&a);
    for (int i = 0; i < 1000 && limit == 0; i++) {
        limit = TELL(&b, ASK, 0);
    }
    assert_int_equal(limit, 16);
    children_end(&b, 1);
}

static void the_last_one_removes_the_table(void **state)
{
    struct child c[2];

    (void)state;
    children_start(c, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(join(&c[i], 'a', 2, 'x', 16));
    }
    children_end(c, 1);
    assert_true(is_there());
    children_end(c + 1, 1);
    assert_false(is_there());
}

/* ---- What may stand there ------------------------------------------------------------------- */

static void fill(const char *path, int byte, size_t bytes)
{
    FILE *file = fopen(path, "r+");

    file = file != NULL ? file : fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < bytes; i++) {
        assert_true(fputc(byte, file) == byte);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static void a_table_of_nonsense_is_made_anew(void **state)
{
    static const size_t sizes[] = {1, 1000, 4096, 200000};
    char path[256];

    (void)state;
    table_path(path);
    for (int i = 0; i < 4; i++) {
        struct child c = child_start();

        fill(path, i % 2 == 0 ? 0xff : 0x41, sizes[i]);
        assert_true(join(&c, 'a', 2, 'x', 16));
        assert_int_equal(TELL(&c, LIMIT, 0), 8);
        children_end(&c, 1);
    }
}

/* All but the first line, which holds for any table. */
static void claims_of_nonsense_are_dropped(void **state)
{
    struct child c[2];
    char path[256], junk[4096];
    int file;

    (void)state;
    table_path(path);
    children_start(c, 2);
    assert_true(join(&c[0], 'a', 2, 'x', 16));
    assert_int_equal(TELL(&c[0], TAKE, 3), 3);
    memset(junk, 0x5a, sizeof junk);
    file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, junk, sizeof junk, 128), (int)sizeof junk);
    (void)close(file);
    assert_true(join(&c[1], 'a', 2, 'x', 16));
    assert_int_equal(TELL(&c[1], LIMIT, 0), 8);
    /* The first one has nothing any more, and makes its claim anew, with what it uses. */
    assert_int_equal(TELL(&c[0], TAKE, 1), 0);
    assert_int_equal(TELL(&c[0], ASK, 3), 8);
    assert_int_equal(TELL(&c[0], TAKE, 100), 5);
    children_end(c, 2);
}

/* Not used, and left alone: then the ranks of the node divide. */
static void refuse(const char *what)
{
    struct child c = child_start();

    if (join(&c, 'a', 4, 'x', 16)) {
        fail_msg("%s was used", what);
    }
    assert_int_equal(TELL(&c, LIMIT, 0), 4);
    assert_int_equal(TELL(&c, TAKE, 100), 4);
    assert_int_equal(TELL(&c, ASK, 4), 4);
    children_end(&c, 1);
}

static void what_others_may_have_put_there_is_not_used(void **state)
{
    char path[256], target[256];
    struct stat status;

    (void)state;
    table_path(path);
    (void)snprintf(target, sizeof target, "%s/target", folder);
    fill(target, 'v', 3);
    assert_int_equal(symlink(target, path), 0);
    refuse("a link");
    assert_int_equal(stat(target, &status), 0);
    assert_int_equal(status.st_size, 3);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(link(target, path), 0);
    refuse("a file of two names");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuse("a pipe");
    assert_int_equal(unlink(path), 0);
    fill(path, 0, 10);
    assert_int_equal(chmod(path, 0660), 0);
    refuse("a file that others may write");
    if (chown(path, 12345, (gid_t)-1) == 0) { /* who is root can try that too */
        assert_int_equal(chmod(path, 0600), 0);
        refuse("a file of another user");
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    refuse("a folder");
    assert_int_equal(rmdir(path), 0);
}

static void without_a_folder_ranks_divide(void **state)
{
    char kept[sizeof folder];

    (void)state;
    memcpy(kept, folder, sizeof kept);
    (void)snprintf(folder, sizeof folder, "/nonexistent/folder");
    refuse("no folder");
    memcpy(folder, kept, sizeof kept);
}

static void a_table_that_stays_locked_is_not_waited_for(void **state)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[256];
    int file;

    (void)state;
    table_path(path);
    file = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(file >= 0);
    assert_int_equal(fcntl(file, F_SETLK, &whole), 0);
    refuse("a table that is locked");
    (void)close(file);
    assert_int_equal(unlink(path), 0);
}

static void nothing_is_not_shared(void **state)
{
    struct child c[ROOM];

    (void)state;
    children_start(c, ROOM);
    for (int i = 0; i < ROOM; i++) {
        assert_true(join(&c[i], 'a', 2 * ROOM, 'x', 0)); /* nothing to share */
        assert_int_equal(TELL(&c[i], LIMIT, 0), 0);
    }
    assert_false(is_there());
    children_end(c, ROOM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_nic_get_equal_parts),
        cmocka_unit_test(nics_are_divided_among_their_own_users),
        cmocka_unit_test(the_part_of_those_who_have_not_come_is_kept),
        cmocka_unit_test(another_world_gets_what_is_not_in_use),
        cmocka_unit_test(what_the_dead_had_comes_back),
        cmocka_unit_test(who_lacks_some_finds_the_dead),
        cmocka_unit_test(the_last_one_removes_the_table),
        cmocka_unit_test(a_table_of_nonsense_is_made_anew),
        cmocka_unit_test(claims_of_nonsense_are_dropped),
        cmocka_unit_test(what_others_may_have_put_there_is_not_used),
        cmocka_unit_test(without_a_folder_ranks_divide),
        cmocka_unit_test(a_table_that_stays_locked_is_not_waited_for),
        cmocka_unit_test(nothing_is_not_shared),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
