// One's own account: factors, password, sessions, tokens. After a change the server draws the page anew.

import { onEnrolled, showCodes } from "./factors.js";
import { $, $$, localise, onAct, onSend, open, say } from "./page.js";
import { ask, beat } from "./session.js";

/** Puts what the server draws now in the place of what is shown. */
async function refresh() {
  const answer = await fetch(location.pathname, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (answer.redirected) return location.assign(answer.url);
  const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of $$("[data-part]")) {
    const anew = $(`[data-part="${part.dataset.part}"]`, drawn);
    if (anew) part.replaceChildren(...anew.childNodes);
  }
  localise();
}

const of = (button) => button.closest("[data-id]").dataset;

let chosen;
let agreed;

/** Asks whether something is to be done, and does it. */
function sure(question, consequence, yes, work) {
  const dialog = open("sure");
  $("[data-question]", dialog).textContent = question;
  $("[data-consequence]", dialog).textContent = consequence;
  $("[data-yes]", dialog).textContent = yes;
  agreed = work;
}

onSend("sure", async (_, form) => {
  await agreed();
  form.closest("dialog").close();
  await refresh();
});

// Factors.

onEnrolled(async (what) => {
  const first = what === "enrolled" && $$('[data-part="factors"] [data-id]').length === 0;
  await refresh();
  if (first) await showCodes();
  else say(what === "enrolled" ? "The factor is added." : "The recovery codes are in place.");
});

onAct("rename-factor", async (button) => {
  chosen = of(button);
  $("[name=name]", open("rename")).value = chosen.name;
});

onSend("rename", async (fields, form) => {
  await ask("PATCH", `/api/me/factors/${chosen.id}`, { name: fields.get("name") });
  form.closest("dialog").close();
  await refresh();
});

onAct("remove-factor", async (button) => {
  const { id, name } = of(button);
  sure(`Remove ${name}?`, "It signs you in no more, and your other sessions end.", "Remove", () =>
    ask("DELETE", `/api/me/factors/${id}`));
});

onAct("remove-factors", async () => {
  sure("Turn second factors off?", "All factors and recovery codes go, and your other sessions end. A stolen password is then enough.", "Turn off", () =>
    ask("DELETE", "/api/me/factors"));
});

onAct("new-codes", () => showCodes());

// The password.

onAct("change-password", async () => {
  open("change-password");
});

onSend("change-password", async (fields, form) => {
  const body = { currentPassword: fields.get("current-password"), newPassword: fields.get("new-password") };
  await ask("POST", "/api/me/password", body);
  form.closest("dialog").close();
  await refresh();
  say("The password is changed.");
});

// Sessions.

onAct("end-session", async (button) => {
  const { signOut } = await ask("DELETE", `/api/me/sessions/${of(button).id}`);
  if (signOut) return location.assign("/auth/login?reason=SIGNED_OUT");
  await refresh();
  say("The session is over.");
});

// Tokens.

onAct("new-token", async () => {
  open("new-token");
});

onSend("new-token", async (fields, form) => {
  const body = { name: fields.get("name"), scopes: fields.getAll("scopes") };
  if (fields.get("expiresInDays")) body.expiresInDays = Number(fields.get("expiresInDays"));
  const made = await ask("POST", "/api/me/tokens", body);
  form.closest("dialog").close();
  await refresh();
  $("[data-token]", open("made-token")).textContent = made.token;
});

onSend("made-token", async (_, form) => {
  form.closest("dialog").close();
});

document.getElementById("made-token").addEventListener("close", () => { $("[data-token]").textContent = ""; });

onAct("revoke-token", async (button) => {
  const { id, name } = of(button);
  sure(`Revoke ${name}?`, "What uses it is refused from now on.", "Revoke", () => ask("DELETE", `/api/me/tokens/${id}`));
});

beat();
