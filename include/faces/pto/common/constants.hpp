// SPDX-License-Identifier: Apache-2.0
// Words and numbers of the PTO ISA, by the name that sources include them by.
#ifndef TERN_FACES_PTO_COMMON_CONSTANTS_HPP
#define TERN_FACES_PTO_COMMON_CONSTANTS_HPP

#include "pto/common/type.hpp"

#endif
