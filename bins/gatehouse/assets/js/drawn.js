// Pages that the server draws, and draws anew after a change.

import { $, $$, localise, onSend, open, say } from "./page.js";

/**
 * Puts what the server draws now in the place of what is shown, or of these parts, and the focus where it was. Never
 * fails, and answers whether it was done.
 */
export async function refresh(parts) {
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
      const anew = $(`[data-part="${part.dataset.part}"]`, drawn);
      if (anew) part.replaceChildren(...anew.childNodes);
    }
    localise();
  } catch {
    say("This page cannot be brought up to date. Load it again to see what is so now.");
    return false;
  }
  if (held && !held.isConnected) {
    const act = `[data-act="${held.dataset.act}"]`;
    ($(`[data-id="${row}"] ${act}`) ?? (row ? undefined : $(act)) ?? $("h1")).focus();
  }
  return true;
}

/** What is known of the row that a button is in. */
export const of = (button) => button.closest("[data-id]").dataset;

/** Does something to what is shown, which may be gone since. */
export async function doing(work) {
  try {
    await work();
  } catch (error) {
    if (error.status !== 404) throw error;
    say("It was gone already.");
  }
}

let agreed;

/** Asks whether something is to be done, does it, and shows what is so afterwards. */
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
