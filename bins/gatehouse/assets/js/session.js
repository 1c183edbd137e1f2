// Whoever is signed in: kept so while the page is open, thrown out when the session is ended elsewhere, signed out.

import { call } from "./api.js";
import { onAct } from "./page.js";
import { prove } from "./stepup.js";

const over = ["UNAUTHENTICATED", "SESSION_REVOKED", "ACCOUNT_DISABLED", "SSO_NOT_ALLOWED", "NOT_PROVISIONED"];

/** To the sign-in page, and back here afterwards. */
export function leave(reason) {
  const query = new URLSearchParams({ next: location.pathname + location.search });
  if (reason) query.set("reason", reason);
  location.assign(`/auth/login?${query}`);
}

/**
 * The API on behalf of whoever is signed in: asks for a fresh proof where one is needed, and leaves the page when they
 * are not signed in any more.
 */
export async function ask(method, path, body, headers) {
  try {
    return await call(method, path, body, headers);
  } catch (error) {
    if (error.code === "STEP_UP_REQUIRED") {
      return ask(method, path, body, { "X-StepUp-Token": await prove(error.purpose) });
    }
    if (error.status === 401 && over.includes(error.code)) leave(error.code);
    if (error.status === 403 && error.reason === "MFA_REQUIRED") location.reload();
    throw error;
  }
}

let timer;

/** Keeps the session alive, and notices when it is over. */
export async function beat() {
  clearTimeout(timer);
  let next = 300;
  try {
    next = (await ask("POST", "/api/me/sessions/heartbeat")).nextHeartbeatSeconds;
  } catch {
    // Asked again later: the server may be out of reach for a while.
  }
  timer = setTimeout(beat, next * 1000);
}

// Whoever comes back to the page learns at once what has happened meanwhile.
document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

onAct("sign-out", async () => {
  await ask("POST", "/api/auth/sign-out");
  location.assign("/auth/login?reason=SIGNED_OUT");
});
