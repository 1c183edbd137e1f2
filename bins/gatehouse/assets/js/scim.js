// SCIM tokens. While the page is visible, it shows requests of the directory as they arrive.

import { of, refresh, sure } from "./drawn.js";
import { $, onAct, onSend, open } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { guide } from "./sso-guide.js";

const path = "/api/settings/scim-tokens";

/** Milliseconds between two looks at the requests of the directory. */
const PACE = 5000;

function askForToken(name, conflict, rotates) {
  const dialog = open("new-token");
  $("[data-rotates]", dialog).hidden = !rotates;
  $("[name=name]", dialog).value = name;
  $("[name=createConflict]", dialog).checked = conflict;
}

onAct("new-token", async () => askForToken("", true, false));

onAct("rotate-token", async (button) => {
  const { name, conflict } = of(button);
  askForToken(name, conflict === "true", true);
});

onSend("new-token", async (given, form) => {
  const { token } = await ask("POST", path, { name: given.get("name").trim(), createConflict: given.has("createConflict") });
  form.closest("dialog").close();
  // Shown before the refresh, which may fail: the token cannot be shown again.
  $("[data-token]", open("made-token")).textContent = token;
  await refresh(["tokens"]);
});

onSend("made-token", async (_, form) => {
  form.closest("dialog").close();
});

document.getElementById("made-token").addEventListener("close", () => { $("[data-token]").textContent = ""; });

onAct("revoke-token", async (button) => {
  const { id, name } = of(button);
  sure(`Revoke ${name}?`, "The directory that uses this token can no longer change users and groups. Existing users stay.", "Revoke", () =>
    ask("DELETE", `${path}/${id}`), () => refresh(["tokens"]));
});

/** Milliseconds before the next look after one that failed. */
const PAUSE = 15_000;

/** Shows new requests while nothing else happens on the page. */
async function watch() {
  const looks = !document.hidden && !$("dialog[open]");
  const went = !looks || (await refresh(["tokens", "refusals", "changes"], true));
  setTimeout(watch, went ? PACE : PAUSE);
}

guide();
keepAlive();
setTimeout(watch, PACE);
