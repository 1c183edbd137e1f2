// Single sign-on: finds SSO connections by email address or by organization.

import { Refusal, call } from "./api.js";
import { clear, element } from "./page.js";

const gate = document.querySelector(".gate");
const { next, tenant } = gate.dataset;
const email = document.getElementById("email");
const place = gate.querySelector("[data-providers]");
const button = gate.querySelector('[data-act="sso"]');
/** Milliseconds after the last keystroke until connections are looked up. */
const TYPED = 700;
const ADDRESS = /^[^@\s]+@([^@\s]+\.[^@\s]{2,})$/;

// The last lookup and its key: the organization, or the domain of the email address.
let found;
let timer;
// Resolves once no button of the mouse is held. Pressing a button on the page ends the typing and looks up connections:
// if they were drawn at once, the button would move away before it is released, and the click would be lost.
let released = Promise.resolve();

addEventListener("pointerdown", () => {
  released = new Promise((resolve) => {
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(resolve), { once: true });
  });
});

const domain = () => ADDRESS.exec(email.value.trim())?.[1].toLowerCase();

/** Builds a link that starts the sign-in through a connection. It does not contain the email address. */
function way({ name, loginUrl }) {
  const url = new URL(loginUrl, location.href);
  url.searchParams.set("relayState", next);
  const link = element("a", `Continue with ${name}`);
  link.className = "button strong wide";
  link.href = url;
  return link;
}

function draw(providers) {
  place.replaceChildren(...providers.map(way));
  button.hidden = providers.length > 0;
}

/** Finds the connections of the page's organization, or of the typed email address. */
async function find() {
  clearTimeout(timer);
  const of = tenant || domain();
  if (!of) {
    found = undefined;
    draw([]);
    return [];
  }
  if (found?.of !== of) {
    const own = { of };
    found = own;
    const asked = call("POST", "/api/auth/sign-in/providers", tenant ? { tenant } : { email: email.value.trim() });
    own.providers = asked.then(({ providers }) => providers);
    own.providers.catch(() => { if (found === own) found = undefined; });
  }
  const own = found;
  const providers = await own.providers;
  await released;
  if (found === own) draw(providers);
  return providers;
}

/** Shows the connections without an action of the user. Errors are ignored. */
export const offerProviders = () => find().catch(() => {});

/** Starts single sign-on, or says what is missing. */
export async function signInElsewhere() {
  if (!tenant && !domain()) {
    throw new Refusal(400, { error: "email: enter your email address first" });
  }
  const providers = await find();
  if (providers.length === 0) {
    throw new Refusal(400, { error: `email: ${tenant ? "this organization" : "the organization of this address"} has no single sign-on here. Sign in with your password, or use your organization's sign-in link` });
  }
  if (providers.length > 1) {
    place.querySelector("a").focus();
    return;
  }
  location.assign(place.querySelector("a").href);
  await new Promise(() => {});
}

email.addEventListener("change", offerProviders);
email.addEventListener("input", () => {
  clearTimeout(timer);
  clear(email.closest("section"));
  if (tenant || domain() === found?.of) return;
  draw([]);
  timer = setTimeout(offerProviders, TYPED);
});
