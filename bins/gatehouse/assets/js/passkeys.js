// WebAuthn requests to the browser. Converts binary members itself, because the conversions of some browsers and
// password managers are missing or wrong.

import { Refusal } from "./api.js";

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const listed = (credentials) => credentials?.map((one) => ({ ...one, id: bytes(one.id) }));

/** Converts a credential to WebAuthn's JSON form, which the server reads. */
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
  NotAllowedError: "the request was canceled or timed out. Try again",
  InvalidStateError: "this authenticator is already enrolled",
  SecurityError: "passkeys don't work at this address",
  NotSupportedError: "this authenticator is not supported",
};

async function asking(work) {
  if (!window.PublicKeyCredential) throw new Refusal(-1, { error: "this browser doesn't support passkeys. Use another factor" });
  try {
    return answered(await work());
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(-1, { error: texts[error.name] ?? "the passkey could not be used. Try again", code: error.name });
  }
}

/** Creates a passkey with the server's options; `more` may contain `mediation`. */
export const create = (options, more = {}) => asking(() => navigator.credentials.create({
  publicKey: {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: listed(options.excludeCredentials),
  },
  ...more,
}));

/** Requests an assertion of a passkey; `more` may contain `mediation` and `signal`. */
export const get = (options, more = {}) => asking(() => navigator.credentials.get({
  publicKey: { ...options, challenge: bytes(options.challenge), allowCredentials: listed(options.allowCredentials) },
  ...more,
}));

/** Returns whether the browser can offer passkeys in the email field (conditional mediation). */
export const offersWhileTyping = async () =>
  (await window.PublicKeyCredential?.isConditionalMediationAvailable?.()) ?? false;
