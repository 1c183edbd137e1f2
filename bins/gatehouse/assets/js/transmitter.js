// A transmitter of shared signals: its stream, its settings and its removal.

import { sure } from "./drawn.js";
import { badge } from "./elements.js";
import { $, element, localise, onAct, onSend, say } from "./page.js";
import { resource } from "./resource.js";
import { ask, keepAlive, mine } from "./session.js";
import { showToken } from "./signal-token.js";
import { consequences, path, state } from "./transmitter-words.js";
import { watchChanges } from "./unsaved.js";

/** Milliseconds between two looks at the stream. */
const EVERY = 5_000;

const head = $('[data-part="head"]');
const part = $('[data-part="stream"]');
const form = $('[data-form="transmitter"]');
const header = form.elements.requiresAuthorization;
const own = `${path}/${head.dataset.id}`;
let transmitter;
let isFilled = false;

/** Returns the fields that differ from the saved transmitter. */
function changes() {
  const name = form.elements.name.value.trim();
  const audience = form.elements.audience.value.trim();
  const chosen = consequences(form);
  const isSame = Object.entries(chosen).every(([kind, value]) => transmitter.consequences[kind] === value);
  return {
    ...(name === transmitter.name ? {} : { name }),
    ...(audience === transmitter.audience ? {} : { audience }),
    ...(isSame ? {} : { consequences: chosen }),
    ...(transmitter.requiresAuthorization && !header.checked ? { requiresAuthorization: false } : {}),
  };
}

const isChanged = () => isFilled && Object.keys(changes()).length > 0;
const look = watchChanges(form, isChanged);

function fill() {
  form.elements.name.value = transmitter.name;
  form.elements.audience.value = transmitter.audience;
  for (const [kind, value] of Object.entries(transmitter.consequences)) form.elements[kind].value = value;
  header.checked = transmitter.requiresAuthorization;
  isFilled = true;
  look();
}

const fact = (name, ...value) => element("div", element("dt", name), element("dd", ...value));
const time = (at) => (at ? Object.assign(element("time"), { dateTime: at }) : "never");

function showStream(now) {
  const { name, kind } = state(now);
  $("[data-state]", head).replaceChildren(badge(name, kind));
  $("#endpoint").textContent = now.endpointUrl;
  $("#state").textContent = now.verificationState;
  const problem = $("[data-problem]", part);
  problem.hidden = !now.keysProblem;
  problem.textContent = now.keysProblem ? `The keys could not be read: ${now.keysProblem}` : "";
  const { stream } = now;
  $("[data-facts]", part).replaceChildren(
    fact("Last event", time(now.receivedAt)),
    fact("Last verification", time(now.verifiedAt)),
    ...(stream ? [fact("Status", stream.reason ? `${stream.status}: ${stream.reason}` : stream.status)] : []),
    fact("Authorization header", now.requiresAuthorization ? "required" : "not required"),
    fact("Keys read", time(now.keysReadAt)),
  );
  localise(part);
}

const { show, load } = resource(own, (now) => {
  transmitter = now;
  const button = $("[data-switch]", head);
  button.textContent = now.enabled ? "Disable" : "Enable";
  button.hidden = false;
  const token = $("[data-token-act]", head);
  token.textContent = now.requiresAuthorization ? "Replace token…" : "Create token…";
  token.hidden = false;
  // Only a new token makes the header required, because the transmitter has to send it.
  header.disabled = !now.requiresAuthorization;
  $("[data-requires-hint]").hidden = now.requiresAuthorization;
  showStream(now);
  // Disabling or enabling must not discard edits.
  if (isFilled) look();
  else fill();
});

form.addEventListener("input", look);

onSend("transmitter", async () => {
  if (!isChanged()) return;
  show(await ask("PATCH", own, changes()));
  fill();
  say("Transmitter saved.");
});

onAct("undo", async () => {
  if (isChanged()) fill();
});

onAct("switch", async () => {
  const now = await ask("PATCH", own, { enabled: !transmitter.enabled });
  show(now);
  say(now.enabled ? "Transmitter enabled." : "Transmitter disabled. Its events are refused.");
});

onAct("token", async () => {
  let made;
  const [title, what, act] = transmitter.requiresAuthorization
    ? ["Replace the token?", "The previous authorization header is refused at once.", "Replace token"]
    : [
        "Require an authorization header?",
        "Events without the new header are refused at once, and the transmitter may not send them again.",
        "Create token",
      ];
  sure(
    title,
    what,
    act,
    async () => {
      const { authorization, ...now } = await ask("POST", `${own}/replace-token`);
      header.checked = now.requiresAuthorization;
      show(now);
      made = authorization;
    },
    () => showToken(made),
  );
});

onAct("remove", async () => {
  sure(
    `Remove ${transmitter.name}?`,
    "Its events are refused. This cannot be undone.",
    "Remove",
    () => ask("DELETE", own),
    () => {
      isFilled = false;
      sessionStorage.setItem("gatehouse.transmitters.said", "Transmitter removed.");
      location.assign("/settings/transmitters");
    },
  );
});

load();
keepAlive();

// The stream is shown as it is now, while the page is visible.
setInterval(async () => {
  if (document.hidden || !transmitter) return;
  try {
    showStream(await mine("GET", own));
  } catch {
    // The next look may succeed.
  }
}, EVERY);
