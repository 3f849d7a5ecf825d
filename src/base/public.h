// SPDX-License-Identifier: Apache-2.0
// The end of a public call. A status that the caller may overlook is told here, once: as a log line
// (TERN_LOG=error), or by ending the process (TERN_ERRORS=fatal). On success nothing is done but a
// comparison, so calls of the short path end here too.
//
//     int tern_put(…)
//     {
//         return TERN__CALL(put(…));
//     }
//
// Calls that only ask are without: the parse functions, tern_comm_health, tern_window_find,
// tern_coll_select, tern_tune_check, tern_tune_path, tern_tune_default_path, tern_machine_look,
// tern_file_probe, tern_job_report, tern_job_list, tern_launch_bind; and tern_launch. There an
// error is an answer. So is the passing of a deadline that a call was given as an argument.
#ifndef TERN_BASE_PUBLIC_H
#define TERN_BASE_PUBLIC_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/comm.h"

// The exit status of a process that TERN_ERRORS=fatal has ended.
#define TERN__EXIT_FATAL 125

// TERN_ERR_ARG when TERN_LOG, TERN_ERRORS or TERN_CORE is set to a word that there is not. For
// tern_init.
int tern__public_options(void);

// The status has been told already: a line says that the communicator has failed. The next end of a
// call of this thread with it stays silent.
void tern__public_told(int status);

// For calls that make other public calls: what those return to them is not told.
void tern__public_enter(void);
void tern__public_leave(void);

// Where in the program a call that failed is, for the beginning of its sentence, is found by this;
// it may answer NULL. NULL: nobody knows. For checking mode of kernels.
void tern__public_find_place(const char *(*find)(void));

// Tells. Not for success.
void tern__public_failed(const char *call, int status);

static inline int tern__public_end(const char *call, int status)
{
    if (__builtin_expect(status < 0, 0)) {
        tern__public_failed(call, status);
    }
    return status;
}

static inline int tern__public_end_outer(const char *call, int status)
{
    tern__public_leave();
    return tern__public_end(call, status);
}

static inline int tern__public_end_wait(const char *call, int status, int64_t timeout_ns)
{
    bool answer = status == TERN_ERR_TIMEOUT && timeout_ns != TERN_TIMEOUT_DEFAULT;
    return answer ? status : tern__public_end(call, status);
}

// The status of the body of the public function that this stands in; the second form for bodies
// that make other public calls; the third for waits.
#define TERN__CALL(body) tern__public_end(__func__, (body))
#define TERN__CALL_OF_CALLS(body) (tern__public_enter(), tern__public_end_outer(__func__, (body)))
#define TERN__CALL_WAIT(body, timeout_ns) tern__public_end_wait(__func__, (body), (timeout_ns))

#endif
