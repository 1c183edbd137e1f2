// The deliveries of a webhook: list, retry and replay. The list refreshes while attempts are pending.

import { Refusal } from "./api.js";
import { $, clear, count, local, onAct, onSend, open, refuse, say } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { showActivity } from "./webhook-chart.js";
import { only, show, shown } from "./webhook-deliveries.js";
import { hook, load, onHook, own } from "./webhook-head.js";

/** The server lists at most this many deliveries. */
const LISTED = 100;
/** Minimum and maximum milliseconds between two refreshes. */
const [SOON, LATE] = [3_000, 60_000];

const part = $('[data-part="deliveries"]');
const found = $("[data-found]", part);
const none = $("[data-none]", part);

const names = { "": "", SUCCEEDED: "succeeded", FAILED: "failed", PENDING: "pending" };

/** Announces the number of attempts. */
function tell() {
  const status = $('[name="only"]:checked', part).value;
  const seek = $("[data-seek]", part).value.trim();
  const all = shown().length;
  const left = only(status, seek);
  const filter = [names[status], seek && (status ? "and match" : "match")].filter(Boolean).join(" ");
  const words = all === LISTED ? `The newest ${LISTED} attempts` : count(all, "attempt");
  const text = all === 0 ? "No attempts yet." : filter === "" ? `${words}.` : `${left} of ${all === LISTED ? "the newest " : ""}${count(all, "attempt")} ${filter}.`;
  if (found.textContent !== text) found.textContent = text;
  $("[data-only]", part).hidden = all === 0;
  none.hidden = left > 0;
  none.textContent = all > 0
    ? `No attempts ${status === "PENDING" ? "are " : ""}${filter}.`
    : hook?.enabled === false
      ? "No deliveries yet. Resume the webhook to send events."
      : "No deliveries yet. The first matching event appears here. Send a test to check your receiver.";
}

// Refreshing. Only the latest request counts, even if an earlier response arrives after its own.

let turn = 0;
let timer;

/** Returns the time of the next pending attempt, if any. */
function soonest() {
  if (!hook?.enabled) return undefined;
  const due = shown().filter(({ status }) => status === "PENDING").map(({ nextAttemptAt }) => Date.parse(nextAttemptAt));
  return due.length > 0 ? Math.min(...due) : undefined;
}

/** Schedules a refresh if attempts are pending and the page is visible. */
function later() {
  clearTimeout(timer);
  const due = soonest();
  if (due === undefined || document.hidden) return;
  timer = setTimeout(look, Math.min(LATE, Math.max(SOON, due - Date.now())));
}

async function look() {
  clearTimeout(timer);
  turn += 1;
  const asked = turn;
  try {
    const { deliveries } = await mine("GET", `${own}/deliveries`);
    if (asked !== turn) return;
    clear(part);
    const isNew = show(deliveries);
    tell();
    if (isNew) await showActivity(own);
    // A response of the receiver may have disabled the webhook.
    if (isNew && deliveries.some(({ status }) => status === "FAILED")) await load();
  } catch (error) {
    if (asked !== turn) return;
    // The webhook was removed: the reloaded page shows the 404 error.
    if (error.status === 404) return location.reload();
    if (shown().length === 0) found.textContent = "The deliveries could not be loaded.";
    refuse(part, error, true);
  }
  if (asked === turn) later();
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!document.hidden && soonest() !== undefined) look();
});

onHook(() => {
  if (turn > 0) tell();
  later();
});

$("[data-only]", part).addEventListener("change", tell);
$("[data-seek]", part).addEventListener("input", tell);

onAct("refresh", async () => {
  await Promise.all([look(), load(), showActivity(own)]);
});

onAct("again", async (button) => {
  const { id } = button.closest("[data-id]").dataset;
  try {
    const { attempt } = await mine("POST", `${own}/deliveries/${id}/retry`);
    say(`Attempt ${attempt} is being sent.`);
  } catch (error) {
    if (error.status !== 409) throw error;
    throw new Refusal(-1, { error: "the webhook is not on; resume it, then send the event again" });
  }
  await look();
});

// Replay.

const replayed = $("[data-replayed]");
const go = $("[data-go]");
// The exact time at which the next replay continues. The field has less precision.
let onwards;

onAct("replay", async () => {
  const dialog = open("replay");
  onwards = undefined;
  replayed.hidden = true;
  go.textContent = "Replay";
  $("[name=from]", dialog).value = local(new Date(Math.floor(Date.now() / 60_000 - 60) * 60_000));
});

$('[data-form="replay"]').addEventListener("input", () => {
  onwards = undefined;
  go.textContent = "Replay";
});

onSend("replay", async (given, form) => {
  replayed.hidden = true;
  const moment = (name) => (given.get(name) ? new Date(given.get(name)).toISOString() : undefined);
  if (!given.get("from")) throw new Refusal(400, { error: "from: enter a start time" });
  let answer;
  try {
    answer = await mine("POST", `${own}/replay`, { from: onwards ?? moment("from"), to: moment("to") });
  } catch (error) {
    if (error.status !== 409) throw error;
    throw new Refusal(-1, { error: "the webhook is not on; resume it, then replay the events" });
  }
  onwards = answer.nextFrom;
  const events = count(answer.replayed, "event");
  if (onwards) {
    form.elements.from.value = local(onwards);
    replayed.textContent = `The oldest ${events} of this time range will be delivered again. Continue to replay the others.`;
    go.textContent = "Continue";
  } else {
    replayed.textContent = answer.replayed === 0 ? "No events in this time range match the filters." : `${events} will be delivered again.`;
    go.textContent = "Replay";
  }
  replayed.hidden = false;
  // Not awaited, so that the next replay can start at once.
  look();
});

keepAlive();
await load();
await Promise.all([look(), showActivity(own)]);
