// SPDX-License-Identifier: Apache-2.0
// All of tern that a program needs. Two headers stand apart: tern/launch.h starts jobs and
// tern/job.h looks at them from outside; they are for tools like `tern run`, not for ranks.
#ifndef TERN_TERN_H
#define TERN_TERN_H

// Every program: status and sentence of an error, the communicator, the collective calls.
#include "tern/coll.h"
#include "tern/waiter.h"
#include "tern/comm.h"
#include "tern/dtype.h"
#include "tern/file.h"
#include "tern/interrupt.h"
#include "tern/kind.h"
#include "tern/machine.h"
#include "tern/op.h"
#include "tern/status.h"

// Memory that other ranks reach, and what they do with it.
#include "tern/async.h"
#include "tern/context.h"
#include "tern/isa.h"
#include "tern/memory.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/tile.h"
#include "tern/window.h"

// The chip: tasks on its cores, kernels on its blocks, and a record of when each ran.
#include "tern/block.h"
#include "tern/cluster.h"
#include "tern/fifo.h"
#include "tern/graph.h"
#include "tern/node.h"
#include "tern/region.h"
#include "tern/stream.h"
#include "tern/submit.h"
#include "tern/trace.h"

// Collectives as data: made, read, proved, priced, executed; and which one a call gets.
#include "tern/algo.h"
#include "tern/certificate.h"
#include "tern/check.h"
#include "tern/exec.h"
#include "tern/plan.h"
#include "tern/program.h"
#include "tern/record.h"
#include "tern/sim.h"
#include "tern/summary.h"
#include "tern/topo.h"
#include "tern/tune.h"

#endif
