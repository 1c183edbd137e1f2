// SCIM tokens. While the page is visible, it shows requests of the directory as they arrive.

import { of, refresh, sure } from "./drawn.js";
import { $, count, onAct, onSend, open, say } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { guide } from "./sso-guide.js";
import { settingsForm } from "./unsaved.js";

const path = "/api/settings/scim-tokens";

/** Milliseconds between two looks at the requests of the directory. */
const PACE = 5000;

function askForToken(name, conflict, rotates) {
  const dialog = open("new-token");
  $("[name=dryRun]", dialog).checked = false;
  $("[data-rotates]", dialog).hidden = !rotates;
  $("[name=name]", dialog).value = name;
  $("[name=createConflict]", dialog).checked = conflict;
}

onAct("new-token", async () => askForToken("", true, false));

onAct("rotate-token", async (button) => {
  const { name, conflict } = of(button);
  askForToken(name, conflict === "true", true);
});

onSend("new-token", async (given, form) => {
  const { token } = await ask("POST", path, { name: given.get("name").trim(), createConflict: given.has("createConflict"), dryRun: given.has("dryRun") });
  form.closest("dialog").close();
  // Shown before the refresh, which may fail: the token cannot be shown again.
  $("[data-token]", open("made-token")).textContent = token;
  await refresh(["tokens", "dry-runs"]);
});

onSend("made-token", async (_, form) => {
  form.closest("dialog").close();
});

document.getElementById("made-token").addEventListener("close", () => { $("[data-token]").textContent = ""; });

onAct("revoke-token", async (button) => {
  const { id, name } = of(button);
  sure(`Revoke ${name}?`, "The directory that uses this token can no longer change users and groups. Existing users stay.", "Revoke", () =>
    ask("DELETE", `${path}/${id}`), () => refresh(["removals", "tokens", "dry-runs"]));
});

// Removals that wait for a decision.

const decided = ["removals", "tokens", "changes"];

/** Refreshes the lists and shows what happened. Not before the dialog is closed, which would hide the message. */
async function report(text) {
  await refresh(decided);
  say(text);
}

onAct("remove-users", async (button) => {
  const { id, name, total, until } = of(button);
  let answer;
  const remove = async () => { answer = await ask("POST", `${path}/${id}/removals/apply`, { until }); };
  const said = () => {
    const stay = answer.kept ? ` ${count(answer.kept, "user stays", "users stay")}: administrators, users with permissions that you lack, and you.` : "";
    return report(`Removed ${count(answer.removed, "user")}.${stay}`);
  };
  sure(`Remove ${count(Number(total), "user")}?`, `The users lose access as ${name} asked: some are deactivated, others deleted. Administrators stay.`, "Remove users", remove, said);
});

onAct("keep-users", async (button) => {
  const { id, name, total } = of(button);
  const keep = () => ask("POST", `${path}/${id}/removals/discard`);
  sure(`Keep ${count(Number(total), "user")}?`, `The users stay as they are, and ${name} can remove users again up to the limit.`, "Keep users", keep, () => report("The users stay."));
});

// The limit.

const limit = $('[data-form="limit"]');

settingsForm(limit, () => { $("[data-limit]", limit).hidden = !limit.elements.enabled.checked; }, () => {
  const { enabled, percent, users } = limit.elements;
  return ask("PUT", "/api/settings/removal-limit", { enabled: enabled.checked, percent: Number(percent.value), users: Number(users.value) });
});

/** Milliseconds before the next look after one that failed. */
const PAUSE = 15_000;

/** Shows new requests while nothing else happens on the page. */
async function watch() {
  const looks = !document.hidden && !$("dialog[open]");
  const went = !looks || (await refresh(["removals", "tokens", "dry-runs", "refusals", "changes"], true));
  setTimeout(watch, went ? PACE : PAUSE);
}

guide();
keepAlive();
setTimeout(watch, PACE);
