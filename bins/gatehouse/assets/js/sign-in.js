// The sign-in policy, and a preview of whom a change would lock out, or require to enrol a second factor.

import { $, $$, count, element, say } from "./page.js";
import { policyForm } from "./policy.js";
import { ask, keepAlive } from "./session.js";

const path = "/api/settings/sign-in-policy";
const form = $('[data-form="policy"]');

function body() {
  const { signInMode, required, trustSsoMfa, idleMinutes, absoluteDays, maxDays } = form.elements;
  const scopes = $$("[name=allowedScopes]", form);
  const allowed = scopes.filter((box) => box.checked).map((box) => box.value);
  return {
    signInMode: signInMode.value,
    mfa: {
      required: required.checked,
      acceptedFactors: ["WEBAUTHN", "TOTP"].filter((kind) => form.elements[kind].checked),
      trustSsoMfa: trustSsoMfa.checked,
    },
    session: { idleMinutes: Number(idleMinutes.value), absoluteDays: Number(absoluteDays.value) },
    pat: {
      maxDays: maxDays.value === "" ? null : Number(maxDays.value),
      allowedScopes: allowed.length === scopes.length ? null : allowed,
    },
  };
}

/** Maximum number of users in the preview, for each effect. */
const LISTED = 8;

const person = ({ userId, name }) => {
  const link = element("a", name);
  link.href = `/settings/people?${new URLSearchParams({ id: userId })}`;
  return element("li", link);
};

/** Renders the users with one effect. */
function affected(users, total, text) {
  if (total === 0) return [];
  const lines = users.slice(0, LISTED).map(person);
  if (total > lines.length) lines.push(element("li", `and ${total - lines.length} more`));
  return [element("p", element("b", text)), element("ul", ...lines)];
}

/** Renders the preview. */
async function describe({ users, lockedOut, mustUseSso, mustEnrol, affected: all, own, refusal }) {
  const of = (effect) => all.filter((user) => user.effect === effect);
  const drawn = [];
  if (refusal) drawn.push(element("p", element("b", "This policy would lock out every administrator"), ` and cannot be saved: ${refusal}.`));
  if (own === "LOCKED_OUT") drawn.push(element("p", element("b", "You could not sign in again.")));
  if (own === "MUST_USE_SSO") drawn.push(element("p", element("b", "Your own session could end with its next request."), " Sign in through single sign-on first."));
  drawn.push(
    ...affected(of("LOCKED_OUT"), lockedOut, `${lockedOut} of ${count(users, "active user")} could no longer sign in:`),
    ...affected(of("MUST_USE_SSO"), mustUseSso, `${mustUseSso} of ${count(users, "active user")} could sign in only through single sign-on. Sessions that began with a password or a passkey are refused with their next request:`),
    ...affected(of("MUST_ENROL"), mustEnrol, `${mustEnrol} of ${count(users, "active user")} would have to enrol a second factor before their next request:`),
  );
  if (lockedOut + mustUseSso + mustEnrol === 0) drawn.push(element("p", "No one is locked out, and no one has to enrol a factor."));
  return drawn;
}

policyForm({
  path,
  body,
  impact: async (wanted) => wanted,
  describe,
  save: async (wanted) => {
    await ask("PUT", path, wanted);
    say("Policy saved.");
    return true;
  },
});

keepAlive();
