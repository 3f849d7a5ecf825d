// SPDX-License-Identifier: Apache-2.0
// What a communicator keeps for its calls. Set-up path.

#include <stdlib.h>

#include "base/error.h"
#include "base/options.h"
#include "coll/call/mail.h"
#include "plan/exec/add.h"
#include "sync/doing.h"
#include "xport/expose.h"

// What this rank has not waited for, as far as it can be seen now: those who stay must learn of it.
static void look_back(struct tern__calls *calls)
{
    struct tern__differs differs;
    if (tern__calls_settle(calls, &differs) != TERN_OK) {
        tern__calls_mismatch(calls, &differs);
    }
}

static void free_ahead(struct tern__ahead *ahead)
{
    if (ahead != NULL) {
        tern__lanes_free(&ahead->lanes);
    }
    free(ahead);
}

static void free_calls(void *arg)
{
    struct tern__calls *calls = arg;
    if (tern__handle_lives(calls->comm, TERN__COMM)) {
        look_back(calls);
        tern__elsewhere_end(calls);
        tern__calls_fail(calls, TERN_ERR_STATE);
        tern__endpoint_free(calls->endpoint);
    } else { // in the child of a fork: what has begun goes on in the parent
        tern__endpoint_let_go(calls->endpoint);
    }
    tern__shapes_free(calls);
    tern__selections_free(calls);
    tern_topo_destroy(calls->topo);
    tern__lanes_free(&calls->lanes);
    free_ahead(calls->ahead);
    if (calls->elsewhere != NULL) {
        tern_topo_destroy(calls->elsewhere->topo);
    }
    free(calls->elsewhere);
    free(calls->bases);
    free(calls->binding.room);
    free(calls);
}

// Who is on other machines.
static int find_elsewhere(struct tern__calls *calls)
{
    const struct tern__group *group = &calls->comm->group;
    const struct tern__job *job = group->job;
    if (job->net == NULL) {
        return TERN_OK;
    }
    uint64_t of[TERN_RANKS_MAX] = {0};
    int first[TERN_RANKS_MAX];
    for (int rank = group->size - 1; rank >= 0; rank--) {
        int machine = job->machines->of[group->members[rank]];
        of[machine] |= UINT64_C(1) << rank;
        first[machine] = rank;
    }
    int mine = job->machines->mine;
    uint64_t self = UINT64_C(1) << group->rank;
    if ((of[mine] & ~self) == tern__group_others(group)) {
        return TERN_OK;
    }
    struct tern__elsewhere *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the ranks of other machines");
    }
    struct tern__net_window area;
    int owner;
    uint64_t offset;
    tern__net_window_find(job->net, calls->area->base, &area, &owner, &offset);
    made->net = job->net;
    made->generation = area.generation;
    made->in_order = true;
    made->takes = first[mine] == group->rank && of[mine] != self;
    for (int machine = 0; machine < job->machines->count; machine++) {
        uint64_t ranks = of[machine] >> (of[machine] != 0 ? first[machine] : 0);
        made->in_order = made->in_order && (ranks & (ranks + 1)) == 0;
        if (machine != mine && of[machine] != 0) {
            made->ranks |= of[machine];
            made->machines[made->count].to = group->members[first[machine]];
            made->machines[made->count++].ranks = of[machine];
        }
    }
    calls->elsewhere = made;
    return TERN_OK;
}

_Static_assert(TERN__AREA_LOCKS_COUNT == TERN__ADD_LOCKS &&
                   sizeof(struct tern__add_lock) == TERN_CACHE_LINE,
               "the lines of the area are these locks");

static int fail_memory(void)
{
    return tern__fail(TERN_ERR_MEMORY, "no memory for the collective calls of a communicator");
}

static int make_ahead(struct tern__calls *calls)
{
    calls->ahead = calloc(1, sizeof *calls->ahead);
    if (calls->ahead == NULL) {
        return fail_memory();
    }
    struct tern__lanes *lanes = &calls->ahead->lanes;
    lanes->window = calls->area;
    lanes->binding = &calls->ahead->binding;
    lanes->owner = calls;
    lanes->begun = UINT64_MAX; // as of those of the oldest run
    return tern__lanes_create(lanes, TERN_PLAN_LANES_MAX);
}

int tern__calls_of(const char *name, tern_comm *comm, struct tern__calls **calls)
{
    TERN_TRY(tern__comm_lives(name, comm));
    if (__builtin_expect(comm->calls != NULL, 1)) {
        *calls = comm->calls;
        return TERN_OK;
    }
    struct tern__calls *made = calloc(1, sizeof *made);
    uint32_t *bases = calloc((size_t)TERN__SLOTS * TERN__SIGNALS_PACKED, sizeof *bases);
    if (made == NULL || bases == NULL ||
        tern__lanes_create(&made->lanes, TERN_PLAN_LANES_MAX) != TERN_OK) {
        if (made != NULL) {
            tern__lanes_free(&made->lanes);
        }
        free(made);
        free(bases);
        return fail_memory();
    }
    made->comm = comm;
    comm->group.made = &made->made;
    made->area = comm->area;
    made->rank = comm->group.rank;
    made->nranks = comm->group.size;
    made->others = tern__group_others(&comm->group);
    made->distance.votes = tern__area_votes(made->area);
    made->distance.past = tern__past_is_quicker();
    int status = find_elsewhere(made);
    made->direct = made->elsewhere == NULL && tern__reach_all(&comm->group);
    if (status == TERN_OK && made->direct && made->nranks > 1) {
        made->binding.room = malloc(tern__fetch_room(made->nranks));
        status = made->binding.room == NULL ? fail_memory() : TERN_OK;
    }
    if (status == TERN_OK && made->elsewhere != NULL) {
        status = make_ahead(made);
    }
    if (status != TERN_OK) {
        tern__lanes_free(&made->lanes);
        free_ahead(made->ahead);
        free(made->elsewhere);
        free(made);
        free(bases);
        return status;
    }
    if (tern__direct_option(&made->direct_option) != TERN_OK) {
        made->direct_option = TERN__DIRECT_OFF;
    }
    made->binding.rank = comm->group.rank;
    made->binding.nranks = (uint32_t)comm->group.size;
    made->binding.locks = tern__window_at(comm->area, 0, TERN__AREA_LOCKS);
    made->binding.locks_stride = comm->area->size_bytes;
    made->binding.group = &comm->group;
    made->bases = bases;
    made->lanes.window = comm->area;
    made->lanes.binding = &made->binding;
    made->lanes.owner = made;
    made->lanes.begun = UINT64_MAX; // all have published a run before any step of it
    tern__calls_set_up(made);
    comm->free_calls = free_calls;
    comm->calls = made;
    *calls = made;
    return TERN_OK;
}
