// One webhook and what was sent to it: looked at, sent again, and brought up to date while something is to come.

import { Refusal } from "./api.js";
import { $, clear, count, local, onAct, onSend, open, refuse, say } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { showActivity } from "./webhook-chart.js";
import { only, show, shown } from "./webhook-deliveries.js";
import { hook, load, onHook, own } from "./webhook-head.js";

/** Deliveries that the server lists at most. */
const LISTED = 100;
/** Milliseconds between two looks, at least and at most. */
const [SOON, LATE] = [3_000, 60_000];

const part = $('[data-part="deliveries"]');
const found = $("[data-found]", part);
const none = $("[data-none]", part);

const names = { "": "", SUCCEEDED: "succeeded", FAILED: "failed", PENDING: "pending" };

/** How many there are, in the words of the place that announces it. */
function tell() {
  const status = $('[name="only"]:checked', part).value;
  const all = shown().length;
  const left = only(status);
  const words = all === LISTED ? `The newest ${LISTED} attempts` : count(all, "attempt");
  const text = all === 0 ? "None yet." : status === "" ? `${words}.` : `${left} ${names[status]} of ${all === LISTED ? "the newest " : ""}${count(all, "attempt")}.`;
  if (found.textContent !== text) found.textContent = text;
  $("[data-only]", part).hidden = all === 0;
  none.hidden = left > 0;
  none.textContent = all > 0
    ? `No attempt ${status === "PENDING" ? "is" : "has"} ${names[status]}.`
    : hook?.enabled === false
      ? "No deliveries. None are sent while the webhook is paused or disabled."
      : "No deliveries yet. Send a test to check whether the receiver answers.";
}

// Looking. What is asked later counts, whichever answer comes first.

let turn = 0;
let timer;

/** When something is to happen next, if anything is. */
function soonest() {
  if (!hook?.enabled) return undefined;
  const due = shown().filter(({ status }) => status === "PENDING").map(({ nextAttemptAt }) => Date.parse(nextAttemptAt));
  return due.length > 0 ? Math.min(...due) : undefined;
}

/** Looks again by itself while something is to come and somebody may see it. */
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
    // What the receiver answers may have disabled it.
    if (isNew && deliveries.some(({ status }) => status === "FAILED")) await load();
  } catch (error) {
    if (asked !== turn) return;
    // It was removed meanwhile: the page that says so takes the place of this one.
    if (error.status === 404) return location.reload();
    if (shown().length === 0) found.textContent = "The list could not be loaded.";
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
    throw new Refusal(-1, { error: "resume the webhook first, then send this again" });
  }
  await look();
});

// Replay.

const replayed = $("[data-replayed]");
const go = $("[data-go]");
// Where to go on, exactly: a field may show less.
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
    throw new Refusal(-1, { error: "resume the webhook first, then replay" });
  }
  onwards = answer.nextFrom;
  const events = count(answer.replayed, "event");
  if (onwards) {
    form.elements.from.value = local(onwards);
    replayed.textContent = `The oldest ${events} of that time ${answer.replayed === 1 ? "is" : "are"} delivered again. There are more: continue from there.`;
    go.textContent = "Continue";
  } else {
    replayed.textContent = answer.replayed === 0 ? "No matching events in that time range." : `${events} ${answer.replayed === 1 ? "is" : "are"} delivered again.`;
    go.textContent = "Replay";
  }
  replayed.hidden = false;
  // Not waited for: whoever goes on does so at once.
  look();
});

keepAlive();
await load();
await Promise.all([look(), showActivity(own)]);
