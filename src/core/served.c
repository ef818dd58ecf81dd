/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "served.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "channel.h"
#include "request.h"
#include "schedule.h"
#include "util/log.h"

enum { OTHER = MPIXQ_N_REASONS - 1, OF_PEER = MPIXQ_REASON_OF_PEER };

/* How collectives are done. */
enum { BY_GPUS, BY_BOTH, BY_NICS, IN_ONE_ROUND, IN_ROUNDS, N_WAYS };

/* Pairs of a channel that a better one did not serve, and those of them in which it is that of the
 * peer. */
struct missed {
    uint32_t all, at_peer;
};

static struct {
    char texts[MPIXQ_N_REASONS][MPIXQ_REASON_BYTES + 1];
    int n_texts; /* the first stands for no reason */
    uint64_t n_pairs, by_channel[MPIXQ_N_CHANNELS];
    /* By the two channels and the reason. */
    struct missed missed[MPIXQ_N_CHANNELS][MPIXQ_N_CHANNELS][MPIXQ_N_REASONS];
    uint64_t collectives[N_WAYS], in_shares; /* of those by NICs and GPUs */
} served = {.texts = {[OTHER] = "another (MPIXQ_LOG=debug)"}, .n_texts = 1};

uint8_t mpixq_reason(const char *text, size_t length)
{
    char wanted[MPIXQ_REASON_BYTES + 1] = "";
    int number = 1;

    length = length < MPIXQ_REASON_BYTES ? length : MPIXQ_REASON_BYTES;
    for (size_t i = 0; i < length; i++) {
        wanted[i] = text[i] > ' ' && text[i] <= '~' ? text[i] : ' ';
    }
    while (number < served.n_texts && strcmp(served.texts[number], wanted) != 0) {
        number++;
    }
    if (number == served.n_texts && number < OTHER) {
        memcpy(served.texts[served.n_texts++], wanted, sizeof wanted);
    }
    return (uint8_t)number;
}

const char *mpixq_reason_text(uint8_t number)
{
    return served.texts[number % OF_PEER];
}

/* The text is short, since there is little room in the error texts of some MPI. */
void mpixq_channel_choice_text(const struct mpixq_channel_choice *choice, char *text_p, size_t room)
{
    char here[32], there[32];
    int used = choice->excluded_by != NULL
                   ? snprintf(text_p, room, "%s starts no pair of channel %s", choice->excluded_by,
                              mpixq_channel_name(choice->channel))
                   : snprintf(text_p, room, "this end may use %s, the other %s",
                              mpixq_channel_bits_text(choice->here, here, sizeof here),
                              mpixq_channel_bits_text(choice->there, there, sizeof there));

    for (int id = 0; id < MPIXQ_N_CHANNELS; id++) {
        const char *why = mpixq_reason_text(choice->why_not[id]);

        if (why[0] != '\0' && used > 0 && (size_t)used < room) {
            used += snprintf(text_p + used, room - (size_t)used, "; not by %s: %s%s",
                             mpixq_channel_name((uint32_t)id), why,
                             choice->why_not[id] >= OF_PEER ? " (at the peer)" : "");
        }
    }
}

void mpixq_served_count_collective(const struct mpixq_request *req)
{
    const struct mpixq_collective *collective = mpixq_collective_of(req);

    served.collectives[collective->takes_nics        ? BY_BOTH
                       : collective->by_gpus         ? BY_GPUS
                       : collective->chained != NULL ? BY_NICS
                       : collective->n_rounds <= 1   ? IN_ONE_ROUND
                                                     : IN_ROUNDS]++;
    served.in_shares += collective->takes_nics && mpixq_collective_has_rounds(req);
}

/* Of a pair within the process only one end counts, and requests to MPI_PROC_NULL are in none. What
 * this end may not use is no surprise, and what it likes less than the channel that serves is no
 * loss; that a peer in another process cannot go by self is plain. */
