// SPDX-License-Identifier: Apache-2.0
// What the page knows of a trace: ranks and their rows; events with the one around them; lanes to
// draw them in; the arrows with the events at their ends; and what each row did at every moment.

const KINDS = ["task", "transfer", "notify", "wait", "barrier", "call", "other"];
const WAIT = KINDS.indexOf("wait");
const TASK = KINDS.indexOf("task");
const CALL = KINDS.indexOf("call");
const OTHER = KINDS.indexOf("other");

function buildModel(data) {
  const model = {
    file: data.file, notes: data.notes, argTable: data.args, arrowNames: data.arrowNames,
    ...readEvents(data),
    whats: data.whats.map(([name, cat]) => ({
      name: name || "(no name)",
      kind: KINDS.includes(cat) ? KINDS.indexOf(cat) : OTHER,
      cat,
      group: name.replace(/ #\d+$/, ""), // calls without their number
      base: name.replace(/[ #\d]+$/, ""), // of one colour
    })),
    processes: data.processes.map((process, index) => ({ ...process, index, rows: [] })),
    rows: [],
  };
  model.row = new Uint32Array(model.count);
  model.parent = new Int32Array(model.count).fill(-1);
  let at = 0;
  for (const [process, name, slices, pairs] of data.rows) {
    const row = {
      index: model.rows.length, name, process: model.processes[process],
      first: at, firstPair: at + slices, end: at + slices + pairs, lanes: [], pairLanes: [],
    };
    at = row.end;
    model.rows.push(row);
    row.process.rows.push(row);
    model.row.fill(row.index, row.first, row.end);
    row.lanes = stackSlices(model, row);
    row.pairLanes = spreadPairs(model, row);
  }
  addCounters(model, data);
  findSpan(model);
  sortCounters(model);
  findSelf(model);
  bindArrows(model, readArrows(data));
  return model;
}

function kindOf(model, event) {
  return model.whats[model.what[event]].kind;
}

function nameOf(model, event) {
  return model.whats[model.what[event]].name;
}

function argsOf(model, event) {
  const args = model.argTable[model.args[event]];
  return args !== null && typeof args === "object" ? args : { args };
}

function isPair(model, event) {
  return event >= model.rows[model.row[event]].firstPair;
}

function placeOf(model, event) {
  const row = model.rows[model.row[event]];
  return `${row.process.name} · ${row.name}`;
}

function findSpan(model) {
  let first = Infinity;
  let last = -Infinity;
  for (let i = 0; i < model.count; i++) {
    if (model.start[i] < first) first = model.start[i];
    if (model.end[i] > last) last = model.end[i];
  }
  model.empty = model.count === 0;
  model.from = model.empty ? 0 : first;
  model.to = model.empty ? 1e6 : Math.max(last, first + 1);
}

// Slices of a thread lie within each other; how deep is their lane.
function stackSlices(model, row) {
  const { start, end, parent } = model;
  const depths = [];
  const stack = [];
  for (let i = row.first; i < row.firstPair; i++) {
    while (stack.length > 0 && end[stack[stack.length - 1]] <= start[i]) stack.pop();
    parent[i] = stack.length > 0 ? stack[stack.length - 1] : -1;
    (depths[stack.length] ??= []).push(i);
    stack.push(i);
  }
  return depths.map((ids) => laneOf(ids, model));
}

// Pairs overlap; each takes the first lane that is free.
function spreadPairs(model, row) {
  const lanes = [];
  const free = [];
  for (let i = row.firstPair; i < row.end; i++) {
    let lane = free.findIndex((time) => time <= model.start[i]);
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane].push(i);
    free[lane] = model.end[i];
  }
  return lanes.map((ids) => laneOf(ids, model));
}

// Which slice was innermost when: parts (start, end, event) row by row, those of a row from
// row.firstPart to row.endPart, in order and without overlap. row.waits: when a pair that is a wait
// was open.
function findSelf(model) {
  const parts = { start: [], end: [], event: [] };
  const put = (event, from, to) => {
    if (to <= from) return;
    parts.start.push(from);
    parts.end.push(to);
    parts.event.push(event);
  };
  for (const row of model.rows) {
    row.firstPart = parts.start.length;
    const stack = [];
    let cursor = -Infinity;
    const close = (until) => {
      while (stack.length > 0 && model.end[stack[stack.length - 1]] <= until) {
        const event = stack.pop();
        put(event, cursor, model.end[event]);
        cursor = Math.max(cursor, model.end[event]);
      }
    };
    for (let i = row.first; i < row.firstPair; i++) {
      close(model.start[i]);
      if (stack.length > 0) put(stack[stack.length - 1], cursor, model.start[i]);
      cursor = Math.max(cursor, model.start[i]);
      stack.push(i);
    }
    close(Infinity);
    row.endPart = parts.start.length;
    row.waits = waitsOf(model, row);
  }
  model.parts = {
    start: Float64Array.from(parts.start), end: Float64Array.from(parts.end),
    event: Uint32Array.from(parts.event),
  };
}

function waitsOf(model, row) {
  const waits = [];
  for (let i = row.firstPair; i < row.end; i++) {
    if (kindOf(model, i) !== WAIT) continue;
    const last = waits[waits.length - 1];
    if (last && model.start[i] <= last[1]) last[1] = Math.max(last[1], model.end[i]);
    else waits.push([model.start[i], model.end[i]]);
  }
  return waits;
}

// The innermost slice of a row that is open at a time; -1: none.
function sliceAt(model, row, time) {
  const { first, firstPair } = model.rows[row];
  let event = lowerBound(model.start, time + 0.5, first, firstPair) - 1; // times are whole
  if (event < first) return -1;
  while (event >= 0 && model.end[event] <= time && model.end[event] > model.start[event]) {
    event = model.parent[event];
  }
  return event;
}

// model.arrows.from and .to are events, -1 where there is none; model.into and .outOf: for an event
// the arrows that end and begin there.
function bindArrows(model, arrows) {
  arrows.from = new Int32Array(arrows.count);
  arrows.to = new Int32Array(arrows.count);
  model.into = new Map();
  model.outOf = new Map();
  const note = (map, event, arrow) => {
    if (event < 0) return;
    const list = map.get(event);
    if (list) list.push(arrow);
    else map.set(event, [arrow]);
  };
  for (let i = 0; i < arrows.count; i++) {
    arrows.from[i] = sliceAt(model, arrows.fromRow[i], arrows.fromTime[i]);
    arrows.to[i] = sliceAt(model, arrows.toRow[i], arrows.toTime[i]);
    note(model.outOf, arrows.from[i], i);
    note(model.into, arrows.to[i], i);
  }
  model.arrows = arrows;
}
