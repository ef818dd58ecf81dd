/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * wire.c - control messages: what goes in comes out, and what a peer may send instead does no harm
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "comm/error.h"
#include "core/request.h"
#include "match/wire.h"

enum {
    PAGE_BYTES = 4096,
    RECORD_HEADER_BYTES = 8,
    BLOB_HEADER_BYTES = 8,
    OFFER_BYTES = 64 /* of the body */
};

/* Memory that ends where an unreadable page begins. */
static unsigned char *guarded_end;

static int map_guard(void **state)
{
    unsigned char *pages =
        mmap(NULL, 3 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    if (pages == MAP_FAILED || mprotect(pages + 2 * PAGE_BYTES, PAGE_BYTES, PROT_NONE) != 0) {
        return -1;
    }
    guarded_end = pages + 2 * PAGE_BYTES;
    return 0;
}

static size_t body_bytes(enum mpixq_wire_kind kind)
{
    static const size_t sizes[] = {[MPIXQ_WIRE_OFFER] = OFFER_BYTES,
                                   [MPIXQ_WIRE_ANSWER] = 34,
                                   [MPIXQ_WIRE_RELEASE] = 16,
                                   [MPIXQ_WIRE_FAILURE] = 8,
                                   [MPIXQ_WIRE_WITHDRAW] = 32,
                                   [MPIXQ_WIRE_HELLO] = 32,
                                   [MPIXQ_WIRE_REASON] = 104,
                                   [MPIXQ_WIRE_VERDICT] = 25,
                                   [MPIXQ_WIRE_MISSED] = 12,
                                   [MPIXQ_WIRE_TRACE] = 32,
                                   [MPIXQ_WIRE_STATS] =
                                       (17 + 4 * MPIXQ_N_CHANNELS + 2 * MPIXQ_N_WAYS) * 8};

    return sizes[kind];
}

static uint64_t random64(uint64_t *random)
{
    return (uint64_t)unit_random(random) << 32 | unit_random(random);
}

static struct mpixq_wire_channels random_channels(uint64_t *random)
{
    struct mpixq_wire_channels channels = {.may = (uint8_t)unit_random(random)};

    for (int id = 0; id < MPIXQ_N_CHANNELS; id++) {
        channels.why_not[id] = (uint8_t)unit_random(random);
    }
    return channels;
}

static struct mpixq_wire_offer random_offer(uint64_t *random)
{
    int size = 1 + unit_pick(random, INT32_MAX), own_size = 1 + unit_pick(random, INT32_MAX);

    return (struct mpixq_wire_offer){.sender_id = random64(random),
                                     .ident = {random64(random), random64(random)},
                                     .bytes = random64(random),
                                     .source = unit_pick(random, own_size),
                                     .dest = unit_pick(random, size),
                                     .tag = unit_pick(random, INT32_MAX),
                                     .size = size,
                                     .own_size = own_size,
                                     .mode = (uint32_t)unit_pick(random, MPIXQ_MODE_RECV),
                                     .channels = random_channels(random)};
}

static struct mpixq_stats random_stats(uint64_t *random)
{
    struct mpixq_stats stats = {.queues = random64(random), .by_host = 7};

    stats.stalls = random64(random);
    stats.of[MPIXQ_N_CHANNELS - 1].received = random64(random);
    stats.rma.windows = random64(random);
    stats.rma.by[MPIXQ_N_WAYS - 1].bytes = random64(random);
    return stats;
}

static struct mpixq_record random_record(uint64_t *random, enum mpixq_wire_kind kind,
                                         uint32_t n_blobs)
{
    struct mpixq_record record = {.kind = kind, .n_blobs = n_blobs};

    switch (kind) {
    case MPIXQ_WIRE_OFFER:
        record.u.offer = random_offer(random);
        break;
    case MPIXQ_WIRE_ANSWER:
        record.u.answer =
            (struct mpixq_wire_answer){.sender_id = random64(random),
                                       .receiver_id = random64(random),
                                       .error = (uint8_t)unit_pick(random, MPIXQ_E_COUNT),
                                       .awaits = (uint8_t)unit_pick(random, 2),
                                       .channels = random_channels(random)};
        break;
    case MPIXQ_WIRE_RELEASE:
        record.u.release = (struct mpixq_wire_release){random64(random), random64(random)};
        break;
    case MPIXQ_WIRE_FAILURE:
        record.u.failure.id = random64(random);
        break;
    case MPIXQ_WIRE_WITHDRAW:
        record.u.withdraw =
            (struct mpixq_wire_withdraw){.sender_id = random64(random),
                                         .ident = {random64(random), random64(random)},
                                         .source = (int32_t)unit_random(random),
                                         .tag = (int32_t)unit_random(random)};
        break;
    case MPIXQ_WIRE_HELLO:
        record.u.hello.process =
            (struct mpixq_process){.home = {random64(random), random64(random)},
                                   .pid = random64(random),
                                   .birth = random64(random)};
        break;
    case MPIXQ_WIRE_VERDICT:
        record.u.verdict =
            (struct mpixq_wire_verdict){.sender_id = random64(random),
                                        .receiver_id = random64(random),
                                        .error = (uint8_t)unit_pick(random, MPIXQ_E_COUNT),
                                        .channels = random_channels(random)};
        break;
    case MPIXQ_WIRE_STATS:
        record.u.stats = random_stats(random);
        break;
    case MPIXQ_WIRE_MISSED:
        record.u.missed.missed =
            (struct mpixq_missed){.all = unit_random(random),
                                  .at_peer = unit_random(random),
                                  .served = (uint8_t)unit_pick(random, MPIXQ_N_CHANNELS),
                                  .better = (uint8_t)unit_pick(random, MPIXQ_N_CHANNELS),
                                  .reason = (uint8_t)unit_pick(random, MPIXQ_N_REASONS)};
        break;
    case MPIXQ_WIRE_TRACE:
        record.u.trace = (struct mpixq_wire_trace){.what = unit_random(random),
                                                   .n = unit_random(random),
                                                   .a = random64(random),
                                                   .b = random64(random),
                                                   .c = random64(random)};
        break;
    case MPIXQ_WIRE_REASON:
        record.u.reason.number = (uint8_t)unit_pick(random, MPIXQ_N_REASONS);
        record.u.reason.length = (uint8_t)unit_pick(random, MPIXQ_REASON_BYTES + 1);
        for (size_t i = 0; i < sizeof record.u.reason.text; i++) {
            record.u.reason.text[i] = (char)unit_random(random);
        }
        break;
    }
    for (uint32_t i = 0; i < n_blobs; i++) {
        record.blobs[i].channel = unit_random(random);
        record.blobs[i].length = (uint32_t)unit_pick(random, MPIXQ_WIRE_BLOB_BYTES + 1);
        for (int k = 0; k < MPIXQ_WIRE_BLOB_BYTES; k++) {
            record.blobs[i].bytes[k] = (unsigned char)unit_random(random);
        }
    }
    return record;
}

static struct mpixq_record any_record(uint64_t *random)
{
    enum mpixq_wire_kind kind = MPIXQ_WIRE_OFFER + unit_pick(random, MPIXQ_WIRE_TRACE);

    return random_record(random, kind, (uint32_t)unit_pick(random, MPIXQ_WIRE_MAX_CHANNELS + 1));
}

static void expect_equal(const struct mpixq_record *got, const struct mpixq_record *expected)
{
    assert_int_equal(got->kind, expected->kind);
    assert_memory_equal(&got->u, &expected->u, body_bytes(expected->kind));
    assert_int_equal(got->n_blobs, expected->n_blobs);
    for (uint32_t i = 0; i < expected->n_blobs; i++) {
        const struct mpixq_blob *a = &got->blobs[i], *b = &expected->blobs[i];

        assert_int_equal(a->channel, b->channel);
        assert_int_equal(a->length, b->length);
        assert_int_equal(memcmp(a->bytes, b->bytes, b->length), 0);
    }
}

/* What has been decoded may be used without a further look. */
static void expect_sane(const struct mpixq_record *record)
{
    const struct mpixq_wire_offer *offer = &record->u.offer;

    assert_in_range(record->kind, MPIXQ_WIRE_OFFER, MPIXQ_WIRE_TRACE);
    assert_true(record->n_blobs <= MPIXQ_WIRE_MAX_CHANNELS);
    for (uint32_t i = 0; i < record->n_blobs; i++) {
        assert_true(record->blobs[i].length <= MPIXQ_WIRE_BLOB_BYTES);
    }
    if (record->kind == MPIXQ_WIRE_OFFER) {
        assert_true(0 <= offer->source && offer->source < offer->own_size);
        assert_true(0 <= offer->dest && offer->dest < offer->size);
        assert_true(0 <= offer->tag && offer->mode < MPIXQ_MODE_RECV);
    } else if (record->kind == MPIXQ_WIRE_ANSWER) {
        assert_true(record->u.answer.error < MPIXQ_E_COUNT);
    } else if (record->kind == MPIXQ_WIRE_VERDICT) {
        assert_true(record->u.verdict.error < MPIXQ_E_COUNT);
    } else if (record->kind == MPIXQ_WIRE_REASON) {
        assert_true(record->u.reason.number < MPIXQ_N_REASONS);
        assert_true(record->u.reason.length <= MPIXQ_REASON_BYTES);
    } else if (record->kind == MPIXQ_WIRE_MISSED) {
        assert_true(record->u.missed.missed.served < MPIXQ_N_CHANNELS);
        assert_true(record->u.missed.missed.better < MPIXQ_N_CHANNELS);
        assert_true(record->u.missed.missed.reason < MPIXQ_N_REASONS);
    }
}

/* Decode a message as a receiver does. Returns the number of records, or -1 if it is refused. */
static int walk(const unsigned char *message, size_t bytes)
{
    struct mpixq_record record;
    size_t at = MPIXQ_WIRE_HEADER_BYTES, before = at;
    int n = 0, rc;

    if (mpixq_wire_check(message, bytes) != MPIXQ_WIRE_READ) {
        return -1;
    }
    while ((rc = mpixq_wire_next(message, bytes, &at, &record)) > 0) {
        expect_sane(&record);
        assert_true(at > before && at <= bytes);
        before = at;
        n++;
    }
    assert_int_equal(at, before);
    return rc < 0 ? -1 : n;
}

/* The same where not a byte behind it can be read: before an unreadable page, and in a block of
 * the heap of just this size, which a sanitizer watches on both sides. */
static int decode(const unsigned char *message, size_t bytes)
{
    unsigned char *at_end = guarded_end - bytes, *block = malloc(bytes);
    int n;

    assert_true(block != NULL || bytes == 0);
    if (bytes > 0) {
        memcpy(at_end, message, bytes);
        memcpy(block, message, bytes);
    }
    n = walk(at_end, bytes);
    assert_int_equal(walk(block, bytes), n);
    free(block);
    return n;
}

static void every_record_comes_out_as_it_went_in(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (int kind = MPIXQ_WIRE_OFFER; kind <= MPIXQ_WIRE_TRACE; kind++) {
        /* 5 and 129 have no common factor: each number of blobs meets each length of the last. */
        for (uint32_t i = 0; i < 5 * 129; i++) {
            uint32_t n_blobs = i % (MPIXQ_WIRE_MAX_CHANNELS + 1);
            struct mpixq_record record = random_record(&random, kind, n_blobs), got;
            unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
            size_t used = MPIXQ_WIRE_HEADER_BYTES, at = used;

            if (n_blobs > 0) {
                record.blobs[n_blobs - 1].length = i % (MPIXQ_WIRE_BLOB_BYTES + 1);
            }
            memset(message, 0xa5, sizeof message);
            mpixq_wire_begin(message);
            assert_true(mpixq_wire_append(message, &used, &record));
            assert_int_equal(decode(message, used), 1);
            assert_int_equal(mpixq_wire_next(message, used, &at, &got), 1);
            expect_equal(&got, &record);
            assert_int_equal(at, used);
            assert_int_equal(mpixq_wire_next(message, used, &at, &got), 0);
        }
    }
}

/* Append random records until one does not fit; then nothing has changed. */
static int fill(unsigned char *message, size_t *used_p, struct mpixq_record *records,
                uint64_t *random)
{
    unsigned char before[MPIXQ_WIRE_MESSAGE_BYTES];
    size_t used;

    memset(message, 0, MPIXQ_WIRE_MESSAGE_BYTES);
    mpixq_wire_begin(message);
    *used_p = MPIXQ_WIRE_HEADER_BYTES;
    for (int n = 0;; n++) {
        records[n] = any_record(random);
        memcpy(before, message, sizeof before);
        used = *used_p;
        if (!mpixq_wire_append(message, used_p, &records[n])) {
            assert_int_equal(*used_p, used);
            assert_memory_equal(message, before, sizeof before);
            return n;
        }
        assert_true(*used_p <= MPIXQ_WIRE_MESSAGE_BYTES);
    }
}

static void records_share_a_message(void **state)
{
    static struct mpixq_record records[MPIXQ_WIRE_MESSAGE_BYTES / 16];
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
    struct mpixq_record got;
    uint64_t random = 2;

    (void)state;
    for (int repeat = 0; repeat < 300; repeat++) {
        size_t used, at = MPIXQ_WIRE_HEADER_BYTES;
        int n = fill(message, &used, records, &random);

        assert_true(n > 1);
        assert_int_equal(decode(message, used), n);
        for (int i = 0; i < n; i++) {
            assert_int_equal(mpixq_wire_next(message, used, &at, &got), 1);
            expect_equal(&got, &records[i]);
        }
        assert_int_equal(at, used);
    }
}

static void message_can_be_filled_to_the_last_byte(void **state)
{
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
    struct mpixq_record small = {.kind = MPIXQ_WIRE_FAILURE}, big = {.kind = MPIXQ_WIRE_RELEASE};
    size_t used = MPIXQ_WIRE_HEADER_BYTES;
    int n = 1;

    (void)state;
    mpixq_wire_begin(message);
    assert_true(mpixq_wire_append(message, &used, &big));
    while (mpixq_wire_append(message, &used, &small)) {
        n++;
    }
    assert_int_equal(used, MPIXQ_WIRE_MESSAGE_BYTES);
    assert_int_equal(decode(message, used), n);
}

/* A message of each kind, with and without blobs; boundaries[i] is where record i begins. */
static size_t sample(unsigned char *message, size_t *boundaries, uint64_t seed)
{
    size_t used = MPIXQ_WIRE_HEADER_BYTES;

    mpixq_wire_begin(message);
    for (int i = 0; i < 4; i++) {
        struct mpixq_record record =
            random_record(&seed, MPIXQ_WIRE_OFFER + i, (uint32_t)(2 - i % 3));

        boundaries[i] = used;
        assert_true(mpixq_wire_append(message, &used, &record));
    }
    boundaries[4] = used;
    return used;
}

static void every_truncation_is_noticed(void **state)
{
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
    size_t boundaries[5];

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        size_t used = sample(message, boundaries, seed);

        for (size_t bytes = 0; bytes <= used; bytes++) {
            int expected = -1;

            for (int i = 0; i < 5; i++) {
                expected = boundaries[i] == bytes ? i : expected;
            }
            assert_int_equal(decode(message, bytes), expected);
        }
    }
}