void mpixq_served_count(const struct mpixq_request *req)
{
    const struct mpixq_channel_set *set = &req->channels;
    uint32_t id = req->pair.channel->id;

    if (id == MPIXQ_CHANNEL_NULL || (id == MPIXQ_CHANNEL_SELF && mpixq_request_is_send(req))) {
        return;
    }
    served.n_pairs++;
    served.by_channel[id]++;
    for (int i = 0; i < set->n && set->ids[i] != id; i++) {
        uint32_t better = set->ids[i];

        if (better != MPIXQ_CHANNEL_SELF && req->why_not[better] != 0) {
            struct missed *m = &served.missed[id][better][req->why_not[better] % OF_PEER];

            m->all++;
            m->at_peer += id != MPIXQ_CHANNEL_SELF && req->why_not[better] >= OF_PEER;
        }
    }
}

uint64_t mpixq_served_pairs(uint32_t channel)
{
    return served.by_channel[channel];
}

void mpixq_served_each_missed(void (*visit)(const struct mpixq_missed *missed, void *arg),
                              void *arg)
{
    for (int id = 0; id < MPIXQ_N_CHANNELS; id++) {
        for (int better = 0; better < MPIXQ_N_CHANNELS; better++) {
            for (int i = 1; i < MPIXQ_N_REASONS; i++) {
                const struct missed *m = &served.missed[id][better][i];
                struct mpixq_missed told = {.all = m->all,
                                            .at_peer = m->at_peer,
                                            .served = (uint8_t)id,
                                            .better = (uint8_t)better,
                                            .reason = (uint8_t)i};

                if (m->all > 0) {
                    visit(&told, arg);
                }
            }
        }
    }
}

/* One line of the log, less what stands before. */
struct line {
    char text[900];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, args);
    va_end(args);
    line->used += n > 0 ? (size_t)n : 0;
    line->used = line->used < sizeof line->text ? line->used : sizeof line->text - 1;
}

static void add_reasons(struct line *line, uint32_t id)
{
    const char *separator = " (";

    for (uint32_t better = 0; better < MPIXQ_N_CHANNELS; better++) {
        for (int i = 1; i < MPIXQ_N_REASONS; i++) {
            const struct missed *m = &served.missed[id][better][i];

            if (m->all > 0) {
                add(line, "%s%u not %s: %s", separator, (unsigned)m->all,
                    mpixq_channel_name(better), served.texts[i]);
                separator = "; ";
            }
            if (m->at_peer > 0) {
                add(line, " (at the peer: %u)", (unsigned)m->at_peer);
            }
        }
    }
    add(line, "%s", separator[0] == ';' ? ")" : "");
}

void mpixq_served_print(void)
{
    struct line line = {.used = 0};
    const char *separator = ": ";
    bool any = false;

    if (!mpixq_env.info) {
        return;
    }
    add(&line, "%llu pairs", (unsigned long long)served.n_pairs);
    for (uint32_t id = MPIXQ_N_CHANNELS; id-- > 0;) {
        if (served.by_channel[id] > 0) {
            add(&line, "%s%llu %s", separator, (unsigned long long)served.by_channel[id],
                mpixq_channel_name(id));
            add_reasons(&line, id);
            separator = ", ";
        }
    }
    mpixq_print("%s", line.text);
    for (int way = 0; way < N_WAYS; way++) {
        any = any || served.collectives[way] > 0;
    }
    if (any) {
        mpixq_print("collectives: %llu by GPUs, %llu by NICs and GPUs (%llu in shares), %llu by "
                    "NICs, by the host %llu in one round and %llu in several",
                    (unsigned long long)served.collectives[BY_GPUS],
                    (unsigned long long)served.collectives[BY_BOTH],
                    (unsigned long long)served.in_shares,
                    (unsigned long long)served.collectives[BY_NICS],
                    (unsigned long long)served.collectives[IN_ONE_ROUND],
                    (unsigned long long)served.collectives[IN_ROUNDS]);
    }
}
