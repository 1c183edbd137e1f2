// The header of the pages of an SSO connection: its state and warnings.

import { $, localise, refuse } from "./page.js";
import { mine } from "./session.js";
import { path, trouble, warned } from "./sso-words.js";

const part = $('[data-part="head"]');

export const { id } = part.dataset;

/** The connection's API path. */
export const own = `${path}/${id}`;

/** The connection, as last received. */
export let provider;

const listeners = [];

/** Runs `listener` whenever the connection is received. */
export function onProvider(listener) {
  listeners.push(listener);
}

/** Shows this state of the connection. */
export function show(now) {
  provider = now;
  document.title = `${now.name} · Gatehouse`;
  $("[data-name]", part).textContent = now.name;
  $("[data-entity]", part).textContent = now.entityId;
  $("[data-state]", part).replaceChildren(...[trouble(now)].filter(Boolean));
  $("[data-warnings]", part).replaceChildren(...warned(now.warnings));
  for (const listener of listeners) listener(now);
  localise();
}

/** Loads the connection. If it was removed, reloads the page, which then is a 404 page. */
export async function load() {
  try {
    show(await mine("GET", own));
  } catch (error) {
    if (error.status === 404) location.reload();
    else refuse(part, error, true);
  }
}