static void every_changed_byte_is_survived(void **state)
{
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
    size_t boundaries[5], used;

    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        used = sample(message, boundaries, seed);
        for (size_t i = 0; i < used; i++) {
            unsigned char kept = message[i];

            for (int byte = 0; byte < 256; byte++) {
                int n;

                message[i] = (unsigned char)byte;
                n = decode(message, used);
                /* The first four bytes are the version; all of them count. */
                assert_true(i >= 4 || byte == kept || n == -1);
                assert_true(byte != kept || n == 4);
            }
            message[i] = kept;
        }
    }
}

/* Random bytes behind a good header, and behind the good header of a record. */
static void random_bytes_are_survived(void **state)
{
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
    uint64_t random = 3;

    (void)state;
    for (int repeat = 0; repeat < 100000; repeat++) {
        size_t bytes = (size_t)unit_pick(&random, 1 + (repeat % 20 == 0 ? 4000 : 200));
        uint16_t kind = (uint16_t)unit_pick(&random, 10), n_blobs = (uint16_t)unit_pick(&random, 6);
        uint32_t length = (uint32_t)unit_pick(&random, (int)bytes + 16);

        for (size_t i = 0; i < bytes; i++) {
            message[i] = (unsigned char)(unit_random(&random) >> (repeat % 3 == 0 ? 0 : 29));
        }
        if (repeat % 10 != 0) {
            mpixq_wire_begin(message);
        }
        if (repeat % 2 == 0) {
            memcpy(message + MPIXQ_WIRE_HEADER_BYTES, &kind, sizeof kind);
            memcpy(message + MPIXQ_WIRE_HEADER_BYTES + 2, &n_blobs, sizeof n_blobs);
            memcpy(message + MPIXQ_WIRE_HEADER_BYTES + 4, &length, sizeof length);
        }
        (void)decode(message, bytes);
    }
}

