// SPDX-License-Identifier: Apache-2.0
// Opens pages of python/tern/timeline in a headless Chromium, from disk, and uses them as people do.
// What tables must say comes from trace.mjs.
//
// usage: node timeline.mjs FOLDER    FOLDER has NAME.json and NAME.html of timeline_traces.py, and of
//                                    ffn, a trace of tern run; pictures are written beside them
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";
import { assertShare, assertTime, cells, drawn, folder, open, view } from "./page.mjs";
import { eventsOf, namesOf, sharesOf } from "./trace.mjs";

const browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.TERN_CHROMIUM ?? browsers.find((file) => existsSync(file));
const readTrace = (name) => JSON.parse(readFileSync(path.join(folder, `${name}.json`), "utf8"));

async function testTables(browser) {
  const trace = eventsOf(readTrace("ffn"));
  const page = await open(browser, "ffn");
  await page.click("#tab-rows");
  const [head, ...rows] = await cells(page);
  const shares = sharesOf(trace);
  assert.equal(rows.length, shares.size);
  for (const row of rows) {
    const { kinds, idle, whole } = shares.get(`${row[0]} ${row[1]}`);
    for (const [nth, title] of head.entries()) {
      if (nth < 3) continue;
      const part = title === "idle" ? idle : kinds[title] ?? 0;
      assertShare(row[nth], part, whole, `${row[0]} ${row[1]} ${title}`);
    }
  }
  await page.click("#tab-names");
  const expected = namesOf(trace);
  const names = (await cells(page)).slice(1);
  assert.equal(names.length, expected.size);
  for (const [name, kind, count, total, median, most] of names) {
    const lengths = expected.get(`${name} ${kind}`).sort((a, b) => a - b);
    const half = lengths.length >> 1;
    const middle = lengths.length % 2 ? lengths[half] : (lengths[half - 1] + lengths[half]) / 2;
    assert.equal(Number(count.replace(/\u202f/g, "")), lengths.length, name);
    assertTime(total, lengths.reduce((sum, length) => sum + length, 0), `total of ${name}`);
    assertTime(median, middle, `median of ${name}`);
    assertTime(most, lengths.at(-1), `longest of ${name}`);
  }
  await page.click("#panel-body th:has-text('Count') button");
  const sorted = (await cells(page)).slice(1).map((row) => Number(row[2].replace(/\u202f/g, "")));
  assert.deepEqual(sorted, [...sorted].sort((a, b) => b - a), "sorted by count");
  const order = await page.getAttribute("#panel-body th:has-text('Count')", "aria-sort");
  assert.equal(order, "descending");
  const arrows = readTrace("ffn").traceEvents.filter((e) => e.ph === "s").length;
  assert.equal(await page.evaluate(() => timeline.model.arrows.count), arrows);
  const bound = await page.evaluate(() => timeline.model.arrows.from.every((event) => event >= 0)
    && timeline.model.arrows.to.every((event) => event >= 0));
  assert.ok(bound, "every arrow has events at its ends");
  await page.screenshot({ path: path.join(folder, "tables.png") });
  await page.done();
}

