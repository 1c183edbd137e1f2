// Whoever is signed in: their requests, kept alive while the page is open, thrown out when the session has ended.

import { call, request } from "./api.js";
import { onAct } from "./page.js";
import { prove } from "./stepup.js";

const over = ["UNAUTHENTICATED", "SESSION_REVOKED", "ACCOUNT_DISABLED", "SSO_NOT_ALLOWED", "NOT_PROVISIONED"];

/** To the sign-in page, and back here afterwards. */
function leave(reason) {
  location.assign(`/auth/login?${new URLSearchParams({ next: location.pathname + location.search, reason })}`);
}

/** On behalf of whoever is signed in: leaves the page when they are not any more. */
const signedIn = (send) => async (...asked) => {
  try {
    return await send(...asked);
  } catch (error) {
    if (error.status === 401 && over.includes(error.code)) leave(error.code);
    throw error;
  }
};

/** The API on behalf of whoever is signed in. */
export const mine = signedIn(call);

/** The same; what came back is not read yet. */
export const myRequest = signedIn(request);

// A proof that its act has not used up, because something else was wrong with it: in memory, and until it ends.
let kept;

/** The same; where an act needs a fresh proof, it is asked for, and the act repeated. */
export async function ask(method, path, body) {
  const act = `${method} ${path.split("?")[0]}`;
  let proof = kept?.act === act && Date.now() < kept.until ? kept : undefined;
  kept = undefined;
  for (let proofs = 0; ; proofs += 1) {
    try {
      return await mine(method, path, body, proof && { "X-StepUp-Token": proof.token });
    } catch (error) {
      const again = proof && error.code === "STEP_UP_INVALID" && ["EXPIRED", "IP_MISMATCH"].includes(error.reason);
      if ((error.code !== "STEP_UP_REQUIRED" && !again) || proofs > 1) {
        if (error.code !== "STEP_UP_INVALID") kept = proof;
        throw error;
      }
      const purpose = error.purpose || proof.purpose;
      proof = { act, purpose, ...(await prove(purpose, mine)) };
    }
  }
}

let timer;

/** Keeps the session alive, and notices when it is over or another's. */
async function beat() {
  clearTimeout(timer);
  let next = 300;
  try {
    const { session, nextHeartbeatSeconds } = await mine("POST", "/api/me/sessions/heartbeat");
    if (session.id !== document.documentElement.dataset.session) location.reload();
    next = nextHeartbeatSeconds;
  } catch (error) {
    // A factor is owed now. Whatever else it is, the server is asked again later.
    if (error.reason === "MFA_REQUIRED") location.reload();
  }
  timer = setTimeout(beat, next * 1000);
}

/** From now on, until the page is left. Whoever comes back to it learns at once what has happened meanwhile. */
export function keepAlive() {
  document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
  beat();
}

onAct("sign-out", async () => {
  await mine("POST", "/api/auth/sign-out");
  location.assign("/auth/login?reason=SIGNED_OUT");
});
