// SPDX-License-Identifier: Apache-2.0
// Loads and stores at addresses of other machines' memory: named before they end the process. Only
// in jobs on several machines.
#ifndef TERN_COMM_FAULT_H
#define TERN_COMM_FAULT_H

// From the first call to the last one's partner.
void tern__fault_watch_windows(void);
void tern__fault_unwatch_windows(void);

#endif
