// Rows of delivery attempts. Updates happen in place, so that expanded rows stay expanded and the focus stays.

import { acting, badge, bodyText, classed, foldedRow, refused, wholeTime } from "./elements.js";
import { $, copy, element, localise, onAct } from "./page.js";
import { mine } from "./session.js";
import { answer, own } from "./webhook-head.js";
import { outcome, took } from "./webhook-words.js";

const list = $("[data-deliveries]");

// The rows that are shown, each with its delivery and the delivery as text, to detect changes.
const rows = new Map();

const kinds = { PENDING: ["pending", ""], SUCCEEDED: ["succeeded", "good"], FAILED: ["failed", "bad"] };

/** Describes when this attempt or its retry is due; empty if no attempt follows. */
function next({ status, final, nextAttemptAt, waiting }) {
  if (waiting) return ["waits for an earlier event"];
  if (final || !nextAttemptAt) return [];
  if (Date.parse(nextAttemptAt) <= Date.now()) return status === "PENDING" ? ["due now"] : [];
  const time = element("time");
  time.dateTime = nextAttemptAt;
  return [status === "PENDING" ? "due " : "retry ", time];
}

/** Renders the summary of a row. */
function glance(delivery) {
  const { eventType, attempt, status, durationMs, attemptedAt } = delivery;
  const [name, kind] = kinds[status];
  const what = classed("span", "what", element("code", eventType), classed("span", "soft", attempt === 1 ? "first attempt" : `attempt ${attempt}`));
  const came = classed("span", "came", outcome(delivery));
  if (durationMs !== undefined) came.append(classed("span", "soft", ` in ${took(durationMs)}`));
  const then = next(delivery);
  if (then.length > 0) came.append(classed("span", "soft then", ...then));
  const when = classed("span", "when soft", attemptedAt ? wholeTime.format(new Date(attemptedAt)) : "not sent yet");
  return [badge(name, kind), what, came, when];
}

function facts(pairs) {
  const made = classed("dl", "facts");
  for (const [name, value] of pairs) made.append(element("div", element("dt", name), element("dd", element("code", value))));
  return made;
}

/** Formats JSON. Returns other text unchanged. */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Fetches the request body, once per row: it never changes. */
async function fetchPayload(delivery, place) {
  try {
    const { payload } = await mine("GET", `${own}/deliveries/${delivery.id}/payload`);
    const button = acting("copy-payload", "Copy", "Copy signed request body");
    button.dataset.payload = payload;
    place.replaceChildren(classed("div", "named", element("h3", "Request"), button), bodyText(pretty(payload), "Request body"));
  } catch (error) {
    const words = error.status === 404 ? "The event has expired." : `The request body could not be loaded. ${error.message}`;
    place.replaceChildren(element("h3", "Request"), classed("p", "soft", words));
  }
}

/** Renders the response, if there is one. */
function drawAnswer(delivery, place) {
  const { status, error, responseBody } = delivery;
  if (status === "PENDING") return place.replaceChildren();
  place.replaceChildren(element("h3", "Response"), error ? classed("p", "soft", `No response: ${outcome({ error })}.`) : answer(responseBody));
}

/** Labels the button that sends an event again, and hides it while the event waits. */
function drawAgain({ status, waiting }, again) {
  again.textContent = status === "PENDING" ? "Send now" : "Send again";
  again.hidden = waiting === true;
}

/** Renders the details of an expanded row. */
function details(delivery) {
  const request = classed("div", "request", classed("p", "soft", "Loading the request…"));
  const answered = element("div");
  answered.dataset.answer = "";
  const again = element("button");
  again.type = "button";
  again.dataset.act = "again";
  drawAgain(delivery, again);
  fetchPayload(delivery, request);
  drawAnswer(delivery, answered);
  const ids = facts([["Event ID", delivery.eventId], ["Delivery ID", delivery.id]]);
  return classed("div", "within", ids, request, answered, refused(), classed("div", "acts start", again));
}

function row(delivery) {
  return foldedRow(delivery.id, "delivery", [], () => details(rows.get(delivery.id).delivery));
}

/** Updates the row of this delivery. Returns whether the delivery is new or its status changed. */
function drawRow(delivery) {
  const text = JSON.stringify(delivery);
  const was = rows.get(delivery.id);
  const place = was?.place ?? row(delivery);
  rows.set(delivery.id, { place, delivery, text });
  place.dataset.status = delivery.status;
  const summary = $("summary", place);
  if (was?.text === text) {
    // Relative times change without a change of the delivery.
    const then = $(".then", summary);
    const words = next(delivery);
    then?.replaceChildren(...words);
    localise(summary);
    return false;
  }
  summary.replaceChildren(...glance(delivery));
  localise(summary);
  const answered = $("[data-answer]", place);
  if (answered) {
    drawAnswer(delivery, answered);
    drawAgain(delivery, $('[data-act="again"]', place));
  }
  return was === undefined || was.delivery.status !== delivery.status;
}

/** Removes the retry time of failed attempts that were retried before it, by hand. */
function settled(deliveries) {
  const last = new Map();
  for (const { eventId, attempt, status } of deliveries) {
    if (status !== "PENDING") last.set(eventId, Math.max(attempt, last.get(eventId) ?? 0));
  }
  const isOver = ({ eventId, attempt, status }) => status === "FAILED" && attempt < (last.get(eventId) ?? 0);
  return deliveries.map((delivery) => (isOver(delivery) ? { ...delivery, nextAttemptAt: undefined } : delivery));
}

/** Puts the attempts of each event together: events by their newest attempt, attempts newest first. */
function grouped(deliveries) {
  const events = new Map();
  for (const delivery of deliveries) events.set(delivery.eventId, [...(events.get(delivery.eventId) ?? []), delivery]);
  return [...events.values()].flat();
}

/** Shows these deliveries, newest first, grouped by event. Returns whether one is new or changed its status. */
export function show(listed) {
  const deliveries = grouped(settled(listed));
  const ids = new Set(deliveries.map(({ id }) => id));
  for (const [id, { place }] of rows) {
    if (ids.has(id)) continue;
    place.remove();
    rows.delete(id);
  }
  let isNew = false;
  deliveries.forEach((delivery, at) => {
    isNew = drawRow(delivery) || isNew;
    const { place } = rows.get(delivery.id);
    place.classList.toggle("earlier", deliveries[at - 1]?.eventId === delivery.eventId);
    // Rows move only if necessary, because a moved element loses the focus.
    if (list.children[at] !== place) list.insertBefore(place, list.children[at] ?? null);
  });
  return isNew;
}

/** Returns the deliveries that are listed. */
export const shown = () => [...rows.values()].map(({ delivery }) => delivery);

/**
 * Hides deliveries with another status, unless it is empty, and those whose event type and IDs do not contain the text.
 * Returns the number of visible ones.
 */
export function only(status, text) {
  const wanted = text.trim().toLowerCase();
  let left = 0;
  for (const { place, delivery } of rows.values()) {
    const { eventType, eventId, id } = delivery;
    const matches = [eventType, eventId, id].some((name) => name.toLowerCase().includes(wanted));
    place.hidden = (status !== "" && delivery.status !== status) || !matches;
    left += place.hidden ? 0 : 1;
  }
  return left;
}

onAct("copy-payload", (button) => copy(button.dataset.payload));