static void other_versions_are_refused(void **state)
{
    unsigned char message[MPIXQ_WIRE_HEADER_BYTES];
    uint32_t magic, other;

    (void)state;
    mpixq_wire_begin(message);
    memcpy(&magic, message, sizeof magic);
    for (int distance = -1000; distance <= 1000; distance++) {
        other = magic + (uint32_t)distance;
        memcpy(message, &other, sizeof other);
        assert_int_equal(decode(message, sizeof message), distance == 0 ? 0 : -1);
    }
    other = __builtin_bswap32(magic);
    memcpy(message, &other, sizeof other);
    assert_int_equal(decode(message, sizeof message), -1);
}

/* Whatever the version that says it, and its byte order. */
static void a_refusal_is_known(void **state)
{
    unsigned char message[MPIXQ_WIRE_HEADER_BYTES];

    (void)state;
    mpixq_wire_refuse(message);
    for (int i = 0; i < 256; i++) {
        message[0] = message[3] = (unsigned char)i;
        assert_int_equal(mpixq_wire_check(message, sizeof message), MPIXQ_WIRE_REFUSED);
    }
    mpixq_wire_begin(message);
    assert_int_equal(mpixq_wire_check(message, sizeof message), MPIXQ_WIRE_READ);
    message[0]++;
    assert_int_equal(mpixq_wire_check(message, sizeof message), MPIXQ_WIRE_STRANGE);
    assert_int_equal(mpixq_wire_check(message, sizeof message - 1), MPIXQ_WIRE_STRANGE);
}

