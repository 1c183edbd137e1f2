// API requests of the signed-in user, and heartbeats. Leaves the page when the session ends. Requests of a page that nobody uses
// do not count as use of the session, so they do not keep it alive.

import { call, request } from "./api.js";
import { $$, onAct } from "./page.js";
import { prove } from "./stepup.js";
import { discardUnsaved } from "./unsaved.js";

const over = ["UNAUTHENTICATED", "SESSION_REVOKED", "ACCOUNT_DISABLED", "SSO_NOT_ALLOWED", "NOT_PROVISIONED"];

/** Goes to the sign-in page, which returns here after the sign-in. */
function leave(reason) {
  discardUnsaved();
  location.assign(`/auth/login?${new URLSearchParams({ next: location.pathname + location.search, reason })}`);
}

// When somebody used the page for the last time.
let usedAt = Date.now();
/** How long after that the page still counts as used, in milliseconds. */
const USED = 5 * 60_000;

for (const act of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
  document.addEventListener(act, () => { usedAt = Date.now(); }, { capture: true, passive: true });
}

/** Wraps a request function so that it leaves the page if the session has ended, and says if nobody uses the page. */
const signedIn = (send) => async (method, path, body, headers = {}) => {
  try {
    const isUsed = Date.now() - usedAt < USED;
    return await send(method, path, body, isUsed ? headers : { ...headers, "X-Session-Idle": "1" });
  } catch (error) {
    if (error.status === 401 && over.includes(error.code)) leave(error.code);
    throw error;
  }
};

// The responses that the page contains, by path. Each is used once; later requests get the current state.
const embedded = new Map($$("template[data-answer]").map((part) => [part.dataset.answer, part.content.textContent]));

/** Returns the text of the response that the page contains for this path, if it was not used yet. */
export function embeddedAnswer(asked) {
  const text = embedded.get(asked);
  embedded.delete(asked);
  return text;
}

/** Calls the API as the signed-in user and returns the parsed body. */
export const mine = signedIn(async (method, asked, ...more) => {
  const text = method === "GET" ? embeddedAnswer(asked) : undefined;
  return text === undefined ? call(method, asked, ...more) : JSON.parse(text);
});

/** Calls the API as the signed-in user and returns the unread response. */
export const myRequest = signedIn(request);

// A step-up token that its request did not consume because it failed for another reason. Kept in memory until it expires.
let kept;

/** Calls the API as the signed-in user. If a step-up is required, asks for it and repeats the request. */
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
let beating = false;

/** Reloads the page, whose session is another one or needs a second factor. */
function reload() {
  discardUnsaved();
  location.reload();
}

/** Sends a heartbeat, and reloads the page if the session is another one. */
async function beat() {
  if (beating) return;
  beating = true;
  clearTimeout(timer);
  let next = 300;
  try {
    const { session, nextHeartbeatSeconds } = await mine("POST", "/api/me/sessions/heartbeat");
    if (session.id !== document.documentElement.dataset.session) reload();
    next = nextHeartbeatSeconds;
  } catch (error) {
    // A second factor is required now. After any other error, the next heartbeat tries again.
    if (error.reason === "MFA_REQUIRED") reload();
  }
  beating = false;
  timer = setTimeout(beat, next * 1000);
}

/** Starts heartbeats, on a timer and whenever the page becomes visible. */
export function keepAlive() {
  document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
  beat();
}

// A sign-in has offered a passkey. Browsers that store nothing throw here.
try {
  if (sessionStorage.getItem("gatehouse.passkeyOffer")) import("./passkey-offer.js").then(({ accept }) => accept()).catch(() => {});
} catch {
  // There is no offer.
}

onAct("sign-out", async () => {
  const { logoutUrl } = await mine("POST", "/api/auth/sign-out");
  discardUnsaved();
  location.assign(logoutUrl ?? "/auth/login?reason=SIGNED_OUT");
  // Last, because it throws where the browser stores nothing.
  localStorage.removeItem("gatehouse.organizations");
});
