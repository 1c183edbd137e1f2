// A secret, shown once.

import { $, onSend, open } from "./page.js";
import { warned } from "./webhook-words.js";

const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const dialog = document.getElementById("secret");
let after;

/** Shows the secret of what was just made or rotated; `then` is done when it is kept. */
export function showSecret({ secret, rotatingUntil, warnings }, title, then) {
  open("secret");
  $("[data-title]", dialog).textContent = title;
  $("[data-secret]", dialog).textContent = secret;
  const overlap = $("[data-overlap]", dialog);
  overlap.hidden = rotatingUntil === undefined;
  if (rotatingUntil) {
    overlap.textContent = `Until ${whole.format(new Date(rotatingUntil))}, X-Service-Signature uses the previous secret and X-Service-Signature-Next this one. Let your receiver accept both, then remove the previous one.`;
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

// Leaving with Escape would lose what is shown only once.
dialog.addEventListener("cancel", (event) => event.preventDefault());
