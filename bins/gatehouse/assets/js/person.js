// The page of a user. After a change, the server renders the page again.

import { doing, of, refresh, sure } from "./drawn.js";
import { $, count, onAct, onSend, open, say } from "./page.js";
import { ask, keepAlive } from "./session.js";

const { user, name } = $('[data-part="head"]').dataset;
const own = `/api/settings/users/${user}`;

/** Adds the number of revoked tokens to a message. */
const withTokens = (text, tokens) => (tokens > 0 ? `${text} ${count(tokens, "personal access token")} revoked.` : text);

/** Reloads the page: its title, its buttons and its badges change together. */
const reload = () => location.reload();

// Sign-in.

onAct("reset-password", async () => {
  let done;
  sure(
    `Reset the password of ${name}?`,
    "The password, all sessions and all personal access tokens are revoked at once. The user sets a new password with a link. Factors stay.",
    "Reset password",
    async () => { done = await ask("POST", `${own}/reset-password`); },
    async () => {
      await refresh();
      if (done.sent) return say(withTokens("The link was sent by mail.", done.revokedTokens));
      // Shown after the refresh: the link cannot be shown again.
      $("[data-link]", open("reset-link")).textContent = done.link;
    },
  );
});

onSend("reset-link", async (_, form) => {
  form.closest("dialog").close();
});

document.getElementById("reset-link").addEventListener("close", () => { $("[data-link]").textContent = ""; });

onAct("reset-factors", async () => {
  sure(
    `Remove all factors of ${name}?`,
    "All factors, recovery codes, sessions and personal access tokens are removed. The user can then sign in without a second factor, and enrols a new one if your organization requires it. Make sure that it is really the user who asks.",
    "Reset factors",
    () => ask("POST", `${own}/reset-factors`),
  );
});

onAct("unlink", async (button) => {
  const { id, name: connection } = of(button);
  sure(`Unlink ${connection}?`, "At the next sign-in through this connection, the identity provider's ID for the user is linked again. Unlink it after the identity provider gave the user another ID.", "Unlink", () =>
    ask("DELETE", `${own}/saml-subjects/${id}`));
});

// Sessions and tokens.

onAct("end-session", async (button) => {
  await doing(() => ask("DELETE", `${own}/sessions/${of(button).id}`));
  await refresh();
  say("Session ended.");
});

onAct("sign-out-everywhere", async () => {
  let done;
  sure(
    `Sign ${name} out everywhere?`,
    "All sessions and personal access tokens end at once. The user can sign in again.",
    "Sign out everywhere",
    async () => { done = await ask("DELETE", `${own}/sessions`); },
    async () => {
      await refresh();
      say(withTokens("Signed out.", done.revokedTokens));
    },
  );
});

onAct("revoke-token", async (button) => {
  const { id, name: token } = of(button);
  sure(`Revoke ${token}?`, "Programs that use this token lose access immediately.", "Revoke", () => ask("DELETE", `${own}/tokens/${id}`));
});

// The account.

/** Asks before a change of the account. */
const change = (act, question, consequence, yes, body) =>
  onAct(act, async () => sure(question, consequence, yes, () => ask("PATCH", own, body), reload));

change("make-administrator", `Make ${name} an administrator?`, "An administrator changes all settings of your organization and sees its audit log.", "Make administrator", { role: "ADMIN" });
change("make-member", `Make ${name} a member?`, "The user keeps the account and loses access to the settings at once.", "Make member", { role: "MEMBER" });
change("disable", `Disable ${name}?`, "All sessions end at once, and the user cannot sign in until you enable the account again.", "Disable", { active: false });
change("enable", `Enable ${name}?`, "The user can sign in again.", "Enable", { active: true });

onAct("delete", async () => {
  sure(`Delete ${name}?`, "The account, its factors, sessions, tokens and group memberships are removed. This cannot be undone.", "Delete user", () => ask("DELETE", own), () =>
    location.assign("/settings/people"));
});

keepAlive();
