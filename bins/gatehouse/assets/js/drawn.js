// Server-rendered pages, which are rendered again after a change.

import { $, $$, localise, onSend, open, say } from "./page.js";

/** The HTML of the parts as last received. */
const drawnAs = new WeakMap();

/**
 * Replaces all parts of the page, or only these, with the server's current rendering, and keeps the focus. With
 * `keepsUnchanged`, parts that the server renders as before stay, with the selection in them. Never throws; returns whether it succeeded.
 */
export async function refresh(parts, keepsUnchanged = false) {
  const held = document.activeElement?.closest("[data-act]");
  const row = held?.closest("[data-id]")?.dataset.id;
  try {
    const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.redirected) {
      location.assign(answer.url);
      return false;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of $$("[data-part]")) {
      if (parts && !parts.includes(part.dataset.part)) continue;
      const replacement = $(`[data-part="${part.dataset.part}"]`, drawn);
      if (!replacement || (keepsUnchanged && drawnAs.get(part) === replacement.innerHTML)) continue;
      drawnAs.set(part, replacement.innerHTML);
      part.replaceChildren(...replacement.childNodes);
    }
    localise();
  } catch {
    say("This page could not be refreshed. Reload it to see the current state.");
    return false;
  }
  if (held && !held.isConnected && document.activeElement === document.body) {
    const act = `[data-act="${held.dataset.act}"]`;
    ($(`[data-id="${row}"] ${act}`) ?? (row ? undefined : $(act)) ?? $("h1")).focus();
  }
  return true;
}

/** Returns the data of the row that contains the button. */
export const of = (button) => button.closest("[data-id]").dataset;

/** Runs `work`. If the object was removed meanwhile, shows a message instead of an error. */
export async function doing(work) {
  try {
    await work();
  } catch (error) {
    if (error.status !== 404) throw error;
    say("It was already removed.");
  }
}

let agreed;

/** Opens the confirmation dialog. After confirmation runs `work`, then `after`. */
export function sure(question, consequence, yes, work, after = refresh) {
  const dialog = open("sure");
  $("[data-question]", dialog).textContent = question;
  $("[data-consequence]", dialog).replaceChildren(...[consequence].flat());
  $("[data-yes]", dialog).textContent = yes;
  agreed = { work, after };
}

onSend("sure", async (_, form) => {
  const now = agreed;
  await doing(now.work);
  if (agreed !== now) return;
  form.closest("dialog").close();
  await now.after();
});
