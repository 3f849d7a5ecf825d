// SPDX-License-Identifier: Apache-2.0
// How an instruction cuts a tensor into pieces that fit a tile.
#ifndef TERN_ISA_PIECES_H
#define TERN_ISA_PIECES_H

#include "isa/view.h"

// The staging tiles of an instruction: one, or two in turn.
struct tern__tiles {
    const char *call; // for sentences
    tern_tile *ping;
    tern_tile *pong; // NULL: there is none
};

// Whether tensors of this shape and dtype can go through the tiles.
int tern__pieces_check(const struct tern__tiles *tiles, const int64_t shape[5], tern_dtype dtype);

// What the tiles say of themselves after the last piece.
void tern__pieces_end(const struct tern__tiles *tiles, const int64_t shape[5]);

#endif
