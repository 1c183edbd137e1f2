// The page of a user. After a change, the server renders the page again.

import { doing, of, refresh, sure } from "./drawn.js";
import { badge } from "./elements.js";
import { $, count, element, onAct, onSend, open, say } from "./page.js";
import { ask, keepAlive, mine } from "./session.js";

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
      if (!done) return reload();
      // Shown before the refresh, which may fail: the link cannot be shown again.
      if (!done.sent) $("[data-link]", open("reset-link")).textContent = done.link;
      await refresh();
      if (done.sent) say(withTokens("The link was sent by mail.", done.revokedTokens));
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

// The test of a sign-in.

const outcomes = {
  SIGNED_IN: ["signs in", "good", "No rule refuses this sign-in."],
  NEEDS_FACTOR: ["needs a factor", "", "The user is asked for a second factor. Choose one to test the rest."],
  MUST_ENROL: ["must enrol", "", "The user has to enrol a second factor before anything else."],
  REFUSED: ["refused", "bad", ""],
};

onSend("test", async (given, form) => {
  const asked = { first: given.get("first"), ip: given.get("ip").trim() };
  if (given.get("factor")) asked.factor = given.get("factor");
  const { result, refusal } = await mine("POST", `${own}/sign-in-test`, asked);
  const [text, kind, sentence] = outcomes[result];
  const place = $("[data-outcome]", form);
  place.replaceChildren(badge(text, kind), " ", ...(refusal ? [element("b", refusal.why), ` ${refusal.mend}`] : [sentence]));
  place.hidden = false;
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
      if (!done) return reload();
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

onAct("assign-role", async () => {
  open("assign-role");
});

onSend("assign-role", async (given) => {
  await ask("PATCH", own, { role: given.get("role") });
  await reload();
});

change("disable", `Disable ${name}?`, "All sessions end at once. Personal access tokens are refused until you enable the account again, and then work again; revoke them if they may be known to others.", "Disable", { active: false });
change("enable", `Enable ${name}?`, "The user can sign in again, and the personal access tokens listed above work again.", "Enable", { active: true });

onAct("delete", async () => {
  sure(`Delete ${name}?`, "The account, its factors, sessions, tokens and group memberships are removed. This cannot be undone.", "Delete user", () => ask("DELETE", own), () =>
    location.assign("/settings/people"));
});

keepAlive();
