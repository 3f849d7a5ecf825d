// SPDX-License-Identifier: Apache-2.0
// Which time is in view, and how it gets from one to another.

const SHORTEST = 10; // ns in view
const MARGIN = 0.02; // of the trace, on both sides of it

class View {
  // changed() is called when something is to be drawn.
  constructor(model, changed) {
    const margin = (model.to - model.from) * MARGIN;
    this.least = model.from - margin;
    this.most = model.to + margin;
    this.from = this.least;
    this.to = this.most;
    this.width = 1; // of the timeline, in CSS pixels
    this.target = null;
    this.changed = changed;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
  }

  get span() {
    return this.to - this.from;
  }

  x(time) {
    return ((time - this.from) / this.span) * this.width;
  }

  time(x) {
    return this.from + (x / this.width) * this.span;
  }

  #fit(from, to) {
    const whole = this.most - this.least;
    const span = Math.min(whole, Math.max(SHORTEST, to - from));
    const middle = (from + to) / 2;
    const begin = Math.min(Math.max(middle - span / 2, this.least), this.most - span);
    return { from: begin, to: begin + span };
  }

  set(from, to) {
    Object.assign(this, this.#fit(from, to));
    this.target = null;
    this.changed();
  }

  // Moves there within a few frames, or at once for those who want no motion.
  go(from, to) {
    if (this.calm.matches) {
      this.set(from, to);
      return;
    }
    this.target = this.#fit(from, to);
    this.changed();
  }

  // One frame of a movement; false when there is none.
  step() {
    if (this.target === null) return false;
    const { from, to } = this.target;
    const near = Math.abs(from - this.from) + Math.abs(to - this.to) < (to - from) * 0.004;
    const part = near ? 1 : 0.35;
    this.from += (from - this.from) * part;
    this.to += (to - this.to) * part;
    if (near) this.target = null;
    return true;
  }

  // Factor below 1: closer, with the time at x staying where it is.
  zoom(factor, x = this.width / 2, smooth = false) {
    const now = smooth && this.target ? this.target : this;
    const span = now.to - now.from;
    const time = now.from + (x / this.width) * span;
    const wanted = Math.min(this.most - this.least, Math.max(SHORTEST, span * factor));
    const from = time - (x / this.width) * wanted;
    if (smooth) this.go(from, from + wanted);
    else this.set(from, from + wanted);
  }

  // By a part of what is in view.
  pan(part, smooth = false) {
    const now = smooth && this.target ? this.target : this;
    const by = (now.to - now.from) * part;
    if (smooth) this.go(now.from + by, now.to + by);
    else this.set(now.from + by, now.to + by);
  }

  all() {
    this.go(this.least, this.most);
  }
}
