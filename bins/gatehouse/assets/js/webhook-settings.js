// The settings of a webhook: its fields, its secret and its removal.

import { Refusal } from "./api.js";
import { sure } from "./drawn.js";
import { copyable } from "./elements.js";
import { $, element, localise, onAct, onSend, open, say } from "./page.js";
import { ask, keepAlive, mine } from "./session.js";
import { chosenFilters, filters, setFilters } from "./webhook-events.js";
import { watchChanges } from "./unsaved.js";
import { hook, load, onHook, own, show } from "./webhook-head.js";
import { showSecret } from "./webhook-secret.js";
import { warned } from "./webhook-words.js";

const form = $('[data-form="webhook"]');
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
let isFilled = false;

const isSame = (one, other) => [...one].sort().join() === [...other].sort().join();

/** Returns the fields that differ from the saved webhook. */
function changes(wanted = filters()) {
  const name = form.elements.name.value.trim();
  const url = form.elements.url.value.trim();
  const ordered = form.elements.ordered.checked;
  return {
    ...(ordered === (hook.ordered === true) ? {} : { ordered }),
    ...(name === hook.name ? {} : { name }),
    ...(url === hook.url ? {} : { url }),
    ...(isSame(wanted, hook.eventFilters) ? {} : { eventFilters: wanted }),
  };
}

const isChanged = () => isFilled && Object.keys(changes()).length > 0;
const look = watchChanges(form, isChanged);

function fill() {
  form.elements.name.value = hook.name;
  form.elements.url.value = hook.url;
  form.elements.ordered.checked = hook.ordered === true;
  setFilters(hook.eventFilters, look);
  isFilled = true;
}

function since({ createdAt, updatedAt }) {
  const time = (at) => Object.assign(element("time"), { dateTime: at });
  const place = $("[data-since]", form);
  place.replaceChildren("Added ", time(createdAt), ...(updatedAt === createdAt ? [] : [", changed ", time(updatedAt)]), ".");
  localise(place);
}

/** Lists the public keys, newest first. */
function listKeys({ publicKeys }) {
  const name = (number) => (publicKeys.length === 1 ? "Public key" : number === 0 ? "New public key" : "Previous public key");
  $("[data-keys]").replaceChildren(...publicKeys.map((key, number) => copyable(`key-${number}`, name(number), key)));
}

onHook((now) => {
  // Pausing or resuming the webhook must not discard edits.
  if (isFilled) look();
  else fill();
  since(now);
  listKeys(now);
  $("[data-warnings]", form).replaceChildren(...warned(now.warnings));
  const rotating = now.rotatingUntil !== undefined;
  $("[data-complete]").hidden = !rotating;
  $("[data-signing]").textContent = rotating
    ? `Rotation in progress: both secrets and keys sign until ${whole.format(new Date(now.rotatingUntil))}. Complete the rotation when your receiver accepts the new secret.`
    : "Your receiver uses the secret to verify that a delivery comes from Gatehouse.";
});

form.addEventListener("input", look);

onSend("webhook", async () => {
  if (!isChanged()) return;
  const wanted = changes(chosenFilters());
  show(await mine("PATCH", own, wanted));
  fill();
  say("Webhook saved.");
});

onAct("undo", async () => {
  if (isChanged()) fill();
});

// The secret.

onAct("rotate", async () => {
  open("rotate");
});

onSend("rotate", async (given, dialog) => {
  const hours = given.get("overlapHours").trim();
  if (!/^[0-9]{1,3}$/.test(hours)) throw new Refusal(400, { error: "overlapHours: write a number from 0 to 168" });
  let rotated;
  try {
    rotated = await ask("POST", `${own}/rotate-secret`, { overlapHours: Number(hours) });
  } catch (error) {
    if (error.status !== 409) throw error;
    throw new Refusal(400, { error: "overlapHours: a rotation is in progress; complete it first, or write 0 to stop both previous secrets at once" });
  }
  dialog.closest("dialog").close();
  // Shown before anything that may fail, because the secret is shown only once.
  showSecret(rotated, "New signing secret", () => $("#signing-title").focus());
  show({ ...rotated, secret: undefined });
});

onAct("complete", async () => {
  sure(
    "Complete the rotation?",
    "The previous secret stops signing with the next delivery. A receiver that does not have the new secret will reject deliveries.",
    "Complete rotation",
    async () => show(await ask("POST", `${own}/rotate-secret/complete`)),
    async () => {
      say("Rotation completed. Only the new secret signs.");
      $("#signing-title").focus();
    },
  );
});

// Removal.

onAct("remove", async () => {
  sure(
    `Remove ${hook.name}?`,
    "This also removes its secret and all its deliveries, including pending ones. This cannot be undone.",
    "Remove",
    () => mine("DELETE", own),
    () => {
      isFilled = false;
      sessionStorage.setItem("gatehouse.webhooks.said", "Webhook removed.");
      location.assign("/settings/webhooks");
    },
  );
});

load();
keepAlive();
