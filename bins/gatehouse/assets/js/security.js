// The user's own factors, password, sessions and tokens. After a change, the server renders the page again.

import { Refusal } from "./api.js";
import { doing, of, refresh, sure } from "./drawn.js";
import { onEnrolled, showCodes } from "./factors.js";
import { $, $$, onAct, onSend, open, say } from "./page.js";
import { signalAccepted } from "./passkey-signals.js";
import { ask, keepAlive } from "./session.js";

let chosen;

// Factors.

onEnrolled(async (what) => {
  const first = what === "enrolled" && $$('[data-part="factors"] [data-id]').length === 0;
  await refresh();
  if (first) await showCodes();
  else say(what === "enrolled" ? "Factor added." : "New recovery codes generated.");
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
  sure(`Remove ${name}?`, "You can no longer sign in with it, and your other sessions end.", "Remove", () =>
    ask("DELETE", `/api/me/factors/${id}`));
});

onAct("remove-factors", async () => {
  sure("Remove all factors?", "This removes your recovery codes too, and ends your other sessions. Your account is then protected only by your password.", "Remove all", () =>
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
    throw new Refusal(400, { error: "currentPassword: this password is incorrect" });
  }
  form.closest("dialog").close();
  await refresh();
  const count = changed.revokedTokens;
  say(count === undefined ? "Password changed." : `Password changed. ${count} personal access token${count === 1 ? " was" : "s were"} revoked.`);
});

// Sessions.

onAct("end-session", async (button) => {
  let out;
  await doing(async () => { out = await ask("DELETE", `/api/me/sessions/${of(button).id}`); });
  if (out.signOut) return location.assign(out.logoutUrl ?? "/auth/login?reason=SIGNED_OUT");
  await refresh();
  say("Session ended.");
});

onAct("end-others", async () => {
  sure("Sign out everywhere else?", "Ends your sessions in all other browsers and apps. This one stays.", "Sign out", () =>
    ask("POST", "/api/me/sessions/revoke-others"));
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
  // Shown before the refresh, which may fail: the token cannot be shown again.
  $("[data-token]", open("made-token")).textContent = made.token;
  await refresh();
});

onSend("made-token", async (_, form) => {
  form.closest("dialog").close();
});

document.getElementById("made-token").addEventListener("close", () => { $("[data-token]").textContent = ""; });

onAct("revoke-token", async (button) => {
  const { id, name } = of(button);
  sure(`Revoke ${name}?`, "Programs that use this token lose access immediately.", "Revoke", () => ask("DELETE", `/api/me/tokens/${id}`));
});

/** Reports the passkeys to authenticators, now and after each change of the list. */
function signal() {
  const accepted = $("[data-accepted]");
  if (accepted) signalAccepted(accepted.dataset);
}

new MutationObserver(signal).observe($('[data-part="factors"]'), { childList: true });
signal();
keepAlive();
