// A passkey that the browser may create without asking the user (WebAuthn, conditional create). A sign-in offers it, and the next
// page accepts the offer.

import { call } from "./api.js";
import { say } from "./page.js";
import { signalUnknown } from "./passkey-signals.js";
import * as passkeys from "./passkeys.js";

const KEPT = "gatehouse.passkeyOffer";
/** Milliseconds for which an offer is kept. The server forgets it after ten minutes. */
const KEPT_FOR = 5 * 60_000;

/** Whether this browser can create passkeys without asking. Asked early, because a sign-in does not wait for the answer. */
let isPossible = false;
window.PublicKeyCredential?.getClientCapabilities?.().then((can) => { isPossible = can.conditionalCreate; }, () => {});

/** Returns the query with which a sign-in asks for an offer. */
export const query = () => (isPossible ? "?offerPasskey=true" : "");

/** Keeps the offer of a sign-in for the next page, or forgets an earlier one. */
export function keep(offer) {
  try {
    if (offer) sessionStorage.setItem(KEPT, JSON.stringify({ ...offer, until: Date.now() + KEPT_FOR }));
    else sessionStorage.removeItem(KEPT);
  } catch {
    // The browser stores nothing.
  }
}

/** Creates the passkey, if a password manager that knows the user's password agrees. */
export async function accept() {
  const { challengeId, webauthn, until } = JSON.parse(sessionStorage.getItem(KEPT));
  sessionStorage.removeItem(KEPT);
  if (Date.now() > until) return;
  const credential = await passkeys.create(webauthn, { mediation: "conditional" });
  try {
    await call("POST", "/api/me/factors/passkeys/verify", { challengeId, credential, conditional: true });
  } catch (error) {
    await signalUnknown(webauthn.rp.id, credential.id);
    throw error;
  }
  say("Your password manager saved a passkey for your next sign-in.");
}