/* Is a message with just this record read? */
static bool is_read(const struct mpixq_record *record)
{
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
    size_t used = MPIXQ_WIRE_HEADER_BYTES;

    mpixq_wire_begin(message);
    assert_true(mpixq_wire_append(message, &used, record));
    return decode(message, used) == 1;
}

static void fields_out_of_range_are_refused(void **state)
{
    const struct mpixq_wire_offer good = {
        .source = 2, .dest = 3, .tag = 0, .size = 4, .own_size = 3, .mode = MPIXQ_MODE_RSEND};
    struct mpixq_record record = {.kind = MPIXQ_WIRE_OFFER, .u.offer = good};

    (void)state;
    assert_true(is_read(&record));
#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        record.u.offer = good;                                                                     \
        record.u.offer.field = (value);                                                            \
        assert_false(is_read(&record));                                                            \
    } while (0)
    REFUSED(source, -1);
    REFUSED(source, 3);
    REFUSED(source, INT32_MIN);
    REFUSED(dest, -1);
    REFUSED(dest, 4);
    REFUSED(dest, INT32_MAX);
    REFUSED(tag, -1);
    REFUSED(size, 0);
    REFUSED(size, -4);
    REFUSED(own_size, 2);
    REFUSED(own_size, INT32_MIN);
    REFUSED(mode, MPIXQ_MODE_RECV);
    REFUSED(mode, UINT32_MAX);
