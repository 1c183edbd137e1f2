// The sign-in steps. The response to each step names the next one.

import { call } from "./api.js";
import { offerProviders, signInElsewhere } from "./login-sso.js";
import { $, $$, during, onAct, onSend, refuse } from "./page.js";
import * as passkeyOffer from "./passkey-offer.js";
import { signalUnknown } from "./passkey-signals.js";
import * as passkeys from "./passkeys.js";

const gate = $(".gate");
const { next, tenant } = gate.dataset;
let { goesOn } = gate.dataset;
const notices = {
  PASSWORD_RESET: "An administrator reset your password since your last visit. If you didn't ask for this, contact them.",
  FACTORS_RESET: "An administrator removed your second factors since your last visit. Add a new one on the Security page.",
};
const others = { WEBAUTHN: "Use a passkey instead", TOTP: "Use an authenticator app instead", RECOVERY_CODE: "Use a recovery code instead" };
const link = new URLSearchParams(location.hash.slice(1)).get("link");

// Where the sign-in leads. After a link, through the offer of a second factor for users without one.
let place = next;
let ticket;
let options;

function show(step) {
  for (const section of $$("[data-step]")) section.hidden = section.dataset.step !== step;
  const section = $(`[data-step="${step}"]`);
  ($("input:not([hidden])", section) ?? $("button, a", section))?.focus();
}

/** Leaves the page. Never resolves, so that buttons stay busy until the page is gone. */
function go(where) {
  location.replace(where);
  return new Promise(() => {});
}

/** Shows the next step, or leaves the page after a completed sign-in. */
function follow(answer) {
  ticket = answer.ticket;
  for (const form of $$("form", gate)) form.reset();
  switch (answer.status) {
    case "SIGNED_IN":
      passkeyOffer.keep(answer.passkeyOffer);
      if (!answer.notice) return go(place);
      $("[data-go]").href = place;
      $("[data-notice]").textContent = notices[answer.notice] ?? answer.notice;
      return show("notice");
    case "ENROLMENT_REQUIRED":
      return go(`/auth/enrol?${new URLSearchParams({ next })}`);
    case "TENANT_CHOICE":
      $("[data-tenants]").replaceChildren(...answer.tenants.map(({ slug, name }) => {
        const button = Object.assign(document.createElement("button"), { name: "tenant", value: slug });
        button.append(Object.assign(document.createElement("b"), { textContent: name }));
        return button;
      }));
      return show("tenant");
    default:
      options = answer.webauthn;
      return choose(answer.factors);
  }
}

/** Shows the step of the first factor, with buttons for the others. */
function choose(factors) {
  for (const step of Object.keys(others)) {
    const ways = factors.filter((factor) => factor !== step).map((factor) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent: others[factor] });
      button.addEventListener("click", () => show(factor));
      return button;
    });
    const again = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent: "Start again" });
    again.dataset.act = "again";
    $(`[data-step="${step}"] [data-others]`).replaceChildren(...ways, again);
  }
  show(factors[0]);
}

/** Returns to the first step and shows the error, if any. */
function again(error) {
  if (goesOn !== undefined && error?.code === "TICKET_INVALID") return goOn();
  $("#password").value = "";
  show("password");
  if (error) refuse($('[data-form="password"]'), error);
  offer();
}

/** Continues a session that requires a second factor, or a sign-in that an identity provider started. */
async function goOn() {
  show("wait");
  try {
    await follow(await call("POST", `/api/auth/sign-in/${goesOn}`));
  } catch (error) {
    goesOn = undefined;
    again(error.code === "UNAUTHENTICATED" ? undefined : error);
  }
}

/** Sends a step with its ticket. If the ticket is invalid, returns to the first step. */
async function step(path, body) {
  try {
    await follow(await call("POST", path, { ticket, ...body }));
  } catch (error) {
    if (error.code === "TICKET_INVALID" || error.code === "ACCOUNT_DISABLED") return again(error);
    throw error;
  }
}

