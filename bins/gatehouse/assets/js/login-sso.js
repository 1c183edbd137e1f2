// Who else can sign people in: the identity providers of an organisation, found by an address or by its name.

import { Refusal, call } from "./api.js";
import { clear, element } from "./page.js";

const gate = document.querySelector(".gate");
const { next, tenant } = gate.dataset;
const email = document.getElementById("email");
const place = gate.querySelector("[data-providers]");
const button = gate.querySelector('[data-act="sso"]');
/** Milliseconds without a key until an address is taken for typed. */
const TYPED = 700;
const ADDRESS = /^[^@\s]+@([^@\s]+\.[^@\s]{2,})$/;

// What was found last, and for what: the providers of an address are those of its domain.
let found;
let timer;

const domain = () => ADDRESS.exec(email.value.trim())?.[1].toLowerCase();

/** A link to a provider, which leads on to where one was going. It says nothing of who was typed. */
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

/** Finds the providers of what is typed, or of the organisation that the page is for. */
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
  if (found === own) draw(providers);
  return providers;
}

/** The same where nobody has asked for it: what goes wrong is not said. */
export const offerProviders = () => find().catch(() => {});

/** Goes where single sign-on leads, or says what is missing for that. */
export async function signInElsewhere() {
  if (!tenant && !domain()) {
    throw new Refusal(400, { error: "email: enter your e-mail address first; it says where you sign in" });
  }
  const providers = await find();
  if (providers.length === 0) {
    throw new Refusal(400, { error: `email: ${tenant ? "this organisation" : "the organisation of this address"} has no single sign-on here, or gave you another link for it` });
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
