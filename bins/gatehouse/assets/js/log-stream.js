// A log stream: its health, its settings and its removal.

import { Refusal } from "./api.js";
import { sure } from "./drawn.js";
import { badge } from "./elements.js";
import { members, path, problemText, showType, state, types, values } from "./log-stream-fields.js";
import { $, count, element, localise, onAct, onSend, open, say } from "./page.js";
import { resource } from "./resource.js";
import { keepAlive, mine } from "./session.js";
import { watchChanges } from "./unsaved.js";
import { chosenFilters, filters, setFilters } from "./webhook-events.js";
import { took } from "./webhook-words.js";

/** Milliseconds between two looks at the health. */
const EVERY = 5_000;

const head = $('[data-part="head"]');
const health = $('[data-part="health"]');
const form = $('[data-form="stream"]');
const own = `${path}/${head.dataset.id}`;
let stream;
let isFilled = false;

const isSame = (one, other) => [...one].sort().join() === [...other].sort().join();
const place = (position) => position.toLocaleString("en");

/** Returns whether the field that the secret belongs to was emptied. */
function isOrphaned() {
  const member = { HTTPS: "header", OTLP: "header", SYSLOG: "clientCertificate" }[stream.type];
  return member !== undefined && form.elements[member].value.trim() === "";
}

/** Returns the fields that differ from the saved log stream. */
function changes(wanted = filters()) {
  const name = form.elements.name.value.trim();
  const secret = form.elements.secret.value.trim();
  const differing = Object.entries(values(form)).filter(([member, text]) => text !== (stream[member] ?? ""));
  return {
    ...(name === stream.name ? {} : { name }),
    ...Object.fromEntries(differing),
    ...(secret ? { secret } : {}),
    // Without its header or certificate, a secret has no use.
    ...(stream.hasSecret && !secret && isOrphaned() ? { secret: "" } : {}),
    ...(isSame(wanted, stream.eventFilters) ? {} : { eventFilters: wanted }),
  };
}

const isChanged = () => isFilled && Object.keys(changes()).length > 0;
const look = watchChanges(form, isChanged);

function fill() {
  showType(form, stream.type);
  form.elements.name.value = stream.name;
  form.elements.url.value = stream.url;
  form.elements.secret.value = "";
  for (const member of members) form.elements[member].value = stream[member] ?? "";
  $("[data-has-secret]", form).textContent = stream.hasSecret ? "A secret is saved. Leave the field empty to keep it." : "";
  setFilters(stream.eventFilters, look);
  isFilled = true;
}

const fact = (name, ...value) => element("div", element("dt", name), element("dd", ...value));
const time = (at) => Object.assign(element("time"), { dateTime: at });

function showHealth(now) {
  const { name, kind } = state(now);
  $("[data-state]", head).replaceChildren(badge(name, kind));
  $("[data-health]", health).textContent = now.waiting === 0 ? "All entries are sent." : `${count(now.waiting, "entry", "entries")} to send.`;
  const problem = $("[data-problem]", health);
  problem.hidden = !now.problem;
  problem.replaceChildren();
  if (now.problem) problem.append(problemText(now.problem), " First failure ", time(now.failingSince), now.nextAttemptAt ? ", next attempt " : "", ...(now.nextAttemptAt ? [time(now.nextAttemptAt)] : []), ".");
  $("[data-facts]", health).replaceChildren(
    fact("Next position", place(now.position)),
    fact("Entries in the audit log", place(now.position + now.waiting)),
    fact("Last accepted", ...(now.deliveredAt ? [time(now.deliveredAt)] : ["never"])),
  );
  $("[data-hint-from]").textContent = `0 to ${place(now.position + now.waiting)}. 0 sends the whole audit log again.`;
  localise(health);
}

const { show, load } = resource(own, (now) => {
  stream = now;
  $("[data-url]", head).textContent = now.url;
  $("[data-type]", head).textContent = types[now.type]?.name ?? now.type;
  const button = $("[data-switch]", head);
  button.textContent = now.enabled ? "Pause" : "Resume";
  button.hidden = false;
  showHealth(now);
  // Pausing or resuming must not discard edits.
  if (isFilled) look();
  else fill();
});

form.addEventListener("input", look);

onSend("stream", async () => {
  if (!isChanged()) return;
  show(await mine("PATCH", own, changes(chosenFilters())));
  fill();
  say("Log stream saved.");
});

onAct("undo", async () => {
  if (isChanged()) fill();
});

onAct("switch", async () => {
  const now = await mine("PATCH", own, { enabled: !stream.enabled });
  show(now);
  say(now.enabled ? "Log stream resumed. It continues where it stopped." : "Log stream paused.");
});

onAct("test", async () => {
  const tested = $("[data-tested]", head);
  tested.hidden = false;
  tested.classList.remove("bad");
  tested.textContent = "Sending…";
  try {
    const { accepted, problem, elapsedMs } = await mine("POST", `${own}/test`);
    tested.classList.toggle("bad", !accepted);
    tested.textContent = accepted ? `The receiver accepted an event without an audit entry after ${took(elapsedMs)}.` : problemText(problem);
  } catch (error) {
    tested.hidden = true;
    throw error;
  }
});

onAct("resend", async () => {
  open("resend");
});

onSend("resend", async (given, dialog) => {
  const from = given.get("from").trim();
  if (!/^[0-9]{1,15}$/.test(from)) throw new Refusal(400, { error: "from: write a position, such as 0" });
  show(await mine("POST", `${own}/resend`, { from: Number(from) }));
  dialog.closest("dialog").close();
  say("The log stream continues at the new position.");
});

onAct("remove", async () => {
  sure(
    `Remove ${stream.name}?`,
    "The receiver gets no further entries. This cannot be undone.",
    "Remove",
    () => mine("DELETE", own),
    () => {
      isFilled = false;
      sessionStorage.setItem("gatehouse.log-streams.said", "Log stream removed.");
      location.assign("/settings/log-streams");
    },
  );
});

load();
keepAlive();

// The health is shown as it is now, while the page is visible.
setInterval(async () => {
  if (document.hidden || !stream) return;
  try {
    showHealth(await mine("GET", own));
  } catch {
    // The next look may succeed.
  }
}, EVERY);
