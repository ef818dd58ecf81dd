/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * env.c - environment variables. They are read once per process, so each case is a child process.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/env.h"
#include "util/log.h"

static const struct mpixq_env defaults = {
    .log = MPIXQ_LOG_WARN,
    .info = 0,
    .thread_level = MPIXQ_THREAD_AUTO,
    .affinity = {.choice = MPIXQ_AFFINITY_AUTO},
    .host_stream_depth = 8192,
    .spin_us = 1000,
    .sleep_max_us = 1000,
    .channels = {
        4, {MPIXQ_CHANNEL_IPC, MPIXQ_CHANNEL_SELF, MPIXQ_CHANNEL_CXI, MPIXQ_CHANNEL_FALLBACK}}};

/* What a child found. */
struct found {
    struct mpixq_env env;
    char text[16384]; /* on standard error */
};

/* In the child: only the given variables are set, as NAME=VALUE, up to NULL. */
static void child_main(const char *const *settings, bool print, int result)
{
    struct found found = {.text = ""};

    if (clearenv() != 0) {
        _exit(2);
    }
    for (; *settings != NULL; settings++) {
        if (putenv(strdup(*settings)) != 0) {
            _exit(2);
        }
    }
    mpixq_env_read();
    mpixq_env_warn();
    if (print) {
        mpixq_env_print();
    }
    found.env = mpixq_env;
    if (write(result, &found, offsetof(struct found, text)) !=
        (ssize_t)offsetof(struct found, text)) {
        _exit(2);
    }
    _exit(0);
}

/* Read to the end of the pipe, which fits. */
static size_t read_all(int from, void *to, size_t room)
{
    size_t n = 0;
    ssize_t got;

    while (n < room && (got = read(from, (char *)to + n, room - n)) > 0) {
        n += (size_t)got;
    }
    close(from);
    return n;
}

static struct found run(const char *const *settings, bool print)
{
    struct found found = {.text = ""};
    int texts[2], results[2], status;
    pid_t child;

    assert_int_equal(pipe(texts), 0);
    assert_int_equal(pipe(results), 0);
    child = fork();
    if (child == 0) {
        (void)dup2(texts[1], STDERR_FILENO);
        child_main(settings, print, results[1]);
    }
    assert_true(child > 0);
    close(texts[1]);
    close(results[1]);
    found.text[read_all(texts[0], found.text, sizeof found.text - 1)] = '\0';
    assert_int_equal(read_all(results[0], &found, offsetof(struct found, text)),
                     offsetof(struct found, text));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return found;
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL}, false)

static void expect_env(const struct found *found, const struct mpixq_env *expected)
{
    assert_int_equal(found->env.log, expected->log);
    assert_int_equal(found->env.info, expected->info);
    assert_int_equal(found->env.thread_level, expected->thread_level);
    assert_int_equal(found->env.affinity.choice, expected->affinity.choice);
    assert_memory_equal(&found->env.affinity.list, &expected->affinity.list,
                        sizeof expected->affinity.list);
    assert_int_equal(found->env.host_stream_depth, expected->host_stream_depth);
    assert_int_equal(found->env.spin_us, expected->spin_us);
    assert_int_equal(found->env.sleep_max_us, expected->sleep_max_us);
    assert_memory_equal(&found->env.channels, &expected->channels, sizeof expected->channels);
}

static void expect_quiet(const struct found *found)
{
    assert_string_equal(found->text, "");
}

static void expect_line(const struct found *found, const char *part)
{
    if (strstr(found->text, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, found->text);
    }
}

static void defaults_hold(void **state)
{
    struct found found = RUN("HOME=/", "mpixq_log=debug", "MPIX_LOG=debug");

    (void)state;
    expect_env(&found, &defaults);
    expect_quiet(&found);
}

