// What came back from an identity provider, check by check.

import { badge, classed } from "./elements.js";
import { element } from "./page.js";
import { reasons, steps } from "./sso-reasons.js";
import { since } from "./sso-words.js";

const outcomes = { PASSED: ["passed", "good"], FAILED: ["failed", "bad"], NOT_REACHED: ["not reached", ""] };

function row({ check, outcome, reason, detail }) {
  const about = element("div", element("span", steps[check] ?? check.toLowerCase()));
  if (outcome === "FAILED") {
    if (reasons[reason]) about.append(classed("p", "why", reasons[reason]));
    const facts = [reason && element("code", reason), detail && element("span", detail)].filter(Boolean);
    about.append(classed("p", "soft found", ...facts.flatMap((fact) => [" ", fact]).slice(1)));
  }
  const made = element("li", badge(...(outcomes[outcome] ?? [outcome.toLowerCase()])), about);
  made.dataset.check = check;
  return made;
}

function fact(name, ...value) {
  return element("div", element("dt", name), element("dd", ...value));
}

/** Who would be signed in. */
function whom({ user, email }) {
  if (!user) return email ? ["Nobody: no user has this address."] : ["Nobody"];
  const name = user.displayName || user.email || user.id;
  const mail = user.email && user.email !== name ? [", ", user.email] : [];
  return [element("b", name), ...mail, ...(user.active ? [] : [" ", badge("disabled", "bad")])];
}

function facts(found) {
  const { nameId, email, authnContext, finishedAt } = found;
  const list = classed("dl", "facts");
  if (nameId) list.append(fact("NameID", element("code", nameId.value), " ", classed("span", "soft", nameId.format ?? "without a format")));
  list.append(fact("E-mail", ...(email ? [element("code", email)] : ["None was found"])));
  list.append(fact("Would be", ...whom(found)));
  if (authnContext) list.append(fact("Signed in by", element("code", authnContext)));
  if (finishedAt) list.append(fact("Came back", since(finishedAt)));
  return list;
}

/** What is sent may be anything, so it is shown as text. */
function attributes(received) {
  if (received.length === 0) return [classed("p", "soft", "No attributes were received.")];
  const rows = received.map(({ name, values }) => element("tr", Object.assign(element("th", element("code", name)), { scope: "row" }), element("td", ...values.map((value) => element("div", value)))));
  const heads = ["Attribute", "Values"].map((name) => Object.assign(element("th", name), { scope: "col" }));
  return [classed("table", "received", element("caption", "Received attributes"), element("thead", element("tr", ...heads)), element("tbody", ...rows))];
}

/** The report of a test that is over. */
export function report(found) {
  const failed = found.checks.find(({ outcome }) => outcome === "FAILED");
  const verdict = found.status === "PASSED"
    ? classed("p", "note good", element("b", "Passed: "), ...whom(found), " would be signed in.")
    : classed("p", "note bad", element("b", "Failed: "), reasons[failed?.reason] ?? failed?.detail ?? "the response was refused.");
  const parts = [verdict, classed("ol", "checks", ...found.checks.map(row))];
  // Before anything is believed there is nothing to tell.
  if (found.nameId || found.attributes.length > 0 || found.email) {
    parts.push(element("h3", "Received values"), facts(found), ...attributes(found.attributes));
  }
  return parts;
}
