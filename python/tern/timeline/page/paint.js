// SPDX-License-Identifier: Apache-2.0
// The picture of the rows: strips of slices and pairs on a canvas. Neighbours that share a pixel
// become one, whose strength says how much of the pixel they cover.

const LABEL_LEAST = 26; // CSS pixels
const DIMMED = 0.22;

// What shares a pixel, drawn as runs of pixels of one colour.
class Pixels {
  constructor(context, y, height, strength) {
    Object.assign(this, { context, y, height, strength });
    this.pixel = -1;
    this.cover = 0;
    this.best = 0;
    this.fill = "";
    this.run = null; // { x, end, fill, alpha }
  }

  add(pixel, cover, fill) {
    if (pixel !== this.pixel) {
      this.#close();
      this.pixel = pixel;
    }
    this.cover += cover;
    if (cover > this.best) {
      this.best = cover;
      this.fill = fill;
    }
  }

  #close() {
    if (this.pixel < 0) return;
    const { cover, fill, pixel } = this;
    const alpha = cover >= 0.7 ? 1 : cover >= 0.35 ? 0.8 : cover >= 0.12 ? 0.62 : 0.45;
    const { run } = this;
    if (run !== null && run.fill === fill && run.alpha === alpha && run.end === pixel) run.end++;
    else {
      this.#draw();
      this.run = { x: pixel, end: pixel + 1, fill, alpha };
    }
    this.pixel = -1;
    this.cover = 0;
    this.best = 0;
  }

  #draw() {
    const { context, run } = this;
    if (run === null) return;
    context.globalAlpha = run.alpha * this.strength;
    context.fillStyle = run.fill;
    context.fillRect(run.x, this.y, run.end - run.x, this.height);
    this.run = null;
  }

  flush() {
    this.#close();
    this.#draw();
  }
}

// Draws a lane in device pixels. `fillOf` gives the colour of an id, or null for nothing; `labels`
// takes [id, x, end] of those wide enough for a name.
function paintLane(context, lane, place, view, { fillOf, strength = 1, labels = null }) {
  const { y, height, ratio } = place;
  const scale = (view.width * ratio) / view.span;
  const right = view.width * ratio;
  const pixels = new Pixels(context, y, height, strength);
  lane.visit(view.from, view.to, 1 / scale, (start, end, busy, index, merged) => {
    const fill = fillOf(lane.ids[index]);
    if (fill === null) return;
    const x = (start - view.from) * scale;
    const x1 = (end - view.from) * scale;
    if (merged || x1 - x < 1.5) {
      pixels.add(Math.max(0, Math.floor(x)), Math.min(1, busy * scale), fill);
      return;
    }
    pixels.flush();
    const from = Math.max(0, Math.round(x));
    const until = Math.min(right, Math.max(from + 1, Math.round(x1) - (x1 - x > 3 ? 1 : 0)));
    context.globalAlpha = strength;
    context.fillStyle = fill;
    context.fillRect(from, y, until - from, height);
    if (labels !== null && until - from > LABEL_LEAST * ratio) labels.push([lane.ids[index], from, until]);
  });
  pixels.flush();
  context.globalAlpha = 1;
}

// Widths of names, so that each is measured once.
class Names {
  constructor() {
    this.widths = new Map();
  }

  // As much of a name as fits into `width`.
  fit(context, text, width) {
    let full = this.widths.get(text);
    if (full === undefined) {
      full = context.measureText(text).width;
      this.widths.set(text, full);
    }
    if (full <= width) return text;
    const letters = Math.floor((width / full) * text.length) - 1;
    return letters < 2 ? "" : `${text.slice(0, letters)}…`;
  }
}

function paintLabels(context, app, labels, place) {
  const { theme, names, model } = app;
  const pad = 5 * place.ratio;
  context.fillStyle = theme.slice;
  for (const [id, x, end] of labels) {
    const text = names.fit(context, nameOf(model, id), end - x - 2 * pad);
    if (text !== "") context.fillText(text, x + pad, place.y + place.height / 2 + place.ratio * 0.5);
  }
}

function paintGrid(context, app, ratio) {
  const { view, theme, layout, scroll, height } = app;
  context.fillStyle = theme.line;
  for (const { time } of app.ticks.ticks) {
    context.fillRect(Math.round(view.x(time) * ratio), 0, ratio >= 2 ? 2 : 1, height * ratio);
  }
  for (const { y, height: own, folded } of layout.heads) {
    if (y + own < scroll || y > scroll + height) continue;
    context.fillStyle = folded ? theme.line : theme.panel;
    const top = Math.round((y - scroll) * ratio);
    context.fillRect(0, top, view.width * ratio, folded ? 1 : Math.round(own * ratio));
    if (!folded) {
      context.fillStyle = theme.line;
      context.fillRect(0, top, view.width * ratio, 1);
    }
  }
  context.fillStyle = theme.line;
  for (const { y } of layout.bands) {
    if (y < scroll || y > scroll + height) continue;
    context.globalAlpha = 0.6;
    context.fillRect(0, Math.round((y - scroll) * ratio), view.width * ratio, 1);
  }
  context.globalAlpha = 1;
}

// All that moves with the rows.
function paintRows(context, app) {
  const { model, view, theme, layout, scroll, height, ratio } = app;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.globalAlpha = 1;
  context.clearRect(0, 0, view.width * ratio + 1, height * ratio + 1);
  paintGrid(context, app, ratio);
  context.font = `${11 * ratio}px ${theme.font}`;
  context.textBaseline = "middle";
  paintCharts(context, app);
  const fillOf = (id) => {
    const what = model.what[id];
    return app.hidden.has(model.whats[what].kind) ? null : theme.fill[what];
  };
  const { matches } = app;
  // Dimmed is all but what matches, or is on the path, which is drawn over it.
  const dim = (matches !== null && matches.ids.length > 0) || app.showPath;
  const bright = (id) => (matches === null || matches.hits[model.what[id]] ? fillOf(id) : null);
  for (const strip of layout.between(scroll, scroll + height)) {
    const place = {
      y: Math.round((strip.y - scroll) * ratio), height: Math.round(strip.height * ratio), ratio,
    };
    const labels = strip.height >= 11 ? [] : null;
    paintLane(context, strip.lane, place, view, { fillOf, labels, strength: dim ? DIMMED : 1 });
    if (dim && matches !== null) {
      const lane = matchLane(app, strip.lane);
      if (lane.length > 0) paintLane(context, lane, place, view, { fillOf: bright });
    }
    if (labels !== null) {
      if (dim) context.globalAlpha = 0.4;
      paintLabels(context, app, labels, place);
      context.globalAlpha = 1;
    }
  }
}

// The matches of a lane, as a lane; made when first drawn.
function matchLane(app, lane) {
  app.matches.lanes ??= new Map();
  let found = app.matches.lanes.get(lane);
  if (found === undefined) {
    const { hits } = app.matches;
    found = laneOf(lane.ids.filter((id) => hits[app.model.what[id]]), app.model);
    app.matches.lanes.set(lane, found);
  }
  return found;
}
