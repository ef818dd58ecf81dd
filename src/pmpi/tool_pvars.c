/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which performance variables there are. Built only where MPI has a tool interface. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/stats.h"
#include "next.h"
#include "tool.h"

struct pvar {
    const char *name, *description;
    int class;
    size_t offset; /* in struct mpixq_stats */
};

static const struct pvar table[] = {
#define MPIXQ_PVAR(name, class, member, description)                                               \
    {#name, description, MPI_T_PVAR_CLASS_##class, offsetof(struct mpixq_stats, member)},
#define MPIXQ_PVARS_OF(name, id)                                                                   \
    MPIXQ_PVAR(mpixq_pairs_##name, COUNTER, of[id].pairs, "pairs matched, channel " #name)         \
    MPIXQ_PVAR(mpixq_starts_##name, COUNTER, of[id].starts, "starts, channel " #name)              \
    MPIXQ_PVAR(mpixq_bytes_sent_##name, AGGREGATE, of[id].sent,                                    \
               "bytes of the sends that were started, channel " #name)                             \
    MPIXQ_PVAR(mpixq_bytes_received_##name, AGGREGATE, of[id].received,                            \
               "bytes of the receives that were started, channel " #name)
#define MPIXQ_PVARS_BY(name, id, how)                                                              \
    MPIXQ_PVAR(mpixq_transfers_##name, COUNTER, rma.by[id].transfers, "puts and gets " how)        \
    MPIXQ_PVAR(mpixq_transfer_bytes_##name, AGGREGATE, rma.by[id].bytes,                           \
               "bytes of the puts and gets " how)
#include "pvar_defs.h"
#undef MPIXQ_PVARS_BY
#undef MPIXQ_PVARS_OF
#undef MPIXQ_PVAR
};

_Static_assert(sizeof table / sizeof table[0] == MPIXQ_TOOL_N_PVARS, "one for each");

unsigned long long mpixq_tool_value(int pvar)
{
    struct mpixq_stats stats;
    uint64_t value;

    mpixq_stats_read(&stats);
    memcpy(&value, (const char *)&stats + table[pvar].offset, sizeof value);
    return value;
}

MPIXQ_INTERPOSE int MPI_T_pvar_get_num(int *num_pvar)
{
    bool placed = mpixq_tool_is_placed();
    int rc = mpixq_tool.next.T_pvar_get_num(num_pvar);

    if (rc == MPI_SUCCESS && placed) {
        *num_pvar = mpixq_tool_number(&mpixq_tool.pvars, *num_pvar);
    }
    return rc;
}
MPIXQ_OWN(T_pvar_get_num);

static void set(int *value_p, int value)
{
    if (value_p != NULL) {
        *value_p = value;
    }
}

MPIXQ_INTERPOSE int MPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity,
                                        int *var_class, MPI_Datatype *datatype,
                                        MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind,
                                        int *readonly, int *continuous, int *atomic)
{
    const struct pvar *pvar;

    if (!mpixq_tool_takes(&mpixq_tool.pvars, &pvar_index)) {
        return mpixq_tool.next.T_pvar_get_info(pvar_index, name, name_len, verbosity, var_class,
                                               datatype, enumtype, desc, desc_len, bind, readonly,
                                               continuous, atomic);
    }
    if (!mpixq_tool_is_up()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    pvar = &table[pvar_index - mpixq_tool.pvars.first];
    mpixq_tool_give_text(pvar->name, name, name_len);
    mpixq_tool_give_text(pvar->description, desc, desc_len);
    set(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    set(var_class, pvar->class);
    if (datatype != NULL) {
        *datatype = MPI_UNSIGNED_LONG_LONG;
    }
    if (enumtype != NULL) {
        *enumtype = MPI_T_ENUM_NULL;
    }
    set(bind, MPI_T_BIND_NO_OBJECT);
    set(readonly, 0);
    set(continuous, 1);
    set(atomic, 1);
    return MPI_SUCCESS;
}
MPIXQ_OWN(T_pvar_get_info);

MPIXQ_INTERPOSE int MPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    bool placed = mpixq_tool_is_placed();
    int rc;

    for (int i = 0; placed && name != NULL && pvar_index != NULL && i < mpixq_tool.pvars.n; i++) {
        if (table[i].class == var_class && strcmp(table[i].name, name) == 0) {
            *pvar_index = mpixq_tool.pvars.first + i;
            return mpixq_tool_is_up() ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
        }
    }
    rc = mpixq_tool.next.T_pvar_get_index(name, var_class, pvar_index);
    if (rc == MPI_SUCCESS && placed) {
        *pvar_index = mpixq_tool_from_next(&mpixq_tool.pvars, *pvar_index);
    }
    return rc;
}
MPIXQ_OWN(T_pvar_get_index);
