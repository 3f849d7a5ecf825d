// SPDX-License-Identifier: Apache-2.0
// Where rows are: ranks from top to bottom, each with a head and its rows, or folded into the head.
// A strip is a lane at a place: { row, lane, y, height, mini }; mini: of a folded rank.

const HEAD = 26;
const SLICE = 19; // the pitch of nested slices; a strip is one less
const ROW_PAD = 5;
const FOLDED_PAD = 7;
const RANKS_OPEN = 8; // with more, ranks begin folded

class Layout {
  constructor(model) {
    this.model = model;
    const ranks = model.processes.filter(({ counts }) => !counts);
    const counting = model.processes.filter(({ counts, rows }) => counts && rows.length > CHARTS_OPEN);
    this.folded = new Set([...(ranks.length > RANKS_OPEN ? ranks : []), ...counting]);
    this.arrange();
  }

  fold(process, folded) {
    if (folded) this.folded.add(process);
    else this.folded.delete(process);
    this.arrange();
  }

  // this.strips and this.charts, in the order of y; this.heads and this.bands, of ranks and rows: where labels are.
  arrange() {
    this.strips = [];
    this.charts = []; // { row, y, height, mini }: of counters
    this.heads = [];
    this.bands = [];
    this.rowY = []; // of a row: top and bottom of where its slices are
    let y = 0;
    for (const process of this.model.processes) {
      const folded = this.folded.has(process);
      const height = folded ? this.#folded(process, y) : HEAD;
      this.heads.push({ process, y, height, folded });
      y += height;
      if (folded) continue;
      for (const row of process.rows) y = this.#row(row, y);
      y += 6;
    }
    this.height = y;
  }

  #folded(process, y) {
    const { counts } = process;
    const rows = counts ? process.rows.slice(0, CHARTS_FOLDED) : process.rows;
    const [least, room] = counts ? [1, CHARTS_FOLDED] : [4, 34];
    const pitch = Math.max(least, Math.min(9, Math.floor(room / Math.max(1, rows.length))));
    for (const row of process.rows) this.rowY[row.index] = [y + FOLDED_PAD, y + FOLDED_PAD + 1];
    for (const [nth, row] of rows.entries()) {
      const top = y + FOLDED_PAD + nth * pitch;
      this.rowY[row.index] = [top, top + pitch - 1];
      if (row.counter) {
        this.charts.push({ row, y: top, height: pitch > 2 ? pitch - 1 : pitch, mini: true });
      }
      if (row.lanes.length > 0) {
        this.strips.push({ row, lane: row.lanes[0], y: top, height: pitch - 1, mini: true });
      }
    }
    return Math.max(HEAD + 4, 2 * FOLDED_PAD + rows.length * pitch);
  }

  #row(row, y) {
    const top = y + ROW_PAD;
    let at = top;
    if (row.counter) {
      this.charts.push({ row, y: y + 2, height: CHART - 2, mini: false });
      this.rowY[row.index] = [y + 2, y + CHART];
      this.bands.push({ row, y, height: CHART });
      return y + CHART;
    }
    for (const lane of row.lanes) {
      this.strips.push({ row, lane, y: at, height: SLICE - 1, mini: false });
      at += SLICE;
    }
    if (row.lanes.length === 0 && row.pairLanes.length === 0) at += SLICE;
    this.rowY[row.index] = [top, Math.max(top + SLICE, at) - 1];
    const lanes = row.pairLanes.length;
    const pitch = lanes <= 3 ? 13 : Math.max(3, Math.floor(44 / lanes));
    if (lanes > 0 && row.lanes.length > 0) at += 2;
    for (const lane of row.pairLanes) {
      this.strips.push({ row, lane, y: at, height: pitch - 1, mini: false });
      at += pitch;
    }
    const bottom = at + ROW_PAD;
    this.bands.push({ row, y, height: bottom - y });
    return bottom;
  }

  // The strip of an event, null where its rank is folded and does not show it.
  stripOf(event) {
    const row = this.model.row[event];
    const start = this.model.start[event];
    return this.strips.find((strip) => strip.row.index === row && strip.lane.has(start, event))
      ?? null;
  }

  // The strips between two heights.
  between(top, bottom) {
    return this.strips.filter((strip) => strip.y + strip.height >= top && strip.y <= bottom);
  }
}
