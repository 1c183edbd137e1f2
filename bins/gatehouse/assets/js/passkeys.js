// Passkeys: what the browser asks of authenticators.

import { Refusal } from "./api.js";

const there = () => window.PublicKeyCredential?.parseRequestOptionsFromJSON !== undefined;

const trouble = (error) => {
  if (error.name === "AbortError") return error;
  const texts = {
    NotAllowedError: "nothing was confirmed, or it took too long; try again",
    InvalidStateError: "this authenticator is enrolled already",
    SecurityError: "passkeys do not work at this address",
    NotSupportedError: "this authenticator cannot be used here",
  };
  return new Refusal(-1, { error: texts[error.name] ?? "the passkey could not be used; try again", code: error.name });
};

const needed = () => {
  if (!there()) throw new Refusal(-1, { error: "this browser is too old for passkeys; use another factor or update it" });
};

/** Makes a passkey as the server has asked. */
export async function create(options) {
  needed();
  try {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return (await navigator.credentials.create({ publicKey })).toJSON();
  } catch (error) {
    throw trouble(error);
  }
}

/** Asks for one; `more` may have `mediation` and `signal`. */
export async function get(options, more = {}) {
  needed();
  try {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return (await navigator.credentials.get({ publicKey, ...more })).toJSON();
  } catch (error) {
    throw trouble(error);
  }
}

/** Whether passkeys can be offered while the address is typed. */
export const offersWhileTyping = async () =>
  there() && ((await PublicKeyCredential.isConditionalMediationAvailable?.()) ?? false);
