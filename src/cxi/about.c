/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What there is to say of the fabric, for people. */
#include "about.h"

#include <stdio.h>
#include <string.h>

#include "libfabric.h"
#include "nic.h"
#include "shares.h"
#include "util/env.h"
#include "util/facts.h"
#include "util/log.h"

enum { LIST_ROOM = 800 };

/* Where the number of triggered operations is from. */
static void describe_entries(const struct cxi_nic *nic, char *text, size_t room)
{
    const char *guess = nic->why_no_depth, *why = nic->why_no_table;

    if (mpixq_env.triggered_ops >= 0) {
        (void)snprintf(text, room, "MPIXQ_TRIGGERED_OPS");
    } else if (guess != NULL && (nic->quirks->software || nic->entries == 0)) {
        (void)snprintf(text, room, "%s", guess);
    } else {
        (void)snprintf(text, room, "a share of %d%s%s, by %s%s%s", nic->entries,
                       guess != NULL ? ", a guess: " : "", guess != NULL ? guess : "",
                       why != NULL ? "the ranks of the node: " : "its users",
                       why != NULL ? why : "", why != NULL ? " in " MPIXQ_CXI_SHARES : "");
    }
}

static const char *rings(const struct cxi_nic *nic)
{
    return nic->why_no_bell == NULL ? "doorbell" : "fi_cntr_add: ";
}

static const char *words(const struct cxi_nic *nic)
{
    return nic->atomic == FI_SUM ? "sum" : "maximum";
}

static const char *takes_gpus(const struct cxi_nic *nic)
{
    return nic->why_no_hmem == NULL ? "can be registered" : "by staging buffers: ";
}

static const char *or_nothing(const char *why)
{
    return why != NULL ? why : "";
}

void mpixq_cxi_say(const struct cxi_nic *nic)
{
    char entries[200];

    describe_entries(nic, entries, sizeof entries);
    mpixq_print("fabric: provider %s, domain %s (%s), %d triggered operations (%s), rings by %s%s, "
                "words by %s, memory of GPUs %s%s",
                nic->info->fabric_attr->prov_name, nic->info->domain_attr->name, nic->why_info,
                mpixq_cxi_shares_limit(&nic->shares), entries, rings(nic),
                or_nothing(nic->why_no_bell), words(nic), takes_gpus(nic),
                or_nothing(nic->why_no_hmem));
}

void mpixq_cxi_say_counts(const struct cxi_nic *nic)
{
    mpixq_print("fabric: domain %s: %llu ends of pairs, %llu ends in memory of GPUs, %llu eager "
                "ends, %llu ends that kernels ring for, %llu starts armed, %llu taken over, %llu "
                "objects set aside, at most %d "
                "triggered operations at a time",
                nic->info->domain_attr->name, (unsigned long long)nic->counts.pairs,
                (unsigned long long)nic->counts.direct, (unsigned long long)nic->counts.eager,
                (unsigned long long)nic->counts.rung_by_gpus, (unsigned long long)nic->counts.armed,
                (unsigned long long)nic->counts.taken_over,
                (unsigned long long)nic->counts.set_aside, nic->counts.most_in_use);
}

/* Add to a list what is not in it; the names have no commas. */
static void add_once(char *list, const char *name)
{
    size_t length = strlen(name), used = strlen(list);

    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) {
            return;
        }
    }
    if (used + length + 3 < LIST_ROOM) {
        (void)snprintf(list + used, LIST_ROOM - used, "%s%s", used > 0 ? ", " : "", name);
    }
}

static const char *provider_of(const struct fi_info *info)
{
    const char *name = info->fabric_attr != NULL ? info->fabric_attr->prov_name : NULL;

    return name != NULL ? name : "unknown";
}

/* All domains of the provider that this one is of, if it is the first such. */
static void tell_domains(struct mpixq_facts *facts, const struct fi_info *all,
                         const struct fi_info *first)
{
    char list[LIST_ROOM] = "", name[80];

    for (const struct fi_info *i = all; i != NULL; i = i->next) {
        if (strcmp(provider_of(i), provider_of(first)) == 0) {
            if (i != first && list[0] == '\0') {
                return;
            }
            add_once(list, i->domain_attr != NULL && i->domain_attr->name != NULL
                               ? i->domain_attr->name
                               : "unknown");
        }
    }
    (void)snprintf(name, sizeof name, "domains of %.60s", provider_of(first));
    mpixq_fact_detail(facts, name, "%s", list);
}

void mpixq_cxi_describe_fabric(struct mpixq_facts *facts)
{
    char version[32], list[LIST_ROOM] = "";
    const char *why;
    struct fi_info *all = mpixq_cxi_find_all(version, sizeof version, &why);

    if (all == NULL) {
        mpixq_fact(facts, "libfabric", "%s", why);
        return;
    }
    mpixq_fact(facts, "libfabric", "%s", version);
    for (const struct fi_info *i = all; i != NULL; i = i->next) {
        add_once(list, provider_of(i));
    }
    mpixq_fact(facts, "providers", "%s", list);
    for (const struct fi_info *i = all; i != NULL; i = i->next) {
        tell_domains(facts, all, i);
    }
    mpixq_cxi_free_infos(all);
}

/* Of a NIC; from the second on with its number. */
static void fact_of(struct mpixq_facts *facts, const struct cxi_nic *nic, const char *name,
                    const char *text, const char *more)
{
    char key[64];

    (void)snprintf(key, sizeof key, nic->number > 0 ? "%s (%d)" : "%s", name, nic->number + 1);
    mpixq_fact(facts, key, "%s%s", text, more);
}

/* What is the same for all is told once. */
static void tell_provider(struct mpixq_facts *facts, const struct cxi_nic *nic)
{
    char list[LIST_ROOM] = "";

    for (const struct fi_info *i = nic->infos; i != NULL; i = i->next) {
        add_once(list, i->domain_attr->name);
    }
    mpixq_fact(facts, "provider in use", "%s", provider_of(nic->info));
    mpixq_fact(facts, "NICs", "%s", list);
}

void mpixq_cxi_describe_nic(struct mpixq_facts *facts, const struct cxi_nic *nic)
{
    char entries[200], text[260];

    if (nic->number == 0) {
        tell_provider(facts, nic);
    }
    (void)snprintf(text, sizeof text, "%.100s (%s)", nic->info->domain_attr->name, nic->why_info);
    fact_of(facts, nic, "NIC in use", text, "");
    describe_entries(nic, entries, sizeof entries);
    (void)snprintf(text, sizeof text, "%d (%s)", mpixq_cxi_shares_limit(&nic->shares), entries);
    fact_of(facts, nic, "triggered operations", text, "");
    fact_of(facts, nic, "rings by", rings(nic), or_nothing(nic->why_no_bell));
    fact_of(facts, nic, "words by", words(nic), "");
    fact_of(facts, nic, "memory of GPUs", takes_gpus(nic), or_nothing(nic->why_no_hmem));
}
