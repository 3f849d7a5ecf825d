// SPDX-License-Identifier: Apache-2.0
// Tiles are on-chip memory, and here there is none: what a processor copies is in its cache anyway,
// so the bytes go from tensor to tensor at once, and the tiles are left as they are. What a program
// sees of the pieces is which sizes are refused, and what a dynamic tile holds afterwards.

#include "isa/pieces.h"

#include <inttypes.h>

#include "base/error.h"

static bool fits_whole(const tern_tile *tile, const int64_t shape[5])
{
    return tern__shape_rows(shape) <= tile->valid_rows && shape[4] <= tile->valid_columns;
}

// What the last pieces left in the masks is of no account: two calls in a row may have the same
// tiles.
static bool are_alike(const tern_tile *ping, const tern_tile *pong)
{
    bool rows_stay = (ping->dynamic & TERN_TILE_ROWS) == 0;
    bool columns_stay = (ping->dynamic & TERN_TILE_COLUMNS) == 0;
    return pong->rows == ping->rows && pong->columns == ping->columns &&
           pong->dynamic == ping->dynamic && (!rows_stay || pong->valid_rows == ping->valid_rows) &&
           (!columns_stay || pong->valid_columns == ping->valid_columns);
}

static int check_divides(const struct tern__tiles *tiles, const char *what, int32_t valid,
                         int dimension, int64_t extent, bool dynamic)
{
    if (dynamic || extent % valid == 0) {
        return TERN_OK;
    }
    return tern__fail(TERN_ERR_ARG,
                      "%s: extent %d is %" PRId64 ", no multiple of the %d valid %s of the tile; "
                      "only a tile that is dynamic there may hold less in the last piece",
                      tiles->call, dimension, extent, valid, what);
}

int tern__pieces_check(const struct tern__tiles *tiles, const int64_t shape[5], tern_dtype dtype)
{
    const tern_tile *ping = tiles->ping;
    const tern_tile *pong = tiles->pong;
    TERN_TRY(
        tern__tile_check(tiles->call, pong != NULL ? "the first tile" : "the tile", ping, dtype));
    if (pong != NULL) {
        TERN_TRY(tern__tile_check(tiles->call, "the second tile", pong, dtype));
        if (!are_alike(ping, pong)) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: its tiles must be alike in all but their data and, where they "
                              "are dynamic, their masks",
                              tiles->call);
        }
    }
    if (fits_whole(ping, shape)) {
        return TERN_OK;
    }
    TERN_TRY(check_divides(tiles, "rows", ping->valid_rows, 3, shape[3],
                           (ping->dynamic & TERN_TILE_ROWS) != 0));
    return check_divides(tiles, "elements of a row", ping->valid_columns, 4, shape[4],
                         (ping->dynamic & TERN_TILE_COLUMNS) != 0);
}

static int64_t pieces_of(int64_t extent, int64_t most)
{
    return (extent + most - 1) / most;
}

// The size of piece number `index` of `extent` in pieces of `most`.
static int32_t piece_size(int64_t extent, int64_t most, int64_t index)
{
    int64_t rest = extent - index * most;
    return (int32_t)(rest < most ? rest : most);
}

void tern__pieces_end(const struct tern__tiles *tiles, const int64_t shape[5])
{
    int64_t rows = tiles->ping->valid_rows;
    int64_t columns = tiles->ping->valid_columns;
    if (fits_whole(tiles->ping, shape)) {
        return;
    }
    int64_t across = pieces_of(shape[4], columns);
    int64_t down = pieces_of(shape[3], rows);
    int64_t count = shape[0] * shape[1] * shape[2] * down * across;
    int64_t last_tiles = tiles->pong != NULL && count > 1 ? 2 : 1;
    for (int64_t index = count - last_tiles; index < count; index++) {
        tern_tile *tile = tiles->pong != NULL && index % 2 != 0 ? tiles->pong : tiles->ping;
        if ((tile->dynamic & TERN_TILE_ROWS) != 0) {
            tile->valid_rows = piece_size(shape[3], rows, index / across % down);
        }
        if ((tile->dynamic & TERN_TILE_COLUMNS) != 0) {
            tile->valid_columns = piece_size(shape[4], columns, index % across);
        }
    }
}
