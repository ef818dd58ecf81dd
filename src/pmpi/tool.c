/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The tool interface as a whole, and its categories. Built only where MPI has it. */
#include "tool.h"

#include <stddef.h>
#include <string.h>

#include "next.h"

static const char category[] = "mpix_queue";

struct mpixq_tool mpixq_tool = {
    .next =
        {
#define MPIXQ_NEXT(name, parameters) .name = PMPI_##name,
#include "tool_defs.h"
#undef MPIXQ_NEXT
        },
    .begins = -1,
    .place_lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_TOOL_PLACE),
    .pvars = {.n = MPIXQ_TOOL_N_PVARS},
    .categories = {.n = 1},
};

__attribute__((constructor)) static void find_all(void)
{
#define MPIXQ_NEXT(name, parameters) mpixq_next_find("MPI_" #name, &mpixq_tool.next.name);
#include "tool_defs.h"
#undef MPIXQ_NEXT
}

bool mpixq_tool_is_up(void)
{
    int n = atomic_load(&mpixq_tool.begins), number;

    /* MPIs end the process when they are asked anything after the end. */
    return n > 0 || (n < 0 && PMPI_T_pvar_get_num(&number) == MPI_SUCCESS);
}

bool mpixq_tool_is_placed(void)
{
    int pvars, categories;

    if (atomic_load_explicit(&mpixq_tool.is_placed, memory_order_acquire)) {
        return true;
    }
    if (mpixq_next_is_foreign() || !mpixq_tool_is_up()) {
        return false;
    }
    mpixq_lock_acquire(&mpixq_tool.place_lock);
    if (!atomic_load(&mpixq_tool.is_placed) &&
        mpixq_tool.next.T_pvar_get_num(&pvars) == MPI_SUCCESS &&
        mpixq_tool.next.T_category_get_num(&categories) == MPI_SUCCESS) {
        mpixq_tool.pvars.first = pvars;
        mpixq_tool.categories.first = categories;
        atomic_store_explicit(&mpixq_tool.is_placed, true, memory_order_release);
    }
    mpixq_lock_release(&mpixq_tool.place_lock);
    return atomic_load(&mpixq_tool.is_placed);
}

bool mpixq_tool_takes(const struct mpixq_tool_range *range, int *index)
{
    if (!mpixq_tool_is_placed()) {
        return false;
    }
    if (*index >= range->first && *index - range->first < range->n) {
        return true;
    }
    *index -= *index < range->first ? 0 : range->n;
    return false;
}

/* Without room for it only its length is asked for; what has no room is cut off. */
void mpixq_tool_give_text(const char *text, char *text_p, int *length_p)
{
    int needed = (int)strlen(text) + 1;

    if (length_p == NULL) {
        return;
    }
    if (text_p == NULL || *length_p <= 0) {
        *length_p = needed;
        return;
    }
    *length_p = needed < *length_p ? needed : *length_p;
    memcpy(text_p, text, (size_t)*length_p);
    text_p[*length_p - 1] = '\0';
}

MPIXQ_INTERPOSE int MPI_T_init_thread(int required, int *provided)
{
    int rc = mpixq_tool.next.T_init_thread(required, provided), none = -1;

    if (rc == MPI_SUCCESS) {
        (void)atomic_compare_exchange_strong(&mpixq_tool.begins, &none, 0);
        atomic_fetch_add(&mpixq_tool.begins, 1);
    }
    return rc;
}
MPIXQ_OWN(T_init_thread);

MPIXQ_INTERPOSE int MPI_T_finalize(void)
{
    int rc = mpixq_tool.next.T_finalize();

    if (rc == MPI_SUCCESS && atomic_load(&mpixq_tool.begins) > 0 &&
        atomic_fetch_sub(&mpixq_tool.begins, 1) == 1) {
        mpixq_tool_end_session(MPI_T_PVAR_SESSION_NULL);
    }
    return rc;
}
MPIXQ_OWN(T_finalize);

static bool is_own(int *cat_index)
{
    return mpixq_tool_takes(&mpixq_tool.categories, cat_index);
}