#undef REFUSED
    record = (struct mpixq_record){.kind = MPIXQ_WIRE_ANSWER};
    record.u.answer.error = MPIXQ_E_COUNT - 1;
    assert_true(is_read(&record));
    record.u.answer.error = MPIXQ_E_COUNT;
    assert_false(is_read(&record));
    record.u.answer.error = UINT8_MAX;
    assert_false(is_read(&record));
    record = (struct mpixq_record){.kind = MPIXQ_WIRE_VERDICT};
    record.u.verdict.error = MPIXQ_E_COUNT - 1;
    assert_true(is_read(&record));
    record.u.verdict.error = MPIXQ_E_COUNT;
    assert_false(is_read(&record));
    record = (struct mpixq_record){.kind = MPIXQ_WIRE_REASON};
    record.u.reason.number = MPIXQ_N_REASONS - 1;
    record.u.reason.length = MPIXQ_REASON_BYTES;
    assert_true(is_read(&record));
    record.u.reason.number = MPIXQ_N_REASONS;
    assert_false(is_read(&record));
    record.u.reason.number = 0;
    record.u.reason.length = MPIXQ_REASON_BYTES + 1;
    assert_false(is_read(&record));
}

static void what_was_missed_must_be_known(void **state)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_MISSED};
    struct mpixq_missed *missed = &record.u.missed.missed;
    const struct mpixq_missed last = {.served = MPIXQ_N_CHANNELS - 1,
                                      .better = MPIXQ_N_CHANNELS - 1,
                                      .reason = MPIXQ_N_REASONS - 1};

    (void)state;
    *missed = last;
    assert_true(is_read(&record));
    missed->served++;
    assert_false(is_read(&record));
    *missed = last;
    missed->better++;
    assert_false(is_read(&record));
    *missed = last;
    missed->reason++;
    assert_false(is_read(&record));
}

