// The dialog that shows the access token of a receiver once.

import { $, onSend, open } from "./page.js";

const dialog = document.getElementById("made-token");
let after;

/** Shows a token. Calls `then` when the dialog closes. */
export function showToken(token, then) {
  open("made-token");
  $("[data-token]", dialog).textContent = token;
  after = then;
}

onSend("made-token", async () => {
  dialog.close();
});

dialog.addEventListener("close", () => {
  $("[data-token]", dialog).textContent = "";
  after?.();
});

// Escape must not close the dialog, because the token is shown only once.
dialog.addEventListener("cancel", (event) => event.preventDefault());
