// The dialog that shows a signing secret once.

import { $, onSend, open } from "./page.js";
import { warned } from "./webhook-words.js";

const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const dialog = document.getElementById("secret");
let after;

/** Shows a new or rotated secret. Calls `then` when the dialog closes. */
export function showSecret({ secret, rotatingUntil, warnings }, title, then) {
  open("secret");
  $("[data-title]", dialog).textContent = title;
  $("[data-secret]", dialog).textContent = secret;
  const overlap = $("[data-overlap]", dialog);
  overlap.hidden = rotatingUntil === undefined;
  if (rotatingUntil) {
    overlap.textContent = `Until ${whole.format(new Date(rotatingUntil))}, X-Service-Signature uses the previous secret and X-Service-Signature-Next the new one. Accept both in your receiver until you complete the rotation.`;
  }
  $("[data-warnings]", dialog).replaceChildren(...warned(warnings));
  after = then;
}

onSend("secret", async () => {
  dialog.close();
});

dialog.addEventListener("close", () => {
  $("[data-secret]", dialog).textContent = "";
  after?.();
});

// Escape must not close the dialog, because the secret is shown only once.
dialog.addEventListener("cancel", (event) => event.preventDefault());
