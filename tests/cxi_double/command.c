/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * command.c - a domain's trigger command queue, and what waits at counters for a threshold
 *
 * Commands are done in order. One that needs a trigger entry when the NIC has none stands still,
 * and all behind it, reads of counters too, stand still with it.
 */
#include "double.h"

#include <stdlib.h>

static int queue_limit(void)
{
    int depth = nic_switches.tles - NIC_KEPT_TLES;

    return depth < 64 ? 64 : depth;
}

int nic_command_put(struct nic_domain *domain, const struct nic_command *command)
{
    struct nic_command *copy;

    if (domain->command_count >= queue_limit()) {
        return -FI_EAGAIN;
    }
    copy = malloc(sizeof(*copy));
    if (copy == NULL) {
        nic_die("no memory for a command");
    }
    *copy = *command;
    copy->next = NULL;
    if (domain->commands == NULL) {
        domain->commands_end = &domain->commands;
    }
    *domain->commands_end = copy;
    domain->commands_end = &copy->next;
    domain->command_count++;
    if (copy->ep != NULL) {
        copy->ep->unfired++;
    }
    nic_wake();
    return 0;
}

/* Cancelled before it has fired. */
void nic_command_free(struct nic_command *command)
{
    struct nic_op *op = command->op;

    if (op != NULL) {
        nic_request_give(op);
        nic_op_free(op);
    }
    if (command->ep != NULL) {
        command->ep->unfired--;
    }
    free(command->receive);
    free(command);
}

/* Takes over what the caller changed since it was queued. */
static void read_again(struct nic_command *command)
{
    struct nic_command now = {.kind = NIC_C_OP};
    struct nic_op *op = command->op, *fresh;

    if (op == NULL) {
        return;
    }
    if (nic_dwq_build(command->work, &now) != 0 || now.op == NULL) {
        nic_die("deferred work was changed before it fired");
    }
    fresh = now.op;
    fresh->tracked = op->tracked;
    if (op->tracked && fresh->cntr != op->cntr) {
        nic_die("deferred work counts on another counter when it fires than when it was queued");
    }
    nic_op_free(op);
    command->op = fresh;
}

/* Not from within the change of a counter: the chain may lead back to it. */
static void change_event(void *arg)
{
    struct nic_command *command = arg;

    if (command->counted != NULL) {
        if (command->kind == NIC_C_ADD) {
            nic_cntr_add(command->counted, command->value, 0);
        } else {
            nic_cntr_set(command->counted, command->value, false);
        }
    }
    free(command);
}

static void command_fire(struct nic_command *command)
{
    if (command->ep != NULL) {
        command->ep->unfired--;
    }
    switch (command->kind) {
    case NIC_C_ADD:
    case NIC_C_SET:
        nic_at(nic_now(), change_event, command);
        nic_wake();
        return;
    case NIC_C_EVENT:
        nic_cntr_write_back(command->cntr);
        if (command->fired_p != NULL) {
            *command->fired_p = true;
        }
        break;
    default:
        if (command->work != NULL) {
            read_again(command);
        }
        if (command->op != NULL) {
            nic_op_start(command->op);
        } else {
            nic_match_post(command->ep, command->receive);
        }
        break;
    }
    free(command);
}

void nic_triggers_fire(struct nic_cntr *cntr)
{
    while (cntr->triggers != NULL && cntr->triggers->threshold <= nic_cntr_level(cntr)) {
        struct nic_command *command = cntr->triggers;

        cntr->triggers = command->next;
        nic_pool_give(cntr->domain->place, NIC_TLES, 1);
        command_fire(command);
    }
}

static void trigger_insert(struct nic_command *command)
{
    struct nic_command **place = &command->cntr->triggers;

    while (*place != NULL &&
           ((*place)->threshold <= command->threshold || nic_is_wrong("work-order"))) {
        place = &(*place)->next;
    }
    command->next = *place;
    *place = command;
    if (!nic_is_wrong("work-threshold-met")) {
        nic_triggers_fire(command->cntr);
    }
}

static bool needs_entry(const struct nic_command *command)
{
    return command->kind != NIC_C_GET && command->kind != NIC_C_PUT;
}

static bool may_run(const struct nic_domain *domain, const struct nic_command *command)
{
    return !needs_entry(command) || command->reserved || nic_pool_take(domain->place, NIC_TLES, 1);
}

bool nic_commands_run(struct nic_domain *domain)
{
    bool any = false;

    while (domain->commands != NULL && !nic.stands && may_run(domain, domain->commands)) {
        struct nic_command *command = domain->commands;
        struct nic_cntr *cntr = command->cntr;

        domain->commands = command->next;
        domain->command_count--;
        any = true;
        if (needs_entry(command)) {
            trigger_insert(command);
            continue;
        }
        if (command->kind == NIC_C_GET) {
            cntr->reads--;
            cntr->reads_done++;
            nic_cntr_write_back(cntr);
            pthread_cond_broadcast(&nic.changed);
        } else {
            nic_cntr_set(cntr, command->value, command->threshold != 0);
        }
        free(command);
    }
    return any;
}

bool nic_commands_stalled(const struct nic_domain *domain)
{
    return domain->commands != NULL;
}

static bool belongs(const struct nic_command *command, const struct nic_cntr *cntr,
                    const struct nic_ep *ep)
{
    return (cntr != NULL && command->cntr == cntr) || (ep != NULL && command->ep == ep) ||
           (cntr == NULL && ep == NULL);
}

static void forget_counted(struct nic_command *command, const struct nic_cntr *cntr)
{
    if (cntr != NULL && command->counted == cntr) {
        command->counted = NULL;
    }
}

/* Those of one counter or endpoint, or all. */
void nic_triggers_cancel(struct nic_cntr *cntr, const struct nic_ep *ep)
{
    struct nic_command **place = &cntr->triggers;

    while (*place != NULL) {
        struct nic_command *command = *place;

        if (ep != NULL && command->ep != ep) {
            place = &command->next;
            continue;
        }
        *place = command->next;
        nic_pool_give(cntr->domain->place, NIC_TLES, 1);
        nic_command_free(command);
    }
}

/* Also makes commands of other counters forget this one, which is being closed. */
void nic_commands_cancel(struct nic_domain *domain, const struct nic_cntr *cntr,
                         const struct nic_ep *ep)
{
    struct nic_command **place = &domain->commands;

    for (struct nic_cntr *other = domain->cntrs; other != NULL; other = other->next) {
        for (struct nic_command *trigger = other->triggers; trigger; trigger = trigger->next) {
            forget_counted(trigger, cntr);
        }
    }
    while (*place != NULL) {
        struct nic_command *command = *place;

        forget_counted(command, cntr);
        if (!belongs(command, cntr, ep)) {
            place = &command->next;
            continue;
        }
        *place = command->next;
        domain->command_count--;
        if (command->reserved) {
            nic_pool_give(domain->place, NIC_TLES, 1);
        }
        nic_command_free(command);
    }
    domain->commands_end = place;
}

/* The caller of fi_cntr_wait goes; its event stays, and so does the entry that it uses. */
void nic_trigger_forget(struct nic_cntr *cntr, const bool *fired)
{
    struct nic_command *lists[] = {cntr->triggers, cntr->domain->commands};

    for (int i = 0; i < 2; i++) {
        for (struct nic_command *command = lists[i]; command != NULL; command = command->next) {
            if (command->fired_p == fired) {
                command->fired_p = NULL;
            }
        }
    }
}