onSend("password", async (fields) => {
  stop();
  const email = fields.get("email").trim();
  const body = { email, password: fields.get("password"), ...(tenant && { tenant }) };
  try {
    await follow(await call("POST", "/api/auth/sign-in", body));
  } catch (error) {
    offer();
    if (error.code === "SSO_REQUIRED") await offerProviders();
    throw error;
  }
});

onSend("tenant", (_, __, button) => step("/api/auth/sign-in/tenant", { tenant: button.value }));

for (const factor of ["TOTP", "RECOVERY_CODE"]) {
  onSend(factor, async (fields, form) => {
    const code = fields.get("code").trim();
    form.reset();
    const isApp = factor === "TOTP";
    await step(`/api/auth/sign-in/verify${isApp ? passkeyOffer.query() : ""}`, { factor, code: isApp ? code.replaceAll(" ", "") : code });
  });
}

onSend("WEBAUTHN", async () => {
  const credential = await passkeys.get(options);
  await step("/api/auth/sign-in/verify", { factor: "WEBAUTHN", credential });
});

onSend("link", async (fields) => {
  const answer = await call("POST", "/api/auth/links/redeem", { token: link, password: fields.get("password") });
  history.replaceState(null, "", location.pathname + location.search);
  place = `/auth/enrol?${new URLSearchParams({ offer: "", next })}`;
  await follow(answer);
});

onAct("forgot", () => {
  stop();
  $("#forgot-email").value = $("#email").value;
  show("forgot");
});

onSend("forgot", async (fields) => {
  const email = fields.get("email").trim();
  await call("POST", "/api/auth/forgotten-password", { email, ...(tenant && { tenant }) });
  $("[data-sent-to]").textContent = email;
  show("sent");
});

onAct("again", () => again());
onAct("sso", signInElsewhere);
/** Asks for a passkey. `more` are further options of WebAuthn. */
async function signInWithPasskey(more) {
  stop();
  try {
    const begun = await call("POST", "/api/auth/passkey/options");
    await answered(begun, await passkeys.get({ ...begun.webauthn, ...more }));
  } catch (error) {
    offer();
    throw error;
  }
}

onAct("passkey", () => signInWithPasskey({}));
// The browser shows a QR code for a phone or tablet at once.
onAct("passkey-elsewhere", () => signInWithPasskey({ hints: ["hybrid"] }));

async function answered({ challengeId, webauthn }, credential) {
  let answer;
  try {
    answer = await call("POST", "/api/auth/passkey/verify", { challengeId, credential });
  } catch (error) {
    if (error.reason === "PASSKEY_UNKNOWN") await signalUnknown(webauthn.rpId, credential.id);
    throw error;
  }
  await follow(answer);
}

// The email field offers passkeys (conditional mediation) until the user signs in otherwise. A challenge is valid for
// five minutes.
let offered;
let renewal;

function stop() {
  clearTimeout(renewal);
  offered?.abort();
  offered = undefined;
}

async function offer() {
  stop();
  const own = new AbortController();
  offered = own;
  renewal = setTimeout(offer, 4 * 60_000);
  let begun;
  let credential;
  try {
    if (!(await passkeys.offersWhileTyping()) || offered !== own) return;
    begun = await call("POST", "/api/auth/passkey/options");
    credential = await passkeys.get(begun.webauthn, { mediation: "conditional", signal: own.signal });
  } catch {
    // The user has not asked for this. The renewal offers passkeys again.
    return;
  }
  stop();
  const form = $('[data-form="password"]');
  if (!(await during(form, null, () => answered(begun, credential)))) offer();
}

// An invitation or reset link that is opened in a tab that shows this page already.
window.addEventListener("hashchange", () => { if (location.hash.startsWith("#link=")) location.reload(); });

if (link) {
  show("link");
} else if (goesOn !== undefined) {
  goOn();
} else {
  show("password");
  offer();
  offerProviders();
}
