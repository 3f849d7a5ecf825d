// SPDX-License-Identifier: Apache-2.0
// The strip above the rows: the whole trace as areas, one on the other, of how many rows did what;
// and in it the window that is in view. Also the ruler.

const STACK = ["task", "transfer", "notify", "other", "barrier", "wait", "call"]
  .map((kind) => KINDS.indexOf(kind));
const HANDLE = 6; // CSS pixels to both sides of an edge of the window

class Overview {
  constructor(canvas) {
    this.canvas = canvas;
    this.picture = null; // of the areas, for this size and theme
  }

  forget() {
    this.picture = null;
  }

  // Time and place on this strip, which shows all that the view can.
  x(app, time) {
    const { view } = app;
    return ((time - view.least) / (view.most - view.least)) * view.width;
  }

  time(app, x) {
    const { view } = app;
    return view.least + (x / view.width) * (view.most - view.least);
  }

  #areas(app, width, height, ratio) {
    const picture = document.createElement("canvas");
    picture.width = Math.max(1, Math.round(width * ratio));
    picture.height = Math.max(1, Math.round(height * ratio));
    const context = picture.getContext("2d");
    const { model, theme } = app;
    if (model.empty) return picture;
    const from = this.x(app, model.from) * ratio;
    const bins = Math.max(1, Math.min(800, Math.floor(width / 2)));
    const step = (this.x(app, model.to) * ratio - from) / bins;
    const kinds = kindsOverTime(model, bins);
    let most = 0;
    for (let bin = 0; bin < bins; bin++) {
      most = Math.max(most, kinds.reduce((sum, kind) => sum + kind[bin], 0));
    }
    const scale = (picture.height - 8 * ratio) / Math.max(most, 1e-9);
    for (let bin = 0; bin < bins; bin++) {
      let y = picture.height;
      const x = Math.round(from + bin * step);
      const end = Math.max(x + 1, Math.round(from + (bin + 1) * step));
      for (const kind of STACK) {
        const top = y - kinds[kind][bin] * scale;
        context.fillStyle = theme.kinds[kind];
        context.fillRect(x, top, end - x, y - top);
        y = top;
      }
    }
    return picture;
  }

  paint(app) {
    const { view, theme, ratio } = app;
    const { canvas } = this;
    const height = canvas.clientHeight;
    this.picture ??= this.#areas(app, view.width, height, ratio);
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(this.picture, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = this.x(app, view.from);
    const end = Math.max(x + 2, this.x(app, view.to));
    context.fillStyle = theme.paper;
    context.globalAlpha = 0.62;
    context.fillRect(0, 0, x, height);
    context.fillRect(end, 0, view.width - end, height);
    context.globalAlpha = 1;
    context.strokeStyle = theme.ink3;
    context.strokeRect(x + 0.5, 0.5, Math.max(1, end - x - 1), height - 1);
    context.fillStyle = theme.ink3;
    for (const edge of [x, end]) context.fillRect(edge - 1.5, height / 2 - 8, 3, 16);
    if (app.matches !== null) this.#marks(context, app, height);
  }

  // Where matches are.
  #marks(context, app, height) {
    context.fillStyle = app.theme.mark;
    let last = -1;
    for (const id of app.matches.ids) {
      const x = Math.round(this.x(app, app.model.start[id]));
      if (x === last) continue;
      context.fillRect(x, height - 4, 2, 4);
      last = x;
    }
  }
}

function paintRuler(canvas, app) {
  const { view, theme, ratio, ticks } = app;
  const context = canvas.getContext("2d");
  const height = canvas.clientHeight;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, view.width, height);
  context.font = `11px ${theme.font}`;
  context.textBaseline = "middle";
  for (const { time, text } of ticks.ticks) {
    const x = Math.round(view.x(time));
    context.fillStyle = theme.lineStrong;
    context.fillRect(x, height - 7, 1, 7);
    context.fillStyle = theme.ink2;
    context.fillText(text, x + 5, height / 2);
  }
  if (app.pointerTime !== null) {
    const x = view.x(app.pointerTime);
    const text = moment(app.pointerTime - app.model.from);
    const width = context.measureText(text).width + 12;
    const at = Math.max(0, Math.min(view.width - width, x - width / 2));
    context.fillStyle = theme.ink;
    context.beginPath();
    context.roundRect(at, 4, width, height - 8, 4);
    context.fill();
    context.fillStyle = theme.paper;
    context.fillText(text, at + 6, height / 2);
  }
}
