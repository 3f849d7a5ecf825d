// SPDX-License-Identifier: Apache-2.0
// The state of the page, and what can be done to it. Whatever changes calls draw(), which asks for
// one frame; nothing is drawn while nothing changes.

class App {
  constructor(model, parts) {
    Object.assign(this, parts); // canvas, ruler, overview, scroller: elements
    this.model = model;
    this.view = new View(model, () => this.draw());
    this.layout = new Layout(model);
    this.names = new Names();
    this.theme = readTheme(model);
    this.hidden = new Set(); // kinds
    this.matches = null;
    this.selected = -1;
    this.hovered = -1;
    this.measured = null; // { from, to }
    this.pointerX = null;
    this.pointerTime = null;
    this.showArrows = true;
    this.showPath = false;
    this.found = null; // the critical path, when it was asked for
    this.scroll = 0;
    this.height = 1;
    this.ratio = 1;
    this.frame = 0;
    this.drawn = 0; // frames
    this.listeners = { select: [], search: [], view: [], toggle: [], layout: [], measure: [] };
    // Orders of tables.
    this.sorting = {
      rows: { key: null, down: false }, names: { key: "total", down: true },
      counters: { key: "mean", down: true }, path: { key: "time", down: true }, steps: { key: "time", down: true },
    };
  }

  get path() {
    this.found ??= findPath(this.model);
    return this.found;
  }

  on(what, listener) {
    this.listeners[what].push(listener);
  }

  tell(what, ...args) {
    for (const listener of this.listeners[what]) listener(...args);
    this.draw();
  }

  draw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const moving = this.view.step();
      this.paint();
      if (moving) this.draw();
    });
  }

  paint() {
    const { view } = this;
    this.ticks = rulerTicks(view.from - this.model.from, view.to - this.model.from,
      (view.span / view.width) * 110);
    for (const tick of this.ticks.ticks) tick.time += this.model.from;
    const context = this.canvas.getContext("2d");
    paintRows(context, this);
    paintMarks(context, this);
    paintRuler(this.ruler, this);
    this.overview.paint(this);
    this.drawn++;
    for (const listener of this.listeners.view) listener();
  }

  resize(width, height, ratio) {
    Object.assign(this, { height, ratio });
    this.view.width = Math.max(1, width);
    for (const canvas of [this.canvas, this.ruler, this.overview.canvas]) {
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(canvas.clientHeight * ratio);
    }
    this.names = new Names();
    this.overview.forget();
    this.draw();
  }

  recolour() {
    this.theme = readTheme(this.model);
    this.overview.forget();
    this.draw();
  }

  // Where the pointer is, in CSS pixels of the rows' canvas; null: elsewhere.
  point(x, y) {
    this.pointerX = x;
    this.pointerTime = x === null ? null : this.view.time(x);
    const event = x === null ? -1 : eventAt(this, x, y);
    this.hovered = event;
    this.hover(event, x, y, event < 0 && x !== null ? chartAt(this, y) : null);
    this.draw();
  }

  // Keys zoom around the pointer, or the middle.
  keyX() {
    return this.pointerX ?? this.view.width / 2;
  }

  select(event) {
    this.selected = event;
    this.tell("select", event);
  }

  // Selects an event and brings it into view, closer if it would be too small to see.
  visit(event) {
    const { model, view, layout } = this;
    const { process } = model.rows[model.row[event]];
    if (layout.folded.has(process)) this.fold(process, false);
    const strip = layout.stripOf(event);
    if (strip !== null && (strip.y < this.scroll + 8
      || strip.y + strip.height > this.scroll + this.height - 8)) {
      this.scroller.scrollTop = strip.y - this.height / 2;
    }
    const start = model.start[event];
    const length = Math.max(1, model.end[event] - start);
    const { from, to } = view.target ?? view;
    const middle = start + length / 2;
    if (length < (to - from) / 200) view.go(middle - length * 30, middle + length * 30);
    else if (length > (to - from) * 3) view.go(start - length * 0.1, start + length * 1.1);
    else if (middle < from || middle > to) {
      view.go(middle - (to - from) / 2, middle + (to - from) / 2);
    }
    this.select(event);
  }

  zoomTo(event) {
    const { start, end } = this.model;
    const margin = Math.max(1, (end[event] - start[event]) * 0.1);
    this.view.go(start[event] - margin, end[event] + margin);
  }

  fit() {
    if (this.measured !== null) {
      const { from, to } = this.measured;
      this.view.go(Math.min(from, to), Math.max(from, to));
    } else if (this.selected >= 0) {
      this.visit(this.selected);
      this.zoomTo(this.selected);
    }
  }

  // To the event before or after the selected one in its lane; at first to one in view.
  step(direction) {
    const next = this.selected < 0 ? this.firstInView()
      : neighbour(this.model, this.selected, direction);
    if (next >= 0) this.visit(next);
  }

  // The first event that begins in view, in the highest lane that has one; -1: none.
  firstInView() {
    for (const { lane } of this.layout.between(this.scroll, this.scroll + this.height)) {
      const at = lowerBound(lane.starts, this.view.from, 0, lane.length);
      if (at < lane.length && lane.starts[at] <= this.view.to) return lane.ids[at];
    }
    return -1;
  }

  measure(from, to) {
    this.measured = { from, to };
    this.tell("measure");
  }

  fold(process, folded) {
    this.layout.fold(process, folded);
    this.tell("layout");
  }

  search(text) {
    this.matches = findMatches(this.model, text);
    this.tell("search", text);
  }

  nextMatch(direction) {
    if (this.matches === null) return;
    const event = stepMatch(this.matches, direction, this.model, this.view.from);
    if (event >= 0) this.visit(event);
    this.tell("search", null);
  }

  toggle(what, on = null) {
    const key = what === "arrows" ? "showArrows" : "showPath";
    this[key] = on ?? !this[key];
    this.tell("toggle", what);
  }

  hide(kind, hidden) {
    if (hidden) this.hidden.add(kind);
    else this.hidden.delete(kind);
    this.draw();
  }

  scrollBy(by) {
    this.scroller.scrollTop += by;
  }

  // What was done last in this list is undone.
  escape() {
    if (this.measured !== null) {
      this.measured = null;
      this.tell("measure");
    } else if (this.selected >= 0) this.select(-1);
    else if (this.matches !== null) this.search("");
    else if (this.showPath) this.toggle("path");
  }
}
