// SPDX-License-Identifier: Apache-2.0
// What lies over the rows: arrows, the critical path, the selection, what the pointer is on, a
// measured stretch.

const ARROWS_MOST = 260; // more in view are not drawn, but counted

function rowMiddle(app, row) {
  const [top, bottom] = app.layout.rowY[row];
  return (Math.min(top + SLICE, bottom) + top) / 2 - app.scroll;
}

// The middle of the strip of an event, or of its row.
function eventMiddle(app, event) {
  const strip = app.layout.stripOf(event);
  return strip ? strip.y + strip.height / 2 - app.scroll : rowMiddle(app, app.model.row[event]);
}

function endOf(app, arrow, side) {
  const { arrows } = app.model;
  const event = arrows[side][arrow];
  const time = side === "from" ? arrows.fromTime[arrow] : arrows.toTime[arrow];
  const row = side === "from" ? arrows.fromRow[arrow] : arrows.toRow[arrow];
  return { x: app.view.x(time), y: event < 0 ? rowMiddle(app, row) : eventMiddle(app, event) };
}

function curve(context, from, to) {
  const bend = Math.max(14, Math.min(80, Math.abs(to.x - from.x) / 2));
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
}

function paintArrow(context, app, arrow, strong) {
  const from = endOf(app, arrow, "from");
  const to = endOf(app, arrow, "to");
  context.beginPath();
  curve(context, from, to);
  context.stroke();
  const size = strong ? 6 : 4.5;
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - size, to.y - size / 2);
  context.lineTo(to.x - size, to.y + size / 2);
  context.fill();
  context.beginPath();
  context.arc(from.x, from.y, strong ? 2.4 : 1.6, 0, 7);
  context.fill();
}

// Those whose ends are both near what is in view, between rows that are; at most ARROWS_MOST + 1.
function arrowsInView(app) {
  const { model: { arrows }, view, layout, scroll, height } = app;
  const found = [];
  let all = 0;
  const hidden = (row) => layout.rowY[row][1] < scroll || layout.rowY[row][0] > scroll + height;
  for (let i = 0; i < arrows.count; i++) {
    if (arrows.toTime[i] < view.from || arrows.fromTime[i] > view.to) continue;
    if (hidden(arrows.fromRow[i]) && hidden(arrows.toRow[i])) continue;
    all++;
    if (found.length <= ARROWS_MOST) found.push(i);
  }
  return { found, all };
}

function paintArrows(context, app) {
  const { model, theme, selected } = app;
  const own = selected < 0 ? []
    : [...(model.into.get(selected) ?? []), ...(model.outOf.get(selected) ?? [])];
  app.arrowsDrawn = own.length;
  app.arrowsHidden = 0;
  if (app.showArrows) {
    const { found, all } = arrowsInView(app);
    if (all <= ARROWS_MOST) {
      context.lineWidth = 1;
      context.globalAlpha = own.length > 0 || app.showPath ? 0.2 : 0.5;
      for (const arrow of found) {
        const across = model.arrows.fromRow[arrow] !== model.arrows.toRow[arrow]
          && model.rows[model.arrows.fromRow[arrow]].process
          !== model.rows[model.arrows.toRow[arrow]].process;
        context.strokeStyle = across ? theme.ink2 : theme.ink3;
        context.fillStyle = context.strokeStyle;
        paintArrow(context, app, arrow, false);
      }
      app.arrowsDrawn = Math.max(found.length, own.length);
    } else {
      app.arrowsHidden = all;
    }
  }
  context.globalAlpha = 1;
  context.lineWidth = 1.6;
  context.strokeStyle = theme.accent;
  context.fillStyle = theme.accent;
  for (const arrow of own.slice(0, 200)) paintArrow(context, app, arrow, true);
}

const RAIL = 3; // CSS pixels

