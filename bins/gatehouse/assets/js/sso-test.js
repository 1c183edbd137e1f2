// A test of the connection: what is looked at before, the way there, and what came back.

import { badge, classed } from "./elements.js";
import { $, element, localise, onAct, refuse } from "./page.js";
import { mine } from "./session.js";
import { id, own, provider } from "./sso-head.js";
import { report } from "./sso-report.js";
import { moment, sentence } from "./sso-words.js";

const part = $('[data-part="test"]');
const said = $("[data-tested]", part);
const begun = $("[data-begun]", part);
const place = $("[data-report]", part);
const button = $('[data-act="test"]', part);
/** Milliseconds between two looks at a test that waits. */
const EVERY = 3_000;

const outcomes = { PASSED: ["fine", "good"], WARNING: ["warning", "soon"], FAILED: ["wrong", "bad"] };

const about = {
  SIGN_IN_POLICY: "Sign-in policy",
  DOMAINS: "Domains",
  CERTIFICATES: "Their certificates",
  METADATA: "Their metadata",
  REQUESTS: "Requests",
  KEYS: "Our certificate",
};

/** A check of how it is set up. */
function checked({ check, outcome, detail }) {
  const words = element("span", element("b", about[check] ?? check.toLowerCase()), ": ", sentence(detail));
  return element("li", badge(...(outcomes[outcome] ?? [outcome.toLowerCase()])), " ", words);
}

onAct("test", async () => {
  clearTimeout(timer);
  isWaiting = false;
  const { loginUrl, expiresAt, checks } = await mine("POST", `${own}/test`);
  history.replaceState(null, "", `?${new URLSearchParams({ provider: id })}`);
  place.hidden = true;
  const failed = checks.filter(({ outcome }) => outcome === "FAILED").length;
  said.textContent = failed > 0
    ? "Some checks failed. You can continue and see the response."
    : "All checks passed. Now sign in at the identity provider as a user of your organization.";
  $("[data-configuration]", begun).replaceChildren(...checks.map(checked));
  const go = $("[data-go]", begun);
  go.href = loginUrl;
  go.textContent = `Continue to ${provider.name}`;
  $("[data-until]", begun).textContent = `Valid until ${moment(expiresAt)}`;
  begun.hidden = false;
  button.textContent = "Start again";
  go.focus();
});

// What came of it.

let timer;
let isWaiting = false;

/** Shows the test that the address names, and waits for it while somebody may see that. */
export async function showTrial() {
  clearTimeout(timer);
  const trial = new URLSearchParams(location.search).get("test");
  if (!trial) return;
  button.textContent = "Test again";
  try {
    const found = await mine("GET", `${own}/tests/${encodeURIComponent(trial)}`);
    draw(found);
    isWaiting = found.status === "WAITING";
    if (isWaiting && !document.hidden) timer = setTimeout(showTrial, EVERY);
  } catch (error) {
    if (error.status !== 404) return refuse(part, error, true);
    said.textContent = "This test has been deleted. Start another.";
    place.hidden = true;
  }
}

function draw(found) {
  const { status, createdAt } = found;
  if (status === "WAITING") {
    said.textContent = `The test started on ${moment(createdAt)} has no response yet. Sign in at the identity provider in this browser.`;
    const go = classed("a", "button strong", `Continue to ${provider.name}`);
    const way = new URL(provider.serviceProvider.loginUrl);
    way.searchParams.set("test", found.id);
    go.href = way;
    place.replaceChildren(classed("p", "acts start", go));
  } else if (status === "EXPIRED") {
    said.textContent = `The test started on ${moment(createdAt)} expired without a response. Check the ACS URL at the identity provider.`;
    place.replaceChildren();
  } else {
    said.textContent = status === "PASSED" ? "The connection works. No session was started." : "The connection test failed. No session was started.";
    place.replaceChildren(...report(found));
    localise(place);
  }
  place.hidden = place.childElementCount === 0;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && isWaiting) showTrial();
});
