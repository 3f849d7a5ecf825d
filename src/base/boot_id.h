// SPDX-License-Identifier: Apache-2.0
// Which machine this is, since it was started. Set-up path.
#ifndef TERN_BASE_BOOT_ID_H
#define TERN_BASE_BOOT_ID_H

// The kernel's boot id, in letters, and zeros to the end; "" where it has none.
#define TERN__BOOT_ID_BYTES 64
int tern__boot_id(char id[TERN__BOOT_ID_BYTES]);

#endif
