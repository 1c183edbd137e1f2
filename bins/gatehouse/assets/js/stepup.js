// The step-up dialog. After the step-up, the request that required it continues.

import { Refusal } from "./api.js";
import { $, $$, clear, during } from "./page.js";
import * as passkeys from "./passkeys.js";

const acts = {
  ACCOUNT_SECURITY_CHANGE: "to change how you sign in",
  PAT_MINT_ADMIN: "to create an administrator token",
  SCIM_TOKEN_MINT: "to create a SCIM token",
  USER_ADMIN_CHANGE: "to change another user's account",
  SIGN_IN_POLICY_CHANGE: "to change the sign-in policy",
  NETWORK_POLICY_CHANGE: "to change the network policy",
  ATTESTATION_POLICY_CHANGE: "to change which authenticators users may enrol",
  WEBHOOK_SECRET_ROTATE: "to rotate a webhook's signing secret",
  SSO_PROVIDER_CHANGE: "to change SSO connections and domains",
};

/**
 * Asks the user for a step-up with this purpose, through `call`. Resolves to `{token, until}` for one request; rejects with
 * an `AbortError` if the user closes the dialog.
 */
export async function prove(purpose, call) {
  const dialog = $("#step-up");
  const form = $("form", dialog);
  const ask = () => call("POST", "/api/auth/step-up/challenge-options", { purpose });
  let asked = await ask();
  const closed = new AbortController();
  let proof;

  const show = (factor) => {
    clear(form);
    for (const part of $$("[data-factor]", form)) {
      part.hidden = part.dataset.factor !== factor;
      for (const input of $$("input", part)) input.disabled = part.hidden;
    }
    form.dataset.shown = factor;
    $("[data-other]", form).hidden = asked.factors.length < 2;
    $("[data-other]", form).textContent = factor === "TOTP" ? "Use a passkey instead" : "Use an authenticator app instead";
    ($(`[data-factor="${factor}"] input`, form) ?? $("button.strong", form)).focus();
  };

  const answer = async () => {
    const factor = form.dataset.shown;
    const given = factor === "TOTP"
      ? { code: $("[name=code]", form).value.replaceAll(" ", "") }
      : { credential: await passkeys.get(asked.webauthn, { signal: closed.signal }) };
    try {
      const { token, expiresAt } = await call("POST", "/api/auth/step-up/verify", { challengeId: asked.challengeId, factor, ...given });
      if (closed.signal.aborted) return;
      proof = { token, until: Date.parse(expiresAt) };
      dialog.close();
    } catch (error) {
      $("[name=code]", form).value = "";
      if (factor === "TOTP") $("[name=code]", form).focus();
      if (error.code === "FACTOR_INVALID" && factor === "TOTP") {
        throw new Refusal(-1, { error: "that code is incorrect or was already used. Enter the next code that your app shows" });
      }
      if (error.code !== "TICKET_INVALID") throw error;
      asked = await ask();
      throw new Refusal(-1, { error: "the verification expired or had too many incorrect codes. Try again" });
    }
  };

  return new Promise((resolve, reject) => {
    delete form.dataset.busy;
    form.onsubmit = (event) => {
      event.preventDefault();
      during(form, $("button.strong", form), answer);
    };
    $("[data-other]", form).onclick = () => show(form.dataset.shown === "TOTP" ? "WEBAUTHN" : "TOTP");
    dialog.onclose = () => {
      closed.abort();
      form.reset();
      if (proof) resolve(proof);
      else reject(new DOMException("closed", "AbortError"));
    };
    form.reset();
    $("[data-act-of]", form).textContent = acts[purpose] ?? "to continue";
    dialog.showModal();
    show(asked.factors[0]);
  });
}
