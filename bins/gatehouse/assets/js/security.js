// One's own account: factors, password, sessions, tokens. After a change the server draws the page anew.

import { Refusal } from "./api.js";
import { doing, of, refresh, sure } from "./drawn.js";
import { onEnrolled, showCodes } from "./factors.js";
import { $, $$, onAct, onSend, open, say } from "./page.js";
import { ask, keepAlive } from "./session.js";

let chosen;

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
  await doing(() => ask("PATCH", `/api/me/factors/${chosen.id}`, { name: fields.get("name") }));
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
  const body = { currentPassword: fields.get("currentPassword"), newPassword: fields.get("newPassword") };
  if (fields.get("revokeTokens")) body.revokeTokens = true;
  let changed;
  try {
    changed = await ask("POST", "/api/me/password", body);
  } catch (error) {
    if (error.code !== "INVALID_CREDENTIALS") throw error;
    throw new Refusal(400, { error: "currentPassword: this is not your password" });
  }
  form.closest("dialog").close();
  await refresh();
  const count = changed.revokedTokens;
  say(count === undefined ? "The password is changed." : `The password is changed. ${count} personal access token${count === 1 ? " was" : "s were"} revoked.`);
});

// Sessions.

onAct("end-session", async (button) => {
  let out;
  await doing(async () => { out = (await ask("DELETE", `/api/me/sessions/${of(button).id}`)).signOut; });
  if (out) return location.assign("/auth/login?reason=SIGNED_OUT");
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
  // Before anything that may fail: it is shown only now.
  $("[data-token]", open("made-token")).textContent = made.token;
  await refresh();
});

onSend("made-token", async (_, form) => {
  form.closest("dialog").close();
});

document.getElementById("made-token").addEventListener("close", () => { $("[data-token]").textContent = ""; });

onAct("revoke-token", async (button) => {
  const { id, name } = of(button);
  sure(`Revoke ${name}?`, "What uses it is refused from now on.", "Revoke", () => ask("DELETE", `/api/me/tokens/${id}`));
});

keepAlive();
