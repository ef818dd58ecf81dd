/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * For pvars.sh: stands in for MPI's tool interface, with 2 performance variables, "other_0" and on,
 * in one category, and 2 and 1 more once pvars_tool_grow was called, as MPI has when it loads a
 * component. That of an index has the value 1000 more.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pvars_tool_grow(void);

static int pvars = 2, categories = 1;
static int values[4] = {1000, 1001, 1002, 1003};

void pvars_tool_grow(void)
{
    pvars = 4;
    categories = 2;
}

int MPI_T_pvar_get_num(int *num_pvar)
{
    *num_pvar = pvars;
    return MPI_SUCCESS;
}

int MPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                        MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                        int *bind, int *readonly, int *continuous, int *atomic)
{
    (void)verbosity, (void)var_class, (void)datatype, (void)enumtype, (void)desc, (void)desc_len;
    (void)bind, (void)readonly, (void)continuous, (void)atomic;
    if (pvar_index < 0 || pvar_index >= pvars) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    (void)snprintf(name, (size_t)*name_len, "other_%d", pvar_index);
    return MPI_SUCCESS;
}

int MPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    int index = strncmp(name, "other_", 6) == 0 ? atoi(name + 6) : -1;

    (void)var_class;
    if (index < 0 || index >= pvars) {
        return MPI_T_ERR_INVALID_NAME;
    }
    *pvar_index = index;
    return MPI_SUCCESS;
}

int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                            MPI_T_pvar_handle *handle, int *count)
{
    (void)session, (void)obj_handle;
    if (pvar_index < 0 || pvar_index >= pvars) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    *handle = (MPI_T_pvar_handle)(void *)&values[pvar_index];
    *count = 1;
    return MPI_SUCCESS;
}

int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    (void)session;
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    (void)session;
    memcpy(buf, (void *)handle, sizeof(int));
    return MPI_SUCCESS;
}

int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    (void)session, (void)handle;
    return MPI_SUCCESS;
}

int MPI_T_category_get_num(int *num_cat)
{
    *num_cat = categories;
    return MPI_SUCCESS;
}

int MPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                            int *num_cvars, int *num_pvars, int *num_categories)
{
    (void)desc, (void)desc_len;
    if (cat_index < 0 || cat_index >= categories) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    if (name != NULL) {
        (void)snprintf(name, (size_t)*name_len, "others_%d", cat_index);
    }
    *num_cvars = 0;
    *num_pvars = cat_index == 0 ? pvars : 0;
    *num_categories = cat_index == 0 ? categories - 1 : 0;
    return MPI_SUCCESS;
}

int MPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    for (int i = 0; cat_index == 0 && i < pvars && i < len; i++) {
        indices[i] = i;
    }
    return MPI_SUCCESS;
}

int MPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    if (cat_index == 0 && categories > 1 && len > 0) {
        indices[0] = 1;
    }
    return MPI_SUCCESS;
}
