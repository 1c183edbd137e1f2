// A receiver of shared signals: its stream, its settings and its removal.

import { Refusal } from "./api.js";
import { sure } from "./drawn.js";
import { badge } from "./elements.js";
import { $, $$, count, element, localise, onAct, onSend, say } from "./page.js";
import { resource } from "./resource.js";
import { keepAlive, mine } from "./session.js";
import { showToken } from "./signal-token.js";
import { chosenTypes, path, problemText, state } from "./signal-words.js";
import { watchChanges } from "./unsaved.js";

/** Milliseconds between two looks at the stream. */
const EVERY = 5_000;

const head = $('[data-part="head"]');
const part = $('[data-part="stream"]');
const form = $('[data-form="receiver"]');
const own = `${path}/${head.dataset.id}`;
let receiver;
let isFilled = false;

const isSame = (one, other) => [...one].sort().join() === [...other].sort().join();

/** Returns the fields that differ from the saved receiver. */
function changes() {
  const name = form.elements.name.value.trim();
  const subjectFormat = form.elements.subjectFormat.value;
  const eventTypes = chosenTypes(form);
  return {
    ...(name === receiver.name ? {} : { name }),
    ...(subjectFormat === receiver.subjectFormat ? {} : { subjectFormat }),
    ...(isSame(eventTypes, receiver.eventTypes) ? {} : { eventTypes }),
  };
}

const isChanged = () => isFilled && Object.keys(changes()).length > 0;
const look = watchChanges(form, isChanged);

function fill() {
  form.elements.name.value = receiver.name;
  form.elements.subjectFormat.value = receiver.subjectFormat;
  for (const box of $$('[name="eventTypes"]', form)) box.checked = receiver.eventTypes.includes(box.value);
  isFilled = true;
  look();
}

const fact = (name, ...value) => element("div", element("dt", name), element("dd", ...value));
const time = (at) => Object.assign(element("time"), { dateTime: at });

function showStream({ stream, ...rest }) {
  const { name, kind } = state({ stream, ...rest });
  $("[data-state]", head).replaceChildren(badge(name, kind));
  const waiting = !stream ? "The receiver has not created its stream." : stream.pending === 0 ? "No events wait." : `${count(stream.pending, "event")} waiting.`;
  $("[data-stream]", part).textContent = waiting;
  const problem = $("[data-problem]", part);
  problem.hidden = !stream?.problem;
  problem.replaceChildren();
  if (stream?.problem) problem.append(stream.failingSince ? "" : "The last refused event: ", problemText(stream.problem), ...(stream.failingSince ? [" First failure ", time(stream.failingSince)] : []), stream.nextAttemptAt ? ", next attempt " : "", ...(stream.nextAttemptAt ? [time(stream.nextAttemptAt)] : []), ".");
  const facts = !stream ? [] : [
    fact("Delivery", stream.endpointUrl ? element("span", "Push to ", element("code", stream.endpointUrl)) : "Poll"),
    fact("Events", String(stream.eventTypes.length), ` of ${rest.eventTypes.length} permitted types`),
    fact("Last accepted", ...(stream.deliveredAt ? [time(stream.deliveredAt)] : ["never"])),
    ...(stream.reason ? [fact("Reason of the status", stream.reason)] : []),
  ];
  const used = fact("Token last used", ...(rest.lastUsedAt ? [time(rest.lastUsedAt)] : ["never"]));
  $("[data-facts]", part).replaceChildren(...facts, used);
  localise(part);
}

const { show, load } = resource(own, (now) => {
  receiver = now;
  const button = $("[data-switch]", head);
  button.textContent = now.enabled ? "Disable" : "Enable";
  button.hidden = false;
  showStream(now);
  // Disabling or enabling must not discard edits.
  if (isFilled) look();
  else fill();
});

form.addEventListener("input", look);

onSend("receiver", async () => {
  if (!isChanged()) return;
  // The server would treat none as all.
  if (chosenTypes(form).length === 0) throw new Refusal(400, { error: "eventTypes: select at least one event" });
  show(await mine("PATCH", own, changes()));
  fill();
  say("Receiver saved.");
});

onAct("undo", async () => {
  if (isChanged()) fill();
});

onAct("switch", async () => {
  const now = await mine("PATCH", own, { enabled: !receiver.enabled });
  show(now);
  say(now.enabled ? "Receiver enabled. It receives events from now on." : "Receiver disabled. Events of this time are not sent later.");
});

onAct("token", async () => {
  let made;
  sure(
    "Replace the access token?",
    "The previous token is refused at once. The stream stays as it is.",
    "Replace token",
    async () => {
      const { token, ...now } = await mine("POST", `${own}/replace-token`);
      show(now);
      made = token;
    },
    () => showToken(made),
  );
});

onAct("remove", async () => {
  sure(
    `Remove ${receiver.name}?`,
    "It receives no further events. This cannot be undone.",
    "Remove",
    () => mine("DELETE", own),
    () => {
      isFilled = false;
      sessionStorage.setItem("gatehouse.signals.said", "Receiver removed.");
      location.assign("/settings/signals");
    },
  );
});

load();
keepAlive();

// The stream is shown as it is now, while the page is visible.
setInterval(async () => {
  if (document.hidden || !receiver) return;
  try {
    showStream(await mine("GET", own));
  } catch {
    // The next look may succeed.
  }
}, EVERY);
