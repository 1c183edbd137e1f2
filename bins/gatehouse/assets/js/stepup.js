// A fresh proof in the middle of whatever needs one: a dialog, and then the act goes on.

import { call, Refusal } from "./api.js";
import { $, clear, during } from "./page.js";
import * as passkeys from "./passkeys.js";

const acts = {
  ACCOUNT_SECURITY_CHANGE: "to change how you sign in",
  PAT_MINT_ADMIN: "to make a token that acts as an administrator",
  SCIM_TOKEN_MINT: "to make a token for an identity provider",
  USER_ADMIN_CHANGE: "to change somebody else's account",
  SIGN_IN_POLICY_CHANGE: "to change how everybody signs in",
};

/** Asks for a proof of the purpose: a token for one act. Whoever closes the dialog has not proved anything. */
export async function prove(purpose) {
  const dialog = $("#step-up");
  const form = $("form", dialog);
  const ask = () => call("POST", "/api/auth/step-up/challenge-options", { purpose });
  let asked = await ask();
  return new Promise((resolve, reject) => {
    let token;
    const offers = (factor) => asked.factors.includes(factor);
    const show = (factor) => {
      clear(form);
      for (const part of form.querySelectorAll("[data-factor]")) {
        part.hidden = part.dataset.factor !== factor;
        for (const input of part.querySelectorAll("input")) input.disabled = part.hidden;
      }
      form.dataset.shown = factor;
      $("[data-other]", form).hidden = asked.factors.length < 2;
      $("[data-other]", form).textContent = factor === "TOTP" ? "Use a passkey instead" : "Use a code from an app instead";
      ($(`[data-factor="${factor}"] input`, form) ?? $("button.strong", form)).focus();
    };
    const answer = async () => {
      const factor = form.dataset.shown;
      const proof = factor === "TOTP"
        ? { code: $("[name=code]", form).value.replaceAll(" ", "") }
        : { credential: await passkeys.get(asked.webauthn) };
      try {
        token = (await call("POST", "/api/auth/step-up/verify", { challengeId: asked.challengeId, factor, ...proof })).token;
        dialog.close();
      } catch (error) {
        $("[name=code]", form).value = "";
        if (factor === "TOTP") $("[name=code]", form).focus();
        if (error.code !== "TICKET_INVALID") throw error;
        asked = await ask();
        throw new Refusal(-1, { error: "that took too long, or too many codes were wrong; try once more" });
      }
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      during(form, $("button.strong", form), answer);
    };
    $("[data-other]", form).onclick = () => show(form.dataset.shown === "TOTP" ? "WEBAUTHN" : "TOTP");
    dialog.onclose = () => (token ? resolve(token) : reject(new DOMException("closed", "AbortError")));
    form.reset();
    $("[data-act-of]", form).textContent = acts[purpose] ?? "to go on";
    dialog.showModal();
    show(offers("WEBAUTHN") ? "WEBAUTHN" : "TOTP");
  });
}
