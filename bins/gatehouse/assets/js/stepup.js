// A fresh proof in the middle of whatever needs one: a dialog, and then the act goes on.

import { Refusal } from "./api.js";
import { $, $$, clear, during } from "./page.js";
import * as passkeys from "./passkeys.js";

const acts = {
  ACCOUNT_SECURITY_CHANGE: "to change how you sign in",
  PAT_MINT_ADMIN: "to make a token that acts as an administrator",
  SCIM_TOKEN_MINT: "to make a token for an identity provider",
  USER_ADMIN_CHANGE: "to change somebody else's account",
  SIGN_IN_POLICY_CHANGE: "to change how everybody signs in",
  NETWORK_POLICY_CHANGE: "to change from where everybody may come",
  ATTESTATION_POLICY_CHANGE: "to change what may be enrolled as a passkey",
  WEBHOOK_SECRET_ROTATE: "to change the secret of a webhook",
  SSO_PROVIDER_CHANGE: "to change through whom people sign in",
};

/**
 * Asks for a proof of the purpose, by `call`: `{token, until}` for one act. Whoever closes the dialog has not proved
 * anything.
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
    $("[data-other]", form).textContent = factor === "TOTP" ? "Use a passkey instead" : "Use a code from an app instead";
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
        throw new Refusal(-1, { error: "this code is wrong, or was used already: each is good once, and the next comes within half a minute" });
      }
      if (error.code !== "TICKET_INVALID") throw error;
      asked = await ask();
      throw new Refusal(-1, { error: "that took too long, or too many codes were wrong; try once more" });
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
    $("[data-act-of]", form).textContent = acts[purpose] ?? "to go on";
    dialog.showModal();
    show(asked.factors[0]);
  });
}