/* Decode one offer with one blob of 16 bytes, after writing value over n bytes at an offset. */
static int patched(size_t at, uint32_t value, size_t n)
{
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
    struct mpixq_record record = {.kind = MPIXQ_WIRE_OFFER, .n_blobs = 1};
    uint16_t half = (uint16_t)value;
    size_t used = MPIXQ_WIRE_HEADER_BYTES;

    record.u.offer = (struct mpixq_wire_offer){.size = 1, .own_size = 1};
    record.blobs[0].length = 16;
    mpixq_wire_begin(message);
    assert_true(mpixq_wire_append(message, &used, &record));
    memcpy(message + MPIXQ_WIRE_HEADER_BYTES + at, n == 2 ? (void *)&half : (void *)&value, n);
    return decode(message, used);
}

static void lengths_and_counts_must_agree(void **state)
{
    const uint32_t whole = RECORD_HEADER_BYTES + OFFER_BYTES + BLOB_HEADER_BYTES + 16;
    const size_t kind = 0, n_blobs = 2, length = 4,
                 blob_length = RECORD_HEADER_BYTES + OFFER_BYTES + 4;

    (void)state;
    assert_int_equal(patched(length, whole, 4), 1);
    assert_int_equal(patched(length, whole + 1, 4), -1);
    assert_int_equal(patched(length, whole - 1, 4), -1);
    assert_int_equal(patched(length, whole - 8, 4), -1);
    assert_int_equal(patched(length, 0, 4), -1);
    assert_int_equal(patched(length, UINT32_MAX, 4), -1);
    assert_int_equal(patched(kind, 0, 2), -1);
    assert_int_equal(patched(kind, MPIXQ_WIRE_TRACE + 1, 2), -1);
    assert_int_equal(patched(kind, 0xffff, 2), -1);
    assert_int_equal(patched(n_blobs, 0, 2), -1);
    assert_int_equal(patched(n_blobs, 2, 2), -1);
    assert_int_equal(patched(n_blobs, 0xffff, 2), -1);
    assert_int_equal(patched(blob_length, 8, 4), -1);
    assert_int_equal(patched(blob_length, 17, 4), -1);
    assert_int_equal(patched(blob_length, MPIXQ_WIRE_BLOB_BYTES + 1, 4), -1);
    assert_int_equal(patched(blob_length, UINT32_MAX, 4), -1);
    assert_int_equal(patched(blob_length, UINT32_MAX - 7, 4), -1);
}

/* A record with more blobs than there are channels, each with its header in place. */
static void more_blobs_than_channels_are_refused(void **state)
{
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES] = {0};

    (void)state;
    mpixq_wire_begin(message);
    for (uint16_t n = 0; n < 400; n++) {
        uint32_t length = RECORD_HEADER_BYTES + 8 + n * BLOB_HEADER_BYTES;
        uint16_t head[2] = {MPIXQ_WIRE_FAILURE, n};

        memcpy(message + MPIXQ_WIRE_HEADER_BYTES, head, sizeof head);
        memcpy(message + MPIXQ_WIRE_HEADER_BYTES + 4, &length, sizeof length);
        assert_int_equal(decode(message, MPIXQ_WIRE_HEADER_BYTES + length),
                         n <= MPIXQ_WIRE_MAX_CHANNELS ? 1 : -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_comes_out_as_it_went_in),
        cmocka_unit_test(records_share_a_message),
        cmocka_unit_test(message_can_be_filled_to_the_last_byte),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(random_bytes_are_survived),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(a_refusal_is_known),
        cmocka_unit_test(fields_out_of_range_are_refused),
        cmocka_unit_test(what_was_missed_must_be_known),
        cmocka_unit_test(lengths_and_counts_must_agree),
        cmocka_unit_test(more_blobs_than_channels_are_refused),
    };

    return cmocka_run_group_tests(tests, map_guard, NULL);
}
