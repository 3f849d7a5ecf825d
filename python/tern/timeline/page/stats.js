// SPDX-License-Identifier: Apache-2.0
// Where the time went. At every moment a row does what its innermost slice does; where no slice is
// open, it waits if a pair that is a wait is open, and else nothing is recorded. So the shares of a
// row sum up to 100 %.

// Calls each(kind, from, to) for what a row did in [from, to], without the time of nothing.
function rowSpans(model, row, from, to, each) {
  const { parts } = model;
  let waits = 0;
  const waiting = (first, last) => {
    while (waits < row.waits.length && row.waits[waits][1] <= first) waits++;
    for (let i = waits; i < row.waits.length && row.waits[i][0] < last; i++) {
      each(WAIT, Math.max(first, row.waits[i][0]), Math.min(last, row.waits[i][1]));
    }
  };
  let cursor = from;
  for (let i = lowerBound(parts.end, from, row.firstPart, row.endPart); i < row.endPart; i++) {
    const start = Math.max(from, parts.start[i]);
    const end = Math.min(to, parts.end[i]);
    if (start >= to) break;
    if (start > cursor) waiting(cursor, start);
    if (end > start) each(kindOf(model, parts.event[i]), start, end);
    cursor = Math.max(cursor, end);
  }
  if (cursor < to) waiting(cursor, to);
}

// For each row the ns of each kind in [from, to], and of nothing: { row, kinds, idle, whole }.
function timeOfRows(model, from, to) {
  return model.rows.filter(({ counter }) => !counter).map((row) => {
    const kinds = new Array(KINDS.length).fill(0);
    let idle = to - from;
    rowSpans(model, row, from, to, (kind, start, end) => {
      kinds[kind] += end - start;
      idle -= end - start;
    });
    return { row, kinds, idle, whole: to - from };
  });
}

// For each name the events that begin in [from, to]: { name, kind, count, total, median, longest }.
function timeOfNames(model, from, to) {
  const names = new Map();
  const ofWhat = model.whats.map(({ kind, group }) => {
    const key = `${kind} ${group}`;
    if (!names.has(key)) names.set(key, { name: group, kind, lengths: [], longest: -1 });
    return names.get(key);
  });
  for (let i = 0; i < model.count; i++) {
    if (model.start[i] < from || model.start[i] > to) continue;
    const entry = ofWhat[model.what[i]];
    const length = model.end[i] - model.start[i];
    entry.lengths.push(length);
    if (entry.longest < 0 || length > model.end[entry.longest] - model.start[entry.longest]) {
      entry.longest = i;
    }
  }
  const list = [];
  for (const { name, kind, lengths, longest } of names.values()) {
    if (lengths.length === 0) continue;
    const sorted = Float64Array.from(lengths).sort();
    const half = sorted.length >> 1;
    const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    const total = sorted.reduce((sum, length) => sum + length, 0);
    list.push({
      name, kind, longest, median, total, count: sorted.length, most: sorted[sorted.length - 1],
    });
  }
  return list;
}

// For the overview: how many rows did what, on average, in each of `bins` parts of the trace; an
// array for each kind.
function kindsOverTime(model, bins) {
  const kinds = KINDS.map(() => new Float64Array(bins));
  const size = (model.to - model.from) / bins;
  for (const row of model.rows) {
    rowSpans(model, row, model.from, model.to, (kind, start, end) => {
      const first = Math.min(bins - 1, Math.floor((start - model.from) / size));
      const last = Math.min(bins - 1, Math.floor((end - model.from) / size));
      for (let bin = first; bin <= last; bin++) {
        const low = Math.max(start, model.from + bin * size);
        const high = Math.min(end, model.from + (bin + 1) * size);
        kinds[kind][bin] += Math.max(0, high - low) / size;
      }
    });
  }
  return kinds;
}
