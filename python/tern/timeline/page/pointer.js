// SPDX-License-Identifier: Apache-2.0
// The mouse, and fingers: on the rows, on the overview, on the edge of the panel.

const NEAR = 3; // CSS pixels around what is small
const MOVED = 4; // CSS pixels from which a click is a drag

// The event at a place of the rows' canvas; -1: none.
function eventAt(app, x, y) {
  const { view, layout, scroll, model } = app;
  const time = view.time(x);
  const reach = (NEAR / view.width) * view.span;
  for (const strip of layout.between(scroll + y, scroll + y)) {
    const at = strip.lane.at(time, reach);
    if (at >= 0 && !app.hidden.has(kindOf(model, strip.lane.ids[at]))) return strip.lane.ids[at];
  }
  return -1;
}

function listenToWheel(app, canvas, scroller) {
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1;
    const dx = event.deltaX * unit;
    const dy = event.deltaY * unit;
    if (event.shiftKey) scroller.scrollTop += dy + dx;
    else if (Math.abs(dx) > Math.abs(dy)) app.view.pan(dx / app.view.width);
    else app.view.zoom(Math.exp(dy * (event.ctrlKey ? 0.01 : 0.0022)), event.offsetX);
    app.point(event.offsetX, event.offsetY);
  }, { passive: false });
}

// Drag moves, shift and drag measures, a click selects, a double click zooms.
function listenToRows(app, canvas, scroller) {
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const { offsetX: x, offsetY: y } = event;
    drag = { x, y, lastX: x, lastY: y, moved: false, measures: event.shiftKey };
    app.view.target = null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const { offsetX: x, offsetY: y } = event;
    if (drag === null) {
      app.point(x, y);
      return;
    }
    drag.moved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) >= MOVED;
    if (!drag.moved) return;
    if (drag.measures) {
      app.measure(app.view.time(drag.x), app.view.time(x));
    } else {
      canvas.classList.add("dragged");
      app.point(null);
      app.view.pan((drag.lastX - x) / app.view.width);
      scroller.scrollTop += drag.lastY - y;
    }
    drag.lastX = x;
    drag.lastY = y;
  });
  const stop = (event) => {
    canvas.classList.remove("dragged");
    if (drag !== null && !drag.moved && event.type === "pointerup") {
      app.select(eventAt(app, event.offsetX, event.offsetY));
    }
    drag = null;
  };
  canvas.addEventListener("pointerup", stop);
  canvas.addEventListener("pointercancel", stop);
  canvas.addEventListener("pointerleave", () => app.point(null));
  canvas.addEventListener("dblclick", (event) => {
    const found = eventAt(app, event.offsetX, event.offsetY);
    if (found < 0) app.view.all();
    else app.zoomTo(found);
  });
}

// The window can be moved and its edges pulled; elsewhere a drag makes a new one.
function listenToOverview(app, canvas) {
  let drag = null;
  const kindOfDrag = (x) => {
    const from = app.overview.x(app, app.view.from);
    const to = app.overview.x(app, app.view.to);
    if (Math.abs(x - from) <= HANDLE) return "from";
    if (Math.abs(x - to) <= HANDLE) return "to";
    const whole = to - from > app.view.width * 0.97;
    return x > from && x < to && !whole ? "move" : "new";
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const x = event.offsetX;
    drag = { kind: kindOfDrag(x), x, lastX: x };
  });
  canvas.addEventListener("pointermove", (event) => {
    const x = event.offsetX;
    if (drag === null) {
      const kind = kindOfDrag(x);
      canvas.style.cursor = kind === "move" ? "grab" : kind === "new" ? "crosshair" : "ew-resize";
      return;
    }
    const { view, overview } = app;
    const time = overview.time(app, x);
    if (drag.kind === "from") view.set(Math.min(time, view.to - SHORTEST), view.to);
    else if (drag.kind === "to") view.set(view.from, Math.max(time, view.from + SHORTEST));
    else if (drag.kind === "move") {
      const by = time - overview.time(app, drag.lastX);
      view.set(view.from + by, view.to + by);
    } else if (Math.abs(x - drag.x) >= MOVED) {
      const start = overview.time(app, drag.x);
      view.set(Math.min(start, time), Math.max(start, time));
    }
    drag.lastX = x;
  });
  const stop = (event) => {
    if (drag !== null && drag.kind === "new" && Math.abs(event.offsetX - drag.x) < MOVED) {
      const time = app.overview.time(app, event.offsetX);
      app.view.go(time - app.view.span / 2, time + app.view.span / 2);
    }
    drag = null;
  };
  canvas.addEventListener("pointerup", stop);
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("dblclick", () => app.view.all());
}

// The edge between rows and panel, by mouse and by arrow keys.
function listenToSplitter(splitter, resize) {
  let from = null;
  splitter.addEventListener("pointerdown", (event) => {
    splitter.setPointerCapture(event.pointerId);
    from = event.clientY;
  });
  splitter.addEventListener("pointermove", (event) => {
    if (from === null) return;
    resize(from - event.clientY);
    from = event.clientY;
  });
  splitter.addEventListener("pointerup", () => { from = null; });
  splitter.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    event.stopPropagation();
    resize(event.key === "ArrowUp" ? 24 : -24);
  });
}
