// A passkey that the browser may create without asking the user (WebAuthn, conditional create). A sign-in offers it, and the next
// page accepts the offer.

import { call } from "./api.js";
import { say } from "./page.js";
import * as passkeys from "./passkeys.js";

const KEPT = "gatehouse.passkeyOffer";

/** Returns whether this browser can create passkeys without asking. */
export const isPossible = async () =>
  (await window.PublicKeyCredential?.getClientCapabilities?.())?.conditionalCreate ?? false;

/** Keeps the offer for the next page. */
export const keep = (offer) => sessionStorage.setItem(KEPT, JSON.stringify(offer));

/** Creates the passkey, if a password manager that knows the user's password agrees. */
export async function accept() {
  const { challengeId, webauthn } = JSON.parse(sessionStorage.getItem(KEPT));
  sessionStorage.removeItem(KEPT);
  const credential = await passkeys.create(webauthn, { mediation: "conditional" });
  await call("POST", "/api/me/factors/passkeys/verify", { challengeId, credential, conditional: true });
  say("Your password manager saved a passkey for your next sign-in.");
}
