// SPDX-License-Identifier: Apache-2.0
// Orchestrations that build the whole graph on the host, before it runs: March 2026. C++ only.
//
//     extern "C" int build(Runtime *runtime, uint64_t *args, int arg_count); // not 0: it failed
#ifndef TERN_FACES_SIMPLER_HOST_BUILD_GRAPH_RUNTIME_H
#define TERN_FACES_SIMPLER_HOST_BUILD_GRAPH_RUNTIME_H

#include "simpler/tern/calls.h"
#include "simpler/tern/mark.hpp"

#define RUNTIME_MAX_ARGS 16
#define RUNTIME_MAX_TASKS 131072

class Runtime : public tern_simpler_runtime
{
  public:
    // The task's number, from 0 on; -1 when it is refused, which the launch then is, too.
    int add_task(uint64_t *args, int num_args, int func_id, CoreType core_type = CoreType::AIC)
    {
        return tern_calls->add_task(this, args, num_args, func_id, core_type);
    }
    void add_successor(int from, int to)
    {
        tern_calls->add_successor(this, from, to);
    }
    // Copied to the host when the runtime is finalized.
    void record_tensor_pair(void *host, void *device, size_t size)
    {
        tern_calls->record_tensor_pair(this, host, device, size);
    }
    int get_task_count()
    {
        return tern_calls->get_task_count(this);
    }
    // Those that wait for no task; how many. The array has place for all tasks; NULL: only counts.
    int get_initial_ready_tasks(int *tasks)
    {
        return tern_calls->get_initial_ready_tasks(this, tasks);
    }
    void print_runtime()
    {
        tern_calls->print_runtime(this);
    }
};

TERN_SIMPLER_MARK(tern_simpler_host_build_graph);

#endif