static void every_choice_is_known(void **state)
{
    static const char *const logs[] = {"MPIXQ_LOG=error", "MPIXQ_LOG=warn", "MPIXQ_LOG=info",
                                       "MPIXQ_LOG=debug"};
    static const char *const levels[] = {"MPIXQ_THREAD_LEVEL=auto", "MPIXQ_THREAD_LEVEL=keep",
                                         "MPIXQ_THREAD_LEVEL=multiple"};
    static const char *const infos[] = {"MPIXQ_INFO=0", "MPIXQ_INFO=1"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct mpixq_env expected = defaults;
        struct found found = RUN(logs[i], levels[i % 3], infos[i % 2]);

        expected.log = MPIXQ_LOG_ERROR + i;
        expected.thread_level = MPIXQ_THREAD_AUTO + i % 3;
        expected.info = i % 2;
        expect_env(&found, &expected);
        expect_quiet(&found);
    }
}

static void ends_of_ranges_are_allowed(void **state)
{
    struct mpixq_env expected = defaults;
    struct found found =
        RUN("MPIXQ_HOST_STREAM_DEPTH=64", "MPIXQ_SPIN_US=0", "MPIXQ_SLEEP_MAX_US=1");

    (void)state;
    expected.host_stream_depth = 64;
    expected.spin_us = 0;
    expected.sleep_max_us = 1;
    expect_env(&found, &expected);
    expect_quiet(&found);
    found = RUN("MPIXQ_HOST_STREAM_DEPTH=1048576", "MPIXQ_SPIN_US=1000000",
                "MPIXQ_SLEEP_MAX_US=100000");
    expected.host_stream_depth = 1048576;
    expected.spin_us = 1000000;
    expected.sleep_max_us = 100000;
    expect_env(&found, &expected);
    expect_quiet(&found);
}

static void cpus_are_a_word_or_a_list(void **state)
{
    static const char *const words[] = {"MPIXQ_AFFINITY=auto", "MPIXQ_AFFINITY=none",
                                        "MPIXQ_AFFINITY=cpuset"};
    struct mpixq_env expected = defaults;
    struct found found;

    (void)state;
    for (int i = 0; i < 3; i++) {
        found = RUN(words[i]);
        expected.affinity.choice = i;
        expect_env(&found, &expected);
        expect_quiet(&found);
    }
    found = RUN("MPIXQ_AFFINITY=2,4-5");
    expected.affinity.choice = MPIXQ_AFFINITY_LIST;
    mpixq_cpus_add(&expected.affinity.list, 2);
    mpixq_cpus_add(&expected.affinity.list, 4);
    mpixq_cpus_add(&expected.affinity.list, 5);
    expect_env(&found, &expected);
    expect_quiet(&found);
}