// Charts of counters: the most used one is the first, and a pixel has its time's mean.
async function testCounters(browser) {
  const page = await open(browser, "counters");
  const labels = await page.evaluate(() => [...document.querySelectorAll("#labels .row")]
    .map((row) => row.textContent));
  assert.deepEqual(labels, ["lane 0", "link 0>1 55.0 %", "link 1>0 20.0 %"]);
  assert.match(await page.textContent("#meta"), /^1 rank · 1 row · 1 event /);
  const { span, heights } = await page.evaluate(() => {
    const { layout, canvas, view: now, model } = timeline;
    now.set(model.from, model.to);
    timeline.paint();
    const chart = layout.charts[0];
    const context = canvas.getContext("2d");
    const fill = (x) => {
      const { data } = context.getImageData(Math.round(now.x(x)), chart.y, 1, chart.height);
      let full = 0;
      for (let i = 0; i < data.length; i += 4) full += data[i + 3] === 255 ? 1 : 0;
      return full / chart.height;
    };
    // Not where the lines of the ruler are.
    return { span: [model.from, model.to], heights: [1300, 4300, 8300, 9300].map(fill) };
  });
  assert.deepEqual(span, [0, 10000]);
  for (const [nth, share] of [0, 1, 0.25, 0].entries()) {
    assert.ok(Math.abs(heights[nth] - share) < 0.08, `${heights[nth]} of the chart is ${share}`);
  }
  await page.click("#tab-rows");
  assert.equal((await cells(page)).length, 2, "a head, and the row of events");
  assert.deepEqual((await cells(page, 1)).slice(1), [["link 0>1", "55.0"], ["link 1>0", "20.0"]]);
  const at = await page.evaluate(() => {
    const box = timeline.canvas.getBoundingClientRect();
    const chart = timeline.layout.charts[0];
    return [box.left + timeline.view.x(8000), box.top + chart.y + chart.height / 2];
  });
  await page.mouse.move(...at);
  await drawn(page);
  assert.equal(await page.textContent("#tooltip"), "link 0>1Used25.0 %");
  page.problems = page.problems.filter((text) => !text.includes("willReadFrequently"));
  await page.screenshot({ path: path.join(folder, "counters.png") });
  await page.click("#labels .rank >> nth=1");
  await drawn(page);
  assert.equal(await page.evaluate(() => timeline.layout.charts.filter(({ mini }) => mini).length), 2);
  await page.screenshot({ path: path.join(folder, "folded.png") });
  await page.done();
}

async function testScope(browser) {
  const page = await open(browser, "path");
  await page.click("#tab-rows");
  const whole = await page.evaluate(() => {
    timeline.measure(timeline.model.from + 100, timeline.model.from + 350);
    return timeline.model.to - timeline.model.from;
  });
  assert.equal(whole, 710);
  await page.selectOption("#scope", "measured");
  const rows = (await cells(page)).slice(1).map((row) => [row[0], row[1], row[3], row.at(-1)]);
  // [100, 350]: B is 200 of it, C 30; P all of it.
  assert.deepEqual(rows, [
    ["rank 0", "host", "–", "100.0"], ["rank 0", "AIC 0", "80.0", "20.0"],
    ["rank 0", "AIV 0", "12.0", "88.0"], ["rank 1", "host", "–", "–"],
    ["rank 1", "AIC 0", "–", "100.0"], ["rank 1", "AIV 0", "100.0", "–"],
  ]);
  await page.done();
}

async function testPath(browser) {
  const page = await open(browser, "path");
  await page.keyboard.press("c");
  await drawn(page);
  const steps = await page.evaluate(() => timeline.path.steps.map((step) => [
    timeline.model.whats[timeline.model.what[step.event]].name, step.from, step.to, step.why,
    step.onWay, step.idle]));
  assert.deepEqual(steps, [
    ["A", 0, 100, "begin", 0, 0], ["B", 100, 300, "row", 0, 0], ["C", 320, 380, "arrow", 20, 0],
    ["n", 380, 395, "row", 0, 0], ["D", 420, 590, "arrow", 25, 0], ["m", 590, 600, "row", 0, 0],
    ["E", 620, 640, "arrow", 20, 0], ["meet", 650, 710, "arrow", 0, 10],
  ]);
  const said = await page.textContent("#panel-body .sentence");
  for (const part of ["710 ns in 8 steps, 3 times from rank to rank", "77.5 % task", "9.2 % on its way",
    "8.5 % barrier", "3.5 % notify", "1.4 % nothing recorded"]) {
    assert.ok(said.includes(part), `the path is '${part}': ${said}`);
  }
  const made = new Map((await cells(page)).slice(1).map((row) => [row[0], row.slice(1)]));
  assert.deepEqual(made.get("B"), ["1", "200 ns", "28.2"]);
  assert.equal(await page.getAttribute("#path", "aria-pressed"), "true");
  await page.screenshot({ path: path.join(folder, "path.png") });
  await page.done();
  const real = await open(browser, "ffn");
  const sum = await real.evaluate(() => {
    const { steps } = timeline.path;
    const parts = steps.reduce((all, step) => all + step.to - step.from + step.onWay + step.idle, 0);
    const order = steps.every((step, at) => at === 0 || steps[at - 1].to <= step.from);
    return { parts, whole: steps.at(-1).to - steps[0].from, end: timeline.model.to - steps.at(-1).to, order };
  });
  assert.equal(sum.parts, sum.whole, "steps and gaps are all of the path");
  assert.equal(sum.end, 0);
  assert.ok(sum.order);
  await real.done();
}

