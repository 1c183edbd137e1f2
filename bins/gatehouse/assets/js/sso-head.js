// One identity provider: what it is now, and what is wrong with it.

import { $, localise, refuse } from "./page.js";
import { mine } from "./session.js";
import { path, trouble, warned } from "./sso-words.js";

const part = $('[data-part="head"]');

export const { id } = part.dataset;

/** Where the API has it. */
export const own = `${path}/${id}`;

/** What it is now. */
export let provider;

const listeners = [];

/** Runs `listener` with the provider whenever it is known anew. */
export function onProvider(listener) {
  listeners.push(listener);
}

/** Shows what it is now. */
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

/** Asks the API what it is now. Where it was removed meanwhile, the page of that takes the place of this one. */
export async function load() {
  try {
    show(await mine("GET", own));
  } catch (error) {
    if (error.status === 404) location.reload();
    else refuse(part, error, true);
  }
}
