// SPDX-License-Identifier: Apache-2.0
// Executors of HCCL's framework: C++ only. A source with a class derived from CollCommExecutor and
// a REGISTER_EXEC is compiled against this header as it is and recorded as a plan by
// `tern plan KIND --executor FILE` (docs/executors.md). Nothing is executed here: each call
// appends a task to a stream of the recording (tern/record.h). C++11 or newer.
//
//     coll_executor/types.h      scalars, enums, memory, streams, parameters; log and check macros
//     coll_executor/tasks.h      notifies, links, copies, reduces
//     coll_executor/executor.h   the base class, and how an executor is registered and run
#ifndef TERN_FACES_COLL_COMM_EXECUTOR_H
#define TERN_FACES_COLL_COMM_EXECUTOR_H

#include "coll_executor/executor.h"

#endif