// The path: what was open, in its colours; a rail above it; and lines from row to row.
function paintPath(context, app) {
  const { model, view, theme, layout, path, ratio, scroll } = app;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.font = `${11 * ratio}px ${theme.font}`;
  const fillOf = (id) => (app.hidden.has(kindOf(model, id)) ? null : theme.fill[model.what[id]]);
  for (const { row, rail, depths } of path.lanes) {
    const [top, bottom] = layout.rowY[row.index];
    if (bottom < scroll || top - RAIL > scroll + app.height) continue;
    for (const strip of layout.strips) {
      const depth = strip.row === row ? row.lanes.indexOf(strip.lane) : -1;
      if (depth < 0 || depths[depth] === undefined) continue;
      const place = {
        y: Math.round((strip.y - scroll) * ratio), height: Math.round(strip.height * ratio), ratio,
      };
      const labels = strip.height >= 11 ? [] : null;
      paintLane(context, depths[depth], place, view, { fillOf, labels });
      if (labels !== null) paintLabels(context, app, labels, place);
    }
    const y = Math.round((top - scroll - RAIL) * ratio);
    const thick = { y, height: Math.round((bottom - top < 12 ? 2 : RAIL) * ratio), ratio };
    paintLane(context, rail, thick, view, { fillOf: () => theme.path });
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  paintHops(context, app);
}

function paintHops(context, app) {
  const { view, theme, path, layout, scroll } = app;
  const rail = (row) => layout.rowY[row][0] - scroll - RAIL / 2;
  context.strokeStyle = theme.path;
  context.lineWidth = 1.5;
  context.beginPath();
  let drawn = "";
  for (let i = Math.max(1, stepAt(path.steps, view.from)); i < path.steps.length; i++) {
    const step = path.steps[i];
    const before = path.steps[i - 1];
    if (before.to > view.to) break;
    if (before.row === step.row) continue;
    const x = view.x(step.from);
    const key = `${Math.round(x)} ${before.row} ${step.row}`;
    if (key === drawn) continue;
    drawn = key;
    context.moveTo(view.x(before.to), rail(before.row));
    context.lineTo(x, rail(step.row));
  }
  context.stroke();
}

// The first step that ends at a time or later.
function stepAt(steps, time) {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (steps[middle].to < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function paintOutline(context, app, event, colour, width) {
  const { model, view, layout, scroll } = app;
  const strip = layout.stripOf(event);
  if (strip === null) return;
  const x = Math.max(-4, view.x(model.start[event]));
  const end = Math.min(view.width + 4, view.x(model.end[event]));
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(x - width / 2, strip.y - scroll - width / 2, Math.max(2, end - x) + width - 1,
    strip.height + width);
}

function paintMeasure(context, app) {
  const { view, theme, measured, height } = app;
  const x = view.x(Math.min(measured.from, measured.to));
  const end = view.x(Math.max(measured.from, measured.to));
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.1;
  context.fillRect(x, 0, end - x, height);
  context.globalAlpha = 1;
  context.fillRect(Math.round(x), 0, 1, height);
  context.fillRect(Math.round(end), 0, 1, height);
  const text = duration(Math.abs(measured.to - measured.from));
  context.font = `600 12px ${theme.font}`;
  const width = context.measureText(text).width + 16;
  const middle = Math.max(width / 2, Math.min(view.width - width / 2, (x + end) / 2));
  context.beginPath();
  context.roundRect(middle - width / 2, 8, width, 22, 11);
  context.fill();
  context.fillStyle = theme.paper;
  context.textAlign = "center";
  context.fillText(text, middle, 19.5);
  context.textAlign = "start";
}

function paintMarks(context, app) {
  const { ratio } = app;
  if (app.showPath) paintPath(context, app);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  paintArrows(context, app);
  if (app.hovered >= 0 && app.hovered !== app.selected) {
    paintOutline(context, app, app.hovered, app.theme.ink2, 1);
  }
  if (app.matches !== null && app.matches.at >= 0) {
    paintOutline(context, app, app.matches.ids[app.matches.at], app.theme.mark, 2);
  }
  if (app.selected >= 0) paintOutline(context, app, app.selected, app.theme.ink, 2);
  if (app.measured !== null) paintMeasure(context, app);
}
