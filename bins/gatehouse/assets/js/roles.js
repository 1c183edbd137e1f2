// Roles, and rules that give them to groups.

import { of, refresh, sure } from "./drawn.js";
import { $, $$, count, element, onAct, onSend, open, say } from "./page.js";
import { ask, keepAlive, mine } from "./session.js";

const roles = "/api/settings/roles";
const rules = "/api/settings/role-rules";

/** The role or rule that the open dialog changes; undefined for a new one. */
let edited;

// Roles.

function openRole(role) {
  edited = role?.id;
  const form = $("form", open("role"));
  form.reset();
  $("[data-title]", form).textContent = role ? `Edit ${role.name}` : "Add role";
  form.elements.name.value = role?.name ?? "";
  form.elements.description.value = role?.about ?? "";
  const chosen = new Set(role?.permissions.split(" "));
  for (const box of $$("[name=permissions]", form)) box.checked = chosen.has(box.value);
}

onAct("add-role", async () => openRole());
onAct("edit-role", async (button) => openRole(of(button)));

onSend("role", async (given, form) => {
  const body = {
    name: given.get("name"),
    description: given.get("description").trim() || null,
    permissions: given.getAll("permissions"),
  };
  if (edited) await ask("PUT", `${roles}/${edited}`, body);
  else await ask("POST", roles, body);
  form.closest("dialog").close();
  location.reload();
});

onAct("delete-role", async (button) => {
  const { id, name } = of(button);
  sure(`Delete ${name}?`, "No user and no rule may have the role.", "Delete", () => ask("DELETE", `${roles}/${id}`), () => location.reload());
});

// Rules.

/** Maximum number of users that a preview names. */
const NAMED = 8;

const ruleForm = $('[data-form="rule"]');

/** Returns the rule in the form. */
function ruleOf(given) {
  const [source, role] = [given.get("source"), given.get("role")];
  if (source.startsWith("grp_")) return { groupId: source, role };
  return { providerId: source, value: given.get("value").trim(), role };
}

/** Describes users who gain or lose a role. */
function describe({ count: number, users }, verb) {
  if (number === 0) return element("p", `Nobody ${verb}s the role.`);
  const names = users.slice(0, NAMED).map((user) => user.displayName || user.userName);
  const more = number - names.length;
  if (more > 0) names.push(`${more} more`);
  const people = count(number, "user");
  return element("p", element("b", `${people} ${number === 1 ? `${verb}s` : verb} the role: `), names.join(", "));
}

/** Returns the description of what a change of the rules would do. */
async function effectOf(change) {
  const { gain, lose } = await mine("POST", `${rules}/preview`, change);
  return [change.rule && describe(gain, "gain"), change.replaces && describe(lose, "lose")].filter(Boolean);
}

let latest = 0;

/** Shows the effect of the rule in the form. */
async function preview() {
  const rule = ruleOf(new FormData(ruleForm));
  $("[data-value]", ruleForm).hidden = Boolean(rule.groupId);
  const place = $("[data-effect]", ruleForm);
  const own = ++latest;
  if (!rule.groupId && !rule.value) return place.replaceChildren();
  try {
    const effect = await effectOf({ rule, replaces: edited });
    if (own === latest) place.replaceChildren(...effect);
  } catch (error) {
    if (own === latest) place.replaceChildren(element("p", error.message));
  }
}

ruleForm.addEventListener("change", preview);

function openRule({ id, group, provider, value, role } = {}) {
  edited = id;
  open("rule");
  ruleForm.reset();
  $("[data-title]", ruleForm).textContent = id ? "Edit rule" : "Add rule";
  const { source, value: text, role: chosen } = ruleForm.elements;
  if (group || provider) source.value = group || provider;
  text.value = value ?? "";
  if (role) chosen.value = role;
  preview();
}

onAct("add-rule", async () => openRule());
onAct("edit-rule", async (button) => openRule(of(button)));

onSend("rule", async (given, form) => {
  const body = ruleOf(given);
  if (edited) await ask("PUT", `${rules}/${edited}`, body);
  else await ask("POST", rules, body);
  form.closest("dialog").close();
  await refresh(["rules"]);
  say("Rule saved. It is in force now.");
});

onAct("delete-rule", async (button) => {
  const { id, name } = of(button);
  const effect = await effectOf({ replaces: id });
  sure(`Delete the rule for ${name}?`, effect, "Delete", () => ask("DELETE", `${rules}/${id}`), async () => {
    await refresh(["rules"]);
    say("Rule deleted.");
  });
});

// The page Groups leads here with a group.
const wanted = new URLSearchParams(location.search).get("group");
if (wanted && [...ruleForm.elements.source.options].some((option) => option.value === wanted)) openRule({ group: wanted });

keepAlive();