/* Each keeps the default, and one line says so. */
static void malformed_values_keep_defaults(void **state)
{
    static const char *const bad[][2] = {
        {"MPIXQ_LOG=", "MPIXQ_LOG is : not one of error|warn|info|debug, using warn"},
        {"MPIXQ_LOG=Debug", "MPIXQ_LOG is Debug: not one of error|warn|info|debug, using warn"},
        {"MPIXQ_LOG=debu", "MPIXQ_LOG is debu: not one of"},
        {"MPIXQ_LOG=debugs", "MPIXQ_LOG is debugs: not one of"},
        {"MPIXQ_LOG=error|warn", "MPIXQ_LOG is error|warn: not one of"},
        {"MPIXQ_LOG=3", "MPIXQ_LOG is 3: not one of"},
        {"MPIXQ_INFO=2", "MPIXQ_INFO is 2: not one of 0|1, using 0"},
        {"MPIXQ_INFO=yes", "MPIXQ_INFO is yes: not one of 0|1, using 0"},
        {"MPIXQ_THREAD_LEVEL=single", "MPIXQ_THREAD_LEVEL is single: not one of"},
        {"MPIXQ_AFFINITY=LIST", "MPIXQ_AFFINITY is LIST: not one of auto|none|cpuset|LIST, using"},
        {"MPIXQ_AFFINITY=2-", "MPIXQ_AFFINITY is 2-: not one of"},
        {"MPIXQ_AFFINITY=", "MPIXQ_AFFINITY is : not one of"},
        {"MPIXQ_AFFINITY=9999", "MPIXQ_AFFINITY is 9999: not one of"},
        {"MPIXQ_SPIN_US=", "MPIXQ_SPIN_US is : not a number from 0 to 1000000, using 1000"},
        {"MPIXQ_SPIN_US=-1", "MPIXQ_SPIN_US is -1: not a number from 0 to 1000000, using 1000"},
        {"MPIXQ_SPIN_US=1000001", "MPIXQ_SPIN_US is 1000001: not a number"},
        {"MPIXQ_SPIN_US=5us", "MPIXQ_SPIN_US is 5us: not a number"},
        {"MPIXQ_SPIN_US=5 ", "MPIXQ_SPIN_US is 5 : not a number"},
        {"MPIXQ_SPIN_US=1e3", "MPIXQ_SPIN_US is 1e3: not a number"},
        {"MPIXQ_SPIN_US=0x10", "MPIXQ_SPIN_US is 0x10: not a number"},
        {"MPIXQ_SPIN_US=99999999999999999999", "MPIXQ_SPIN_US is 99999999999999999999: not a"},
        {"MPIXQ_SLEEP_MAX_US=0", "MPIXQ_SLEEP_MAX_US is 0: not a number from 1 to 100000, using"},
        {"MPIXQ_SLEEP_MAX_US=100001", "MPIXQ_SLEEP_MAX_US is 100001: not a number"},
        {"MPIXQ_HOST_STREAM_DEPTH=63", "MPIXQ_HOST_STREAM_DEPTH is 63: not a number from 64 to"},
        {"MPIXQ_CHANNELS=", "MPIXQ_CHANNELS is : \"\" is none of ipc,cxi,fallback, using ipc,"},
        {"MPIXQ_CHANNELS=ipc;cxi", "MPIXQ_CHANNELS is ipc;cxi: \"ipc;cxi\" is none of"},
        {"MPIXQ_CHANNELS=cxi,self", "MPIXQ_CHANNELS is cxi,self: \"self\" is none of"},
        {"MPIXQ_CHANNELS=cxi,ipc,cxi",
         "MPIXQ_CHANNELS is cxi,ipc,cxi: \"cxi\" stands twice, using"},
        {"MPIXQ_HOST_STREAM_DEPTH=1048577", "MPIXQ_HOST_STREAM_DEPTH is 1048577: not a number"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct found found = RUN(bad[i][0]);

        expect_env(&found, &defaults);
        expect_line(&found, "mpix_queue: warning: ");
        expect_line(&found, bad[i][1]);
        assert_ptr_equal(strchr(found.text, '\n'), found.text + strlen(found.text) - 1);
    }
}

static const char *channels_of(const struct found *found)
{
    static char text[64];

    return mpixq_channel_set_text(&found->env.channels, text, sizeof text);
}

/* They are taken by their old names, too, unless the new one is there. Each old one is told of. */
static void channels_have_older_names(void **state)
{
    struct found found = RUN("MPIXQ_CHANNELS=fallback,cxi");

    (void)state;
    assert_string_equal(channels_of(&found), "fallback,cxi");
    expect_quiet(&found);
    found = RUN("MPIXQ_IPC=no");
    assert_string_equal(channels_of(&found), "cxi,fallback");
    expect_line(&found, "warning: MPIXQ_IPC is deprecated: MPIXQ_CHANNELS=cxi,fallback does");
    found = RUN("MPIXQ_FALLBACK=forbid", "MPIXQ_IPC=no", "MPIXQ_CHANNELS=nothing");
    assert_string_equal(channels_of(&found), "cxi");
    expect_line(&found, "MPIXQ_CHANNELS is nothing: ");
    expect_line(&found, "warning: MPIXQ_FALLBACK is deprecated: MPIXQ_CHANNELS=ipc,cxi does");
    expect_line(&found, "warning: MPIXQ_IPC is deprecated: ");
    found = RUN("MPIXQ_FALLBACK=forbid", "MPIXQ_CHANNELS=ipc,fallback");
    assert_string_equal(channels_of(&found), "ipc,fallback");
    expect_line(&found, "MPIXQ_FALLBACK is deprecated, and ignored since MPIXQ_CHANNELS is set: ");
    found = RUN("MPIXQ_FALLBACK=allow", "MPIXQ_IPC=auto");
    assert_string_equal(channels_of(&found), "ipc,cxi,fallback");
    expect_line(&found, "warning: MPIXQ_FALLBACK is deprecated: ");
}

static void one_bad_value_leaves_the_others(void **state)
{
    struct mpixq_env expected = defaults;
    struct found found = RUN("MPIXQ_LOG=info", "MPIXQ_SPIN_US=many", "MPIXQ_SLEEP_MAX_US=7");

    (void)state;
    expected.log = MPIXQ_LOG_INFO;
    expected.sleep_max_us = 7;
    expect_env(&found, &expected);
    expect_line(&found, "MPIXQ_SPIN_US is many");
}

static void unknown_variables_are_named(void **state)
{
    struct found found = RUN("MPIXQ_LOGS=debug", "MPIXQ_=1", "MPIXQ_TEST_ANYTHING=1",
                             "MPIXQ_TESTS=1", "XMPIXQ_LOG=1");

    (void)state;
    expect_env(&found, &defaults);
    expect_line(&found, "warning: MPIXQ_LOGS is no variable of this library\n");
    expect_line(&found, "warning: MPIXQ_ is no variable of this library\n");
    expect_line(&found, "warning: MPIXQ_TESTS is no variable of this library\n");
    assert_null(strstr(found.text, "MPIXQ_TEST_ANYTHING"));
    assert_null(strstr(found.text, "XMPIXQ"));
}

static void warnings_follow_the_log_level(void **state)
{
    struct found found = RUN("MPIXQ_LOG=error", "MPIXQ_SPIN_US=many", "MPIXQ_LOGS=1");

    (void)state;
    expect_quiet(&found);
}

static void values_are_printed_with_their_source(void **state)
{
    static const char *const settings[] = {"MPIXQ_LOG=debug", "MPIXQ_SPIN_US=17",
                                           "MPIXQ_SLEEP_MAX_US=none", "MPIXQ_AFFINITY=1,3-4", NULL};
    struct found found = run(settings, true);

    (void)state;
    expect_line(&found, "MPIXQ_LOG debug (environment): ");
    expect_line(&found, "MPIXQ_INFO 0 (default): ");
    expect_line(&found, "MPIXQ_THREAD_LEVEL auto (default): ");
    expect_line(&found, "MPIXQ_AFFINITY 1,3-4 (environment): ");
    expect_line(&found, "MPIXQ_HOST_STREAM_DEPTH 8192 (default): ");
    expect_line(&found, "MPIXQ_SPIN_US 17 (environment): ");
    expect_line(&found, "MPIXQ_CHANNELS ipc,cxi,fallback (default): ");
    expect_line(&found, "MPIXQ_SLEEP_MAX_US 1000 (default): ");
}

static void later_changes_are_not_seen(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        (void)setenv("MPIXQ_SPIN_US", "5", 1);
        mpixq_env_read();
        (void)setenv("MPIXQ_SPIN_US", "6", 1);
        mpixq_env_read();
        _exit(mpixq_env.spin_us == 5 ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold),
        cmocka_unit_test(every_choice_is_known),
        cmocka_unit_test(ends_of_ranges_are_allowed),
        cmocka_unit_test(cpus_are_a_word_or_a_list),
        cmocka_unit_test(malformed_values_keep_defaults),
        cmocka_unit_test(channels_have_older_names),
        cmocka_unit_test(one_bad_value_leaves_the_others),
        cmocka_unit_test(unknown_variables_are_named),
        cmocka_unit_test(warnings_follow_the_log_level),
        cmocka_unit_test(values_are_printed_with_their_source),
        cmocka_unit_test(later_changes_are_not_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