static int up(void)
{
    return mpixq_tool_is_up() ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}

MPIXQ_INTERPOSE int MPI_T_category_get_num(int *num_cat)
{
    bool placed = mpixq_tool_is_placed();
    int rc = mpixq_tool.next.T_category_get_num(num_cat);

    if (rc == MPI_SUCCESS && placed) {
        *num_cat = mpixq_tool_number(&mpixq_tool.categories, *num_cat);
    }
    return rc;
}
MPIXQ_OWN(T_category_get_num);

MPIXQ_INTERPOSE int MPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc,
                                            int *desc_len, int *num_cvars, int *num_pvars,
                                            int *num_categories)
{
    if (!is_own(&cat_index)) {
        return mpixq_tool.next.T_category_get_info(cat_index, name, name_len, desc, desc_len,
                                                   num_cvars, num_pvars, num_categories);
    }
    if (up() != MPI_SUCCESS) {
        return up();
    }
    mpixq_tool_give_text(category, name, name_len);
    mpixq_tool_give_text("what libmpix_queue has done in this process", desc, desc_len);
    if (num_cvars != NULL) {
        *num_cvars = 0;
    }
    if (num_pvars != NULL) {
        *num_pvars = mpixq_tool.pvars.n;
    }
    if (num_categories != NULL) {
        *num_categories = 0;
    }
    return MPI_SUCCESS;
}
MPIXQ_OWN(T_category_get_info);

MPIXQ_INTERPOSE int MPI_T_category_get_index(const char *name, int *cat_index)
{
    bool placed = mpixq_tool_is_placed();
    int rc;

    if (placed && name != NULL && cat_index != NULL && strcmp(name, category) == 0) {
        *cat_index = mpixq_tool.categories.first;
        return up();
    }
    rc = mpixq_tool.next.T_category_get_index(name, cat_index);
    if (rc == MPI_SUCCESS && placed) {
        *cat_index = mpixq_tool_from_next(&mpixq_tool.categories, *cat_index);
    }
    return rc;
}
MPIXQ_OWN(T_category_get_index);

MPIXQ_INTERPOSE int MPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
    return is_own(&cat_index) ? up()
                              : mpixq_tool.next.T_category_get_cvars(cat_index, len, indices);
}
MPIXQ_OWN(T_category_get_cvars);

/* MPI has written the indices of what is in its category, of which there are n: make them ours. */
static void number_anew(const struct mpixq_tool_range *range, int len, int n, int indices[])
{
    for (int i = 0; i < len && i < n; i++) {
        indices[i] = mpixq_tool_from_next(range, indices[i]);
    }
}

MPIXQ_INTERPOSE int MPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    int cvars, pvars, categories, rc;

    if (is_own(&cat_index)) {
        for (int i = 0; up() == MPI_SUCCESS && i < len && i < mpixq_tool.pvars.n; i++) {
            indices[i] = mpixq_tool.pvars.first + i;
        }
        return up();
    }
    rc = mpixq_tool.next.T_category_get_pvars(cat_index, len, indices);
    if (rc == MPI_SUCCESS && mpixq_tool_is_placed() &&
        mpixq_tool.next.T_category_get_info(cat_index, NULL, NULL, NULL, NULL, &cvars, &pvars,
                                            &categories) == MPI_SUCCESS) {
        number_anew(&mpixq_tool.pvars, len, pvars, indices);
    }
    return rc;
}
MPIXQ_OWN(T_category_get_pvars);

MPIXQ_INTERPOSE int MPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    int cvars, pvars, categories, rc;

    if (is_own(&cat_index)) {
        return up();
    }
    rc = mpixq_tool.next.T_category_get_categories(cat_index, len, indices);
    if (rc == MPI_SUCCESS && mpixq_tool_is_placed() &&
        mpixq_tool.next.T_category_get_info(cat_index, NULL, NULL, NULL, NULL, &cvars, &pvars,
                                            &categories) == MPI_SUCCESS) {
        number_anew(&mpixq_tool.categories, len, categories, indices);
    }
    return rc;
}
MPIXQ_OWN(T_category_get_categories);
