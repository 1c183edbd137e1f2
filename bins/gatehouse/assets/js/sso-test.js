// The connection test: configuration checks, the link to sign in, and the report.

import { badge, classed } from "./elements.js";
import { $, element, localise, onAct, refuse } from "./page.js";
import { mine } from "./session.js";
import { id, own, provider } from "./sso-head.js";
import { report } from "./sso-report.js";
import { loginUrlOf, moment, sentence, since } from "./sso-words.js";

const part = $('[data-part="test"]');
const said = $("[data-tested]", part);
const begun = $("[data-begun]", part);
const place = $("[data-report]", part);
const button = $('[data-act="test"]', part);
/** Whether the identity provider opens in a new tab, so that this page waits for the response. */
const staysOpen = "staysOpen" in part.dataset;
/** Milliseconds between polls of a waiting test. */
const EVERY = 3_000;

/** The texts of the connection's protocol. */
let texts;
let timer;
let isWaiting = false;
/** The ID of the test that is shown. */
let shownTest = new URLSearchParams(location.search).get("test");

const outcomes = { PASSED: ["passed", "good"], WARNING: ["warning", "soon"], FAILED: ["failed", "bad"] };

/** Creates a row with the result of a configuration check. */
function checked({ check, outcome, detail }) {
  const words = element("span", element("b", texts.checks[check] ?? check.toLowerCase()), ": ", sentence(detail));
  return element("li", badge(...(outcomes[outcome] ?? [outcome.toLowerCase()])), " ", words);
}

onAct("test", async () => {
  clearTimeout(timer);
  isWaiting = false;
  const { id: test, loginUrl, expiresAt, checks } = await mine("POST", `${own}/test`);
  shownTest = staysOpen ? test : undefined;
  if (staysOpen) {
    timer = setTimeout(showTest, EVERY);
  } else {
    history.replaceState(null, "", `?${new URLSearchParams({ provider: id })}`);
  }
  place.hidden = true;
  const failed = checks.filter(({ outcome }) => outcome === "FAILED").length;
  said.textContent = failed > 0
    ? "The configuration has problems. You can continue anyway and see the response."
    : "The configuration has no problems. Sign in as a user who has an account here.";
  $("[data-configuration]", begun).replaceChildren(...checks.map(checked));
  const go = $("[data-go]", begun);
  go.href = loginUrl;
  go.textContent = `Continue to ${provider.name}`;
  $("[data-until]", begun).textContent = `Valid until ${moment(expiresAt)}`;
  begun.hidden = false;
  button.textContent = "Start again";
  go.focus();
});

// The report.

/** Shows the connection tests, with the texts of the connection's protocol. */
export function connectionTest(ofProtocol) {
  texts = ofProtocol;
  return showTest();
}

/** Shows the test in the page's URL or the one begun here, and polls it while the page is visible. */
async function showTest() {
  clearTimeout(timer);
  const test = shownTest;
  if (!test) return;
  button.textContent = "Test again";
  try {
    const found = await mine("GET", `${own}/tests/${encodeURIComponent(test)}`);
    // Another test was begun meanwhile.
    if (test !== shownTest) return;
    draw(found);
    isWaiting = found.status === "WAITING";
    if (isWaiting && !document.hidden) timer = setTimeout(showTest, EVERY);
  } catch (error) {
    if (test !== shownTest) return;
    if (error.status !== 404) return refuse(part, error, true);
    said.textContent = "This connection test no longer exists. Start another one.";
    hideLink();
    place.hidden = true;
  }
}

/** Hides the link of a test that is finished, and keeps the focus in the part. */
function hideLink() {
  const hadFocus = begun.contains(document.activeElement);
  begun.hidden = true;
  if (hadFocus) $("#test-title").focus();
}

function draw(found) {
  const { status, createdAt } = found;
  if (status !== "WAITING") hideLink();
  if (status === "WAITING") {
    said.textContent = `Waiting for a response to the test started on ${moment(createdAt)}. Sign in at the identity provider in this browser; the report appears here.`;
    // The link above the report is still there.
    if (!begun.hidden) return;
    const go = classed("a", "button strong", `Continue to ${provider.name}`);
    const way = new URL(loginUrlOf(provider));
    way.searchParams.set("test", found.id);
    go.href = way;
    place.replaceChildren(classed("p", "acts start", go));
  } else if (status === "EXPIRED") {
    said.textContent = `The test started on ${moment(createdAt)} timed out without a response. ${texts.timedOut}`;
    place.replaceChildren();
  } else {
    const verdict = status === "PASSED" ? "The connection works." : "The connection doesn't work.";
    said.replaceChildren("Received a response ", since(found.finishedAt), `. ${verdict} Nobody was signed in.`);
    place.replaceChildren(...report(found, texts));
    localise(part);
  }
  place.hidden = place.childElementCount === 0;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && isWaiting) showTest();
});