async function testArrows(browser) {
  const page = await open(browser, "path");
  assert.equal(await page.evaluate(() => timeline.arrowsDrawn), 5);
  await page.keyboard.press("x");
  await drawn(page);
  assert.equal(await page.evaluate(() => timeline.arrowsDrawn), 0);
  await page.keyboard.press("/");
  await page.keyboard.type("C");
  await page.keyboard.press("Enter");
  await drawn(page);
  assert.equal(await page.evaluate(() => timeline.arrowsDrawn), 1, "that of what is selected");
  await page.done();
}

async function testSelection(browser) {
  const page = await open(browser, "path");
  const box = await page.evaluate(() => {
    const { model, layout, view: now } = timeline;
    const event = [...model.what].findIndex((what) => model.whats[what].name === "C");
    const strip = layout.stripOf(event);
    const rows = document.getElementById("rows").getBoundingClientRect();
    return { x: rows.x + now.x(350), y: rows.y + strip.y + strip.height / 2 };
  });
  await page.mouse.move(box.x, box.y);
  await drawn(page);
  assert.match(await page.textContent("#tooltip"), /^C.*rank 0 · AIV 0.*80 ns/);
  await page.mouse.click(box.x, box.y);
  await drawn(page);
  const text = await page.textContent("#panel-body");
  assert.match(text, /^CKindtaskWhererank 0 · AIV 0Begins0.000 000 320 sTakes80 ns/);
  assert.match(text, /Waited forBrank 0 · AIC 0, after, 220 ns/);
  assert.equal(await page.textContent("#live"), "C, rank 0 · AIV 0, 80 ns");
  const around = await page.evaluate(() => {
    const { model } = timeline;
    const named = (name) => [...model.what].findIndex((what) => model.whats[what].name === name);
    return model.parent[named("p")] === named("P");
  });
  assert.ok(around, "of two slices that begin together the longer is around the other");
  await page.click("#panel-body .links button:has-text('B')");
  await drawn(page);
  assert.match(await page.textContent("#panel-body"), /^BKindtask.*Led toCrank 0/);
  await page.keyboard.press("Escape");
  assert.match(await page.textContent("#panel-body"), /Nothing is selected/);
  await page.focus("#rows");
  await page.keyboard.press(".");
  assert.match(await page.textContent("#live"), /^meet, rank 0/, "the first event in view");
  await page.keyboard.press("Escape");
  await page.done();
}

