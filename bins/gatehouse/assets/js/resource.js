// The resource that a page is about, such as a webhook: loaded from the API, shown in the header and passed to listeners.

import { $, localise, refuse } from "./page.js";
import { mine } from "./session.js";

const part = $('[data-part="head"]');

/** Returns the functions of the resource with this API path. `draw` shows what only this kind of resource has. */
export function resource(own, draw) {
  const listeners = [];

  /** Shows this state of the resource. */
  function show(now) {
    document.title = `${now.name} · Gatehouse`;
    $("[data-name]", part).textContent = now.name;
    draw(now);
    for (const listener of listeners) listener(now);
    localise();
  }

  /** Runs `listener` whenever the resource is received. */
  function onChange(listener) {
    listeners.push(listener);
  }

  /** Loads the resource. If it was removed, reloads the page, which then shows the 404 error. */
  async function load() {
    try {
      show(await mine("GET", own));
    } catch (error) {
      if (error.status === 404) location.reload();
      else refuse(part, error, true);
    }
  }

  return { show, onChange, load };
}
