// The report of a connection test.

import { badge, classed } from "./elements.js";
import { element } from "./page.js";
import { since } from "./sso-words.js";

const outcomes = { PASSED: ["passed", "good"], FAILED: ["failed", "bad"], NOT_REACHED: ["not reached", ""] };

function row({ check, outcome, reason, detail }, { steps, reasons }) {
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

/** Describes the user who would be signed in. */
function whom({ user, email }) {
  if (!user) return email ? ["Nobody. No account has this address."] : ["Nobody"];
  const name = user.displayName || user.email || user.id;
  const mail = user.email && user.email !== name ? [", ", user.email] : [];
  return [element("b", name), ...mail, ...(user.active ? [] : [" ", badge("disabled", "bad")])];
}

function facts(found) {
  const { nameId, subject, email, authnContext, finishedAt } = found;
  const list = classed("dl", "facts");
  if (nameId) list.append(fact("NameID", element("code", nameId.value), " ", classed("span", "soft", nameId.format ?? "no format")));
  if (subject) list.append(fact("Subject", element("code", subject)));
  list.append(fact("Email", ...(email ? [element("code", email)] : ["None found"])));
  list.append(fact("User", ...whom(found)));
  if (authnContext) list.append(fact("Signed in with", element("code", authnContext)));
  if (finishedAt) list.append(fact("Received", since(finishedAt)));
  return list;
}

/** Creates the table of attributes or claims. Values are untrusted and shown as text. */
function attributes(received, { attribute }) {
  const many = `${attribute.toLowerCase()}s`;
  if (received.length === 0) return [classed("p", "soft", `No ${many} were received.`)];
  const rows = received.map(({ name, values }) => element("tr", Object.assign(element("th", element("code", name)), { scope: "row" }), element("td", ...values.map((value) => element("div", value)))));
  const heads = [attribute, "Values"].map((name) => Object.assign(element("th", name), { scope: "col" }));
  return [classed("table", "received", element("caption", `Received ${many}`), element("thead", element("tr", ...heads)), element("tbody", ...rows))];
}

/** Creates the report of a finished test, with the texts of the connection's protocol. */
export function report(found, texts) {
  const failed = found.checks.find(({ outcome }) => outcome === "FAILED");
  const verdict = found.status === "PASSED"
    ? classed("p", "note good", element("b", "The test passed: "), ...whom(found), " would be signed in.")
    : classed("p", "note bad", element("b", "The test failed: "), texts.reasons[failed?.reason] ?? failed?.detail ?? "the response was not accepted.");
  const parts = [verdict, classed("ol", "checks", ...found.checks.map((check) => row(check, texts)))];
  // There is no data before the response is trusted.
  if (found.nameId || found.attributes.length > 0 || found.email || found.subject) {
    parts.push(element("h3", "Received data"), facts(found), ...attributes(found.attributes, texts));
  }
  return parts;
}
