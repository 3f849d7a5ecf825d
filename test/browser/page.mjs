// SPDX-License-Identifier: Apache-2.0
// A page of the folder that is given, opened from disk, and what can be asked of it.
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";

export const folder = path.resolve(process.argv[2]);

export async function open(browser, name, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...options,
  });
  // Of everything a page is asked: a busy box may take a second for what takes one millisecond.
  context.setDefaultTimeout(240000);
  const page = await context.newPage();
  const file = pathToFileURL(path.join(folder, `${name}.html`)).href;
  page.problems = [];
  page.requests = [];
  page.on("console", (message) => page.problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => page.problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    page.problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => page.requests.push(request.url()));
  await page.goto(file);
  await page.waitForFunction(() => window.timeline?.drawn > 0)
    .catch(() => assert.fail(`${name}: the page shows nothing; ${page.problems.join("; ")}`));
  await drawn(page);
  page.done = async () => {
    assert.deepEqual(page.problems, [], `${name}: nothing is said on the console`);
    const others = page.requests.filter((url) => url !== file && !url.startsWith("data:"));
    assert.deepEqual(others, [], `${name}: nothing else is loaded`);
    await context.close();
  };
  return page;
}

// After what was asked for is drawn, and what was to move has moved.
export function drawn(page) {
  return page.evaluate(() => new Promise((resolve) => {
    const look = () => (window.timeline.frame === 0 ? resolve()
      : requestAnimationFrame(() => setTimeout(look)));
    requestAnimationFrame(() => setTimeout(look));
  }));
}

export const view = async (page) => {
  await drawn(page);
  return page.evaluate(() => ({ from: timeline.view.from, to: timeline.view.to }));
};

// The texts of the cells of a table of the panel.
export function cells(page, nth = 0) {
  return page.evaluate((which) => {
    const rows = document.querySelectorAll("#panel-body table")[which].querySelectorAll("tr");
    return [...rows].map((row) => [...row.children].map((cell) => cell.textContent));
  }, nth);
}

// "12.34 µs" in ns, and how far the text may be from what it says.
function textTime(text) {
  const [value, unit] = text.split(" ");
  const size = { s: 1e9, ms: 1e6, µs: 1e3, ns: 1 }[unit];
  const digits = (value.split(".")[1] ?? "").length;
  return [Number(value) * size, (0.5001 * size) / 10 ** digits];
}

export function assertTime(text, expected, what) {
  const [value, near] = textTime(text);
  assert.ok(Math.abs(value - expected) <= near, `${what}: ${text}, not ${expected} ns`);
}

export function assertShare(text, part, whole, what) {
  const share = (100 * part) / whole;
  const said = text === "–" ? 0 : text === "<0.1" ? share : Number(text);
  assert.ok(Math.abs(said - share) <= 0.0501 && (text === "–") === (part === 0),
    `${what}: ${text}, not ${share}`);
}
