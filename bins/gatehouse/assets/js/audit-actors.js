// The actor field of the search: names of users, which the API filters by ID.

import { $ } from "./page.js";
import { mine } from "./session.js";

const field = $("#seek-who");
const list = $("#people");
const hint = $("[data-who]");

/** IDs by lower-case name; `null` for a name that several actors have. */
const ids = new Map();
/** Names by ID. */
const names = new Map();

function learn(id, ...known) {
  const all = known.filter(Boolean);
  if (all.length > 0 && !names.has(id)) names.set(id, all[0]);
  for (const name of all.map((one) => one.toLowerCase())) {
    ids.set(name, ids.has(name) && ids.get(name) !== id ? null : id);
  }
}

/** Says who the actor with the ID in the field is. */
function explain() {
  const name = names.get(field.value.trim());
  hint.textContent = name ?? "";
  hint.hidden = !name;
}

/** Learns the names of these actors, by ID, and offers them in the field. */
export function offerActors(actors) {
  for (const [id, name] of actors) learn(id, name);
  list.replaceChildren(...[...names].map(([id, name]) => (ids.get(name.toLowerCase()) ? new Option(id, name) : new Option(name, id))));
  explain();
}

/** Returns the ID of the actor with this name, email address or ID. A name that nobody or several users have stays. */
export async function actorId(text) {
  if (/^[a-z]{3}_/.test(text) || text === "") return text;
  const name = text.toLowerCase();
  if (!ids.has(name)) {
    const { users } = await mine("GET", `/api/settings/users?${new URLSearchParams({ q: text, limit: 8 })}`);
    for (const { id, userName, email, displayName } of users) learn(id, displayName, email, userName);
    if (!ids.has(name) && users.length === 1) ids.set(name, users[0].id);
    offerActors([]);
  }
  return ids.get(name) ?? text;
}
