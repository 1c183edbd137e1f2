// The activity chart: one bar per day. A bar filters the entries by its day.

import { $, $$, clear, count, element, refuse } from "./page.js";
import { mine } from "./session.js";

/** The server counts at most this many entries per day. */
const MOST = 10_000;

const part = $('[data-part="activity"]');
const bars = $("[data-bars]", part);
const dayOf = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });

const inWords = (entries) => (entries >= MOST ? "10,000 entries or more" : count(entries, "entry", "entries"));

/** Draws a bar. Its height is an attribute, because the content security policy forbids inline styles. */
function drawing(height) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const bar = document.createElementNS(space, "rect");
  for (const [name, value] of Object.entries({ viewBox: "0 0 10 100", preserveAspectRatio: "none", "aria-hidden": "true" })) svg.setAttribute(name, value);
  for (const [name, value] of Object.entries({ x: 0, y: 100 - height, width: 10, height })) bar.setAttribute(name, value);
  svg.append(bar);
  return svg;
}

function draw({ from, to, count: entries }, most, isNamed) {
  const day = dayOf.format(new Date(from));
  const name = `${day}: ${inWords(entries)}`;
  // Small counts stay visible beside large ones.
  const height = entries === 0 ? 0 : Math.max(2, (100 * entries) / most);
  const button = element("button", drawing(height));
  Object.assign(button, { type: "button", className: "bar-of-day", title: name, tabIndex: -1 });
  Object.assign(button.dataset, { from, to });
  button.setAttribute("aria-label", name);
  button.setAttribute("aria-pressed", "false");
  if (isNamed) button.append(element("span", day));
  return button;
}

/** Makes this bar the only tab stop. The arrow keys reach the others. */
function reach(button) {
  for (const other of $$("button", bars)) other.tabIndex = other === button ? 0 : -1;
}

bars.addEventListener("keydown", (event) => {
  const all = $$("button", bars);
  const at = all.indexOf(document.activeElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
  if (at < 0 || all[to] === undefined) return;
  event.preventDefault();
  reach(all[to]);
  all[to].focus();
});

// If the bars do not fit, the newest ones are visible first.
new ResizeObserver(() => { bars.scrollLeft = bars.scrollWidth; }).observe(bars);

/** Marks the bar of the day that the filter selects, if any. */
export function mark(from, to) {
  for (const bar of $$("button", bars)) {
    const isIt = Date.parse(bar.dataset.from) === Date.parse(from) && Date.parse(bar.dataset.to) === Date.parse(to);
    bar.setAttribute("aria-pressed", String(isIt));
    if (isIt) reach(bar);
  }
}

/** Draws the chart. Calls `choose` with the times of a bar when it is pressed, or with empty times when it is deselected. */
export async function showActivity(choose) {
  const total = $("[data-total]", part);
  bars.addEventListener("click", (event) => {
    const bar = event.target.closest("button");
    if (!bar) return;
    reach(bar);
    const isChosen = bar.getAttribute("aria-pressed") === "true";
    choose(isChosen ? "" : bar.dataset.from, isChosen ? "" : bar.dataset.to);
  });
  clear(part);
  try {
    const { days } = await mine("GET", "/api/settings/audit-log/activity?days=30");
    const counts = days.map((day) => day.count);
    const most = Math.max(...counts);
    const all = counts.reduce((sum, entries) => sum + entries, 0);
    const isAll = most < MOST;
    total.textContent = `${count(all, "entry", "entries")}${isAll ? "" : " or more"}`;
    $("[data-most]", part).textContent = isAll ? most.toLocaleString("en") : "10,000 or more";
    // Labels are wider than bars, so only some days have one, including today.
    const isNamed = (at) => at > 2 && (days.length - at) % 7 === 1;
    bars.replaceChildren(...days.map((day, at) => draw(day, most, isNamed(at))));
    $("[data-chart]", part).hidden = false;
    reach(bars.lastElementChild);
  } catch (error) {
    total.textContent = "The activity could not be loaded.";
    refuse(part, error, true);
  }
}
