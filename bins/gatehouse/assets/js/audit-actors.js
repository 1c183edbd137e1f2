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

/** Says which actor the field names. */
function explain() {
  const id = ids.get(field.value.trim().toLowerCase());
  hint.textContent = id ? `${names.get(id)}, ${id}` : "";
  hint.hidden = !id;
}

/** Learns the names of these actors, by ID, and offers them in the field. */
export function offerActors(actors) {
  for (const [id, name] of actors) learn(id, name, id);
  list.replaceChildren(...[...names].map(([id, name]) => (ids.get(name.toLowerCase()) ? new Option(id, name) : new Option(name, id))));
  explain();
}

/** Returns the ID of the actor with this name, email address or ID. Returns the text if no actor or several have it. */
export async function actorId(text) {
  if (/^[a-z]{3}_/.test(text) || text === "") return text;
  const name = text.toLowerCase();
  if (!ids.has(name)) {
    try {
      const { users } = await mine("GET", `/api/settings/users?${new URLSearchParams({ q: text, limit: 8 })}`);
      for (const { id, userName, email, displayName } of users) learn(id, displayName, email, userName, id);
    } catch (error) {
      // The search itself tells of a session that ended. Somebody who may not see users searches by ID.
      if (![403, 429, 503].includes(error.status)) throw error;
    }
    offerActors([]);
  }
  return ids.get(name) ?? text;
}
