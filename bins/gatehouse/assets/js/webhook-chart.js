// The activity chart: succeeded and failed attempts per hour.

import { classed } from "./elements.js";
import { $, clear, element, refuse } from "./page.js";
import { mine } from "./session.js";
import { sum, went } from "./webhook-words.js";

const space = "http://www.w3.org/2000/svg";

/** Returns the height of a bar. Small counts stay visible beside large ones. */
const height = (attempts, most) => (attempts === 0 ? 0 : Math.max(3, (100 * attempts) / most));

function part(className, y, size) {
  const made = document.createElementNS(space, "rect");
  for (const [name, value] of Object.entries({ class: className, x: 0, y, width: 10, height: size })) made.setAttribute(name, value);
  return made;
}

/** Draws an hour: failed attempts on top of succeeded ones. Heights are attributes, because the CSP forbids inline styles. */
function bar({ succeeded, failed }, most) {
  const svg = document.createElementNS(space, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 10 100", preserveAspectRatio: "none", "aria-hidden": "true" })) svg.setAttribute(name, value);
  const [below, above] = [height(succeeded, most), height(failed, most)];
  // Minimum heights may exceed the available height.
  const fit = Math.min(1, 100 / Math.max(1, below + above));
  svg.append(part("went", 100 - below * fit, below * fit), part("broke", 100 - (below + above) * fit, above * fit));
  return svg;
}

const mostOf = (hours) => Math.max(1, ...hours.map(({ succeeded, failed }) => succeeded + failed));

/** Draws the chart as a sparkline. */
export function small(hours) {
  const most = mostOf(hours);
  const made = classed("span", "small-bars", ...hours.map((hour) => bar(hour, most)));
  made.setAttribute("aria-hidden", "true");
  return made;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const moment = new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" });

function column(hour, most, isNamed) {
  const made = classed("div", "bar-of-hour", bar(hour, most));
  made.title = `${moment.format(new Date(hour.hour))}: ${went(hour)}`;
  if (isNamed) made.append(element("span", clock.format(new Date(hour.hour))));
  return made;
}

function line({ hour, succeeded, failed }) {
  const name = element("th", moment.format(new Date(hour)));
  name.scope = "row";
  return element("tr", name, ...[succeeded, failed].map((attempts) => element("td", attempts.toLocaleString("en"))));
}

/** Loads and draws the last 24 hours of a webhook. */
export async function showActivity(own) {
  const place = $('[data-part="activity"]');
  const total = $("[data-total]", place);
  try {
    const { hours } = await mine("GET", `${own}/activity`);
    clear(place);
    const all = went(sum(hours));
    if (total.textContent !== `${all}.`) total.textContent = `${all}.`;
    const most = mostOf(hours);
    $("[data-most]", place).textContent = most.toLocaleString("en");
    const bars = $("[data-bars]", place);
    bars.setAttribute("aria-label", `${all} in the last 24 hours; the table below lists each hour`);
    bars.replaceChildren(...hours.map((hour, at) => column(hour, most, (hours.length - at) % 6 === 1)));
    $("[data-hours]", place).replaceChildren(...hours.toReversed().map(line));
    const { succeeded, failed } = sum(hours);
    $("[data-chart]", place).hidden = succeeded + failed === 0;
  } catch (error) {
    if ($("[data-chart]", place).hidden) total.textContent = "The activity could not be loaded.";
    refuse(place, error, true);
  }
}
