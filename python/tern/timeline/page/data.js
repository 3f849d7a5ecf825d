// SPDX-License-Identifier: Apache-2.0
// The data of the page: columns as writer.py packs them.

function readColumn(text, count) {
  const bytes = atob(text);
  const column = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let value = 0;
    let scale = 1;
    let byte;
    do {
      byte = bytes.charCodeAt(at++);
      value += (byte & 127) * scale; // not with <<, which has 32 bits
      scale *= 128;
    } while (byte > 127);
    column[i] = value;
  }
  return column;
}

function unfold(number) {
  return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
}

// Start and end of events, row by row, in ns; of a row first the slices, then the pairs.
function readEvents(data) {
  const { count } = data.events;
  const start = readColumn(data.events.start, count);
  const end = readColumn(data.events.duration, count);
  let at = 0;
  for (const [, , slices, pairs] of data.rows) {
    for (const length of [slices, pairs]) {
      let before = 0;
      for (const last = at + length; at < last; at++) {
        before += unfold(start[at]);
        start[at] = before;
        end[at] += before;
      }
    }
  }
  return {
    count, start, end,
    what: Uint32Array.from(readColumn(data.events.what, count)),
    args: Uint32Array.from(readColumn(data.events.args, count)),
  };
}

function readArrows(data) {
  const { count } = data.arrows;
  const toRow = readColumn(data.arrows.toRow, count);
  const toTime = readColumn(data.arrows.to, count);
  const fromTime = readColumn(data.arrows.back, count);
  let row = -1;
  let before = 0;
  for (let i = 0; i < count; i++) {
    before = (toRow[i] === row ? before : 0) + unfold(toTime[i]);
    row = toRow[i];
    toTime[i] = before;
    fromTime[i] = before - unfold(fromTime[i]);
  }
  return {
    count, toRow, toTime, fromTime,
    fromRow: readColumn(data.arrows.fromRow, count),
    name: readColumn(data.arrows.name, count),
  };
}