async function testMoves(browser) {
  const page = await open(browser, "ffn");
  const whole = await view(page);
  const span = ({ from, to }) => to - from;
  await page.focus("#rows");
  await page.keyboard.press("w");
  const closer = await view(page);
  assert.ok(Math.abs(span(closer) / span(whole) - 0.6) < 0.01, "w: closer");
  await page.keyboard.press("d");
  const right = await view(page);
  assert.ok(right.from > closer.from && Math.abs(span(right) - span(closer)) < 1, "d: later");
  await page.keyboard.press("ArrowLeft");
  assert.ok(Math.abs((await view(page)).from - closer.from) < 1, "left: back");
  await page.keyboard.press("-");
  assert.ok(span(await view(page)) > span(closer), "-: farther");
  await page.keyboard.press("0");
  assert.ok(Math.abs(span(await view(page)) - span(whole)) < 1, "0: all");

  await page.mouse.move(800, 300);
  const under = await page.evaluate(() => timeline.pointerTime);
  await page.mouse.wheel(0, -400);
  const wheeled = await view(page);
  assert.ok(span(wheeled) < span(whole) / 2, "the wheel: closer");
  const still = await page.evaluate(() => timeline.pointerTime);
  assert.ok(Math.abs(still - under) < span(whole) / 1e6, "what is under the pointer stays there");
  await page.mouse.down();
  await page.mouse.move(900, 300, { steps: 4 });
  await page.mouse.up();
  const dragged = await view(page);
  assert.ok(dragged.from < wheeled.from && Math.abs(span(dragged) - span(wheeled)) < 1, "drag: moves");
  assert.equal(await page.evaluate(() => timeline.selected), -1, "a drag is no click");
  await page.keyboard.down("Shift");
  await page.mouse.move(500, 300);
  await page.mouse.down();
  await page.mouse.move(700, 300, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const measured = await page.evaluate(() => timeline.measured.to - timeline.measured.from);
  const perPixel = span(dragged) / (await page.evaluate(() => timeline.view.width));
  assert.ok(Math.abs(measured / perPixel - 200) < 1.5, "shift and drag: measures");
  await page.keyboard.press("f");
  assert.ok(Math.abs(span(await view(page)) - measured) < measured / 100, "f: fits it");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => timeline.measured), null);
  const empty = await page.evaluate(() => document.getElementById("rows").getBoundingClientRect().bottom);
  await page.mouse.dblclick(1300, empty - 3);
  await drawn(page);
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("#keys"));
  await page.keyboard.press("Escape");
  assert.ok(!(await page.isVisible("#keys")));
  const rank = page.locator(".rank").first();
  await rank.click();
  assert.equal(await rank.getAttribute("aria-expanded"), "false");
  const frames = [];
  for (let i = 0; i < 20 && (i < 3 || frames.at(-1) !== frames.at(-2)); i++) {
    frames.push(await page.evaluate(() => timeline.drawn));
    await page.waitForTimeout(200);
  }
  assert.equal(frames.at(-1), frames.at(-2), "nothing is drawn when nothing changes");
  await page.done();
}

async function testSearch(browser) {
  const { events } = eventsOf(readTrace("ffn"));
  const wanted = events.filter((e) => e.name.toLowerCase().includes("reduce a")).length;
  const page = await open(browser, "ffn");
  await page.keyboard.press("/");
  await page.keyboard.type("Reduce A");
  const number = async () => (await page.textContent("#found")).replace(/\u202f/g, "");
  assert.equal(await number(), `${wanted}`);
  await page.keyboard.press("Enter");
  assert.equal(await number(), `1 of ${wanted}`);
  await page.focus("#rows");
  await page.keyboard.press("n");
  assert.equal(await number(), `2 of ${wanted}`);
  const now = await view(page);
  const found = await page.evaluate(() => timeline.model.start[timeline.selected]);
  assert.ok(found >= now.from && found <= now.to, "a match is in view");
  await page.keyboard.press("N");
  await page.keyboard.press("N");
  assert.equal(await number(), `${wanted} of ${wanted}`);
  await page.screenshot({ path: path.join(folder, "search.png") });
  await page.fill("#search", "no such name");
  assert.equal(await number(), "no match");
  await page.done();
}

async function testOdd(browser) {
  for (const name of ["names", "one", "none"]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(browser, name, { colorScheme });
      const events = await page.evaluate(() => timeline.model.count);
      assert.equal(await page.isVisible("#empty"), events === 0, name);
      for (const tab of ["selection", "rows", "names", "path"]) await page.click(`#tab-${tab}`);
      await page.keyboard.press("f");
      for (let i = 0; i < 40; i++) await page.keyboard.press("w");
      await page.keyboard.press("c");
      await page.evaluate(() => { for (let i = 0; i < timeline.model.count; i++) timeline.visit(i); });
      await page.evaluate((other) => document.getElementById("rows").dispatchEvent(
        new PointerEvent("pointermove", { clientX: other, clientY: 160 })), 800);
      await drawn(page);
      await page.screenshot({ path: path.join(folder, `${name}-${colorScheme}.png`) });
      await page.done();
    }
  }
}

