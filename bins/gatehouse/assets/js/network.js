// The network policy: the addresses it allows, and a preview of whom a change would block.

import { doing, of, refresh, sure } from "./drawn.js";
import { $, count, element, onAct, onSend, open, say } from "./page.js";
import { policyForm } from "./policy.js";
import { ask, keepAlive, mine } from "./session.js";

const path = "/api/settings/network-policy";
const form = $('[data-form="policy"]');
const fields = () => form.elements;

function body() {
  const { mode, SIGN_IN, DASHBOARD, API, adminBypass } = fields();
  const enforcement = { SIGN_IN: SIGN_IN.checked, DASHBOARD: DASHBOARD.checked, API: API.checked };
  return { mode: mode.value, enforcement, adminBypass: adminBypass.checked };
}

const named = new Map();

/** Returns the display name of a user, or the ID if the user cannot be loaded. */
async function nameOf(id) {
  if (!named.has(id)) {
    const found = mine("GET", `/api/settings/users/${id}`).then((user) => user.displayName || user.email || user.userName);
    named.set(id, found.catch(() => id));
  }
  return named.get(id);
}

/** Maximum number of users, and of tokens, in the preview. */
const LISTED = 8;

/** Renders the preview: the sessions and tokens that the policy would block. */
async function describe({ sessions, tokens }) {
  if (sessions.length + tokens.length === 0) {
    return [element("p", "No one who was active in the last 30 days would be blocked.")];
  }
  const people = Map.groupBy(sessions, (session) => session.userId);
  const whom = [];
  if (people.size > 0) whom.push(`${count(people.size, "user")} with ${count(sessions.length, "session")}`);
  if (tokens.length > 0) whom.push(count(tokens.length, "token"));
  const from = (used) => [...new Set(used.map(({ ip }) => ip ?? "an unknown address"))].join(", ");
  const lines = await Promise.all([...people].slice(0, LISTED).map(async ([id, own]) =>
    element("li", element("b", await nameOf(id)), ` from ${from(own)}`)));
  for (const { id, kind, ip } of tokens.slice(0, LISTED)) {
    const what = kind === "SCIM" ? "SCIM token" : "Personal access token";
    lines.push(element("li", `${what} `, element("code", id), ` from ${ip ?? "an unknown address"}`));
  }
  const more = people.size + tokens.length - lines.length;
  if (more > 0) lines.push(element("li", `and ${more} more`));
  return [
    element("p", element("b", `${whom.join(" and ")} would be blocked`), ", based on the address that each used last in the past 30 days:"),
    element("ul", ...lines),
  ];
}

/** Adds the saved ranges to these settings, without the range `but`. */
async function withRanges(settings, but) {
  const { rules } = await mine("GET", path);
  return { ...settings, rules: rules.map((rule) => rule.cidr).filter((cidr) => cidr !== but) };
}

/** Runs `work`. If it would block the caller, asks for confirmation. Returns whether `work` succeeded without it. */
async function acknowledged(work, after) {
  try {
    await work(false);
    return true;
  } catch (error) {
    if (error.reason !== "CALLER_NOT_COVERED") throw error;
    sure(
      "Block your own address?",
      "No range contains your address. Your next request would be refused, and only an administrator at an allowed address or the server operator could undo the change.",
      "Continue anyway",
      () => work(true),
      after,
    );
    return false;
  }
}

const policy = policyForm({
  path,
  body,
  impact: (settings) => withRanges(settings),
  describe,
  save: async (settings) => {
    const done = await acknowledged((known) =>
      ask("PUT", path, known ? { ...settings, acknowledge: ["CALLER_NOT_COVERED"] } : settings), () => policy.reset());
    if (done) say("Policy saved.");
    return done;
  },
});

// Ranges.

/** Reloads the list of ranges without resetting the policy form. */
async function ranges() {
  await refresh(["rules"]);
  policy.changed();
}

onAct("add-rule", async () => {
  open("add-rule");
});

document.addEventListener("click", (event) => {
  const own = event.target.closest("[data-own]");
  const field = $("#rule-cidr");
  if (own) field.value = [...linesOf(field.value).filter((line) => line !== own.dataset.own), own.dataset.own].join("\n");
});

const linesOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** Reads a line: a range, and optionally its own label. */
function ruleOf(line, label) {
  const [cidr, ...own] = line.split(/\s+/);
  return { cidr, label: own.join(" ") || label };
}

/** Adds ranges with one step-up, all of them or none. Errors name the line. */
async function addRules(rules) {
  if (rules.length === 1) return ask("POST", `${path}/rules`, rules[0]);
  try {
    return await ask("POST", `${path}/rules/batch`, { rules });
  } catch (error) {
    if (error.field !== "rules" || error.index === undefined) throw error;
    throw Object.assign(error, { field: "cidr", message: `${rules[error.index].cidr}: ${error.message}` });
  }
}

onSend("add-rule", async (given, dialog) => {
  const rules = linesOf(given.get("cidr")).map((line) => ruleOf(line, given.get("label")));
  await addRules(rules);
  dialog.closest("dialog").close();
  await ranges();
  say(rules.length === 1 ? "Range added." : `${count(rules.length, "range")} added.`);
});

let chosen;

onAct("rename-rule", async (button) => {
  chosen = of(button);
  $("[name=label]", open("rename")).value = chosen.name;
});

onSend("rename", async (given, dialog) => {
  await doing(() => ask("PATCH", `${path}/rules/${chosen.id}`, { label: given.get("label") }));
  dialog.closest("dialog").close();
  await ranges();
});

onAct("remove-rule", async (button) => {
  const { id, name, cidr } = of(button);
  const { mode, enforcement, adminBypass } = await mine("GET", path);
  const impact = await mine("POST", `${path}/impact`, await withRanges({ mode, enforcement, adminBypass }, cidr));
  const consequence = mode === "OFF" ? [element("p", "The policy is off, so this blocks no one.")] : await describe(impact);
  const remove = (known) => ask("DELETE", `${path}/rules/${id}${known ? "?acknowledge=CALLER_NOT_COVERED" : ""}`);
  sure(`Remove ${name}, ${cidr}?`, consequence, "Remove", () => acknowledged(remove, ranges), ranges);
});

// Address test.

const why = {
  MODE_OFF: "The policy is off.",
  SURFACE_NOT_ENFORCED: "The policy does not apply to this kind of access.",
  ADMIN_BYPASS: "Administrators are allowed from any address.",
  NO_RULE_MATCH: "No range includes this address.",
};

onSend("test", async (given, test) => {
  const asked = { ip: given.get("ip").trim(), surface: given.get("surface"), asAdmin: given.has("asAdmin") };
  const place = $("[data-decision]", test);
  place.hidden = true;
  const { decision, reason, matchedRule } = await mine("POST", `${path}/test`, asked);
  const badge = element("span", decision === "ALLOW" ? "allowed" : "blocked");
  badge.className = `badge ${decision === "ALLOW" ? "good" : "bad"}`;
  place.replaceChildren(badge, " ", ...(matchedRule ? ["Matches the range ", element("b", matchedRule.label), ", ", element("code", matchedRule.cidr), "."] : [why[reason]]));
  place.hidden = false;
});

keepAlive();
