// Passkeys: what the browser asks of authenticators. The conversions are our own: not every browser and password
// manager has them, or has them right.

import { Refusal } from "./api.js";

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const listed = (credentials) => credentials?.map((one) => ({ ...one, id: bytes(one.id) }));

/** What an authenticator has answered, as the server reads it (WebAuthn's JSON forms). */
function answered(credential) {
  const { response } = credential;
  const members = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  const given = members.filter((name) => response[name]).map((name) => [name, text(response[name])]);
  return {
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: { ...Object.fromEntries(given), ...(response.getTransports && { transports: response.getTransports() }) },
  };
}

const texts = {
  NotAllowedError: "nothing was confirmed, or it took too long; try again",
  InvalidStateError: "this authenticator is enrolled already",
  SecurityError: "passkeys do not work at this address",
  NotSupportedError: "this authenticator cannot be used here",
};

async function asking(work) {
  if (!window.PublicKeyCredential) throw new Refusal(-1, { error: "this browser knows no passkeys; use another factor" });
  try {
    return answered(await work());
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(-1, { error: texts[error.name] ?? "the passkey could not be used; try again", code: error.name });
  }
}

/** Makes a passkey as the server has asked. */
export const create = (options) => asking(() => navigator.credentials.create({
  publicKey: {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: listed(options.excludeCredentials),
  },
}));

/** Asks for one; `more` may have `mediation` and `signal`. */
export const get = (options, more = {}) => asking(() => navigator.credentials.get({
  publicKey: { ...options, challenge: bytes(options.challenge), allowCredentials: listed(options.allowCredentials) },
  ...more,
}));

/** Whether passkeys can be offered while the address is typed. */
export const offersWhileTyping = async () =>
  (await window.PublicKeyCredential?.isConditionalMediationAvailable?.()) ?? false;