// Every 971st event has its colour where it is, when it fills the view; and something is drawn where it is
// when the whole trace is in view and many share a pixel.
async function testPicture(browser) {
  const page = await open(browser, "large");
  const wrong = await page.evaluate(() => {
    const { model, view: now, canvas, layout, theme } = timeline;
    const context = canvas.getContext("2d");
    const pixel = (event, time) => {
      const strip = layout.stripOf(event);
      timeline.scroll = strip.y - 20;
      timeline.paint();
      const x = Math.min(now.width - 2, Math.floor(now.x(time)));
      return [...context.getImageData(x - 1, strip.y - timeline.scroll + 2, 3, 1).data];
    };
    const colour = (fill) => {
      const other = document.createElement("canvas").getContext("2d");
      other.fillStyle = fill;
      other.fillRect(0, 0, 1, 1);
      return [...other.getImageData(0, 0, 1, 1).data];
    };
    timeline.toggle("arrows", false);
    const found = [];
    for (let event = 50; event < model.count; event += 971) {
      now.set(model.from, model.to);
      const near = pixel(event, model.start[event]);
      if (Math.max(near[3], near[7], near[11]) < 60) found.push(`nothing at ${event}`);
      const length = model.end[event] - model.start[event];
      now.set(model.start[event] - length / 10, model.end[event] + length / 10);
      const seen = pixel(event, model.end[event] - length / 50).slice(4, 8);
      if (`${seen}` !== `${colour(theme.fill[model.what[event]])}`) found.push(`${event} is ${seen}`);
    }
    return found;
  });
  assert.deepEqual(wrong, []);
  // Chromium's advice to who reads pictures back.
  page.problems = page.problems.filter((text) => !text.includes("willReadFrequently"));
  await page.done();
}

// Prints how long a frame takes with 100 000 events. Judges nothing but that it is no second.
async function testSpeed(browser) {
  const page = await open(browser, "large", { reducedMotion: "no-preference" });
  const times = await page.evaluate(async () => {
    const { view: now, model } = timeline;
    const painted = [];
    const frames = [];
    let last = 0;
    for (let step = 0; step < 120; step++) {
      const part = 0.5 ** ((step % 60) / 5);
      const middle = model.from + (model.to - model.from) * (0.3 + 0.4 * (step / 120));
      const half = ((model.to - model.from) * part) / 2;
      now.set(middle - half, middle + half);
      const begin = performance.now();
      timeline.paint();
      painted.push(performance.now() - begin);
      const time = await new Promise((resolve) => { requestAnimationFrame(resolve); });
      if (step > 0) frames.push(time - last);
      last = time;
    }
    const told = (list) => {
      const sorted = list.sort((a, b) => a - b);
      return [sorted[sorted.length >> 1], sorted[Math.floor(sorted.length * 0.95)], sorted.at(-1)];
    };
    return { events: model.count, painted: told(painted), frames: told(frames) };
  });
  const text = (list) => list.map((time) => time.toFixed(1)).join(", ");
  console.log(`${times.events} events: ${text(times.painted)} ms to draw a frame, `
    + `${text(times.frames)} ms from frame to frame (median, 95th percentile, longest)`);
  assert.ok(times.painted[0] < 1000);
  await page.screenshot({ path: path.join(folder, "large.png") });
  await page.done();
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
try {
  const tests = [testTables, testCounters, testScope, testPath, testArrows, testSelection, testMoves, testSearch,
    testOdd, testPicture, testSpeed];
  for (const test of tests) {
    console.log(test.name);
    await test(browser);
  }
  console.log(`${tests.length} tests in ${await browser.version()}: what the page shows is right`);
} finally {
  await browser.close();
}
