// The form of a policy: what a change would do is said before it is saved.

import { refresh } from "./drawn.js";
import { $, clear, onAct, onSend, refuse } from "./page.js";
import { mine } from "./session.js";

/** An element with this text or these elements in it. */
export function element(name, ...within) {
  const made = document.createElement(name);
  made.append(...within);
  return made;
}

/** So many of something, in words. */
export const count = (number, one, more = `${one}s`) => `${number} ${number === 1 ? one : more}`;

/**
 * Brings the form to life: `body()` is what it says, `impact()` what is asked about that, of `path` and `/impact`;
 * `describe(impact)` draws the answer, and `save(body)` keeps it, and answers whether that was done.
 */
export function policyForm({ path, body, impact, describe, save }) {
  const form = $('[data-form="policy"]');
  const place = $("[data-impact]", form);
  let kept;
  let turn = 0;
  let timer;

  const look = async () => {
    const changed = JSON.stringify(body()) !== kept;
    for (const button of [$("[data-save]", form), $('[data-act="undo"]', form)]) button.disabled = !changed;
    const mineNow = (turn += 1);
    if (!changed) {
      place.hidden = true;
      return;
    }
    try {
      const drawn = await describe(await mine("POST", `${path}/impact`, await impact(body())));
      if (mineNow !== turn) return;
      clear(form);
      place.replaceChildren(...drawn);
      place.hidden = false;
    } catch (error) {
      if (mineNow !== turn) return;
      place.hidden = true;
      refuse(form, error);
    }
  };

  const settle = () => {
    kept = JSON.stringify(body());
    return look();
  };

  /** After a change of the form, or of what stands outside of it. */
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 120);
  };

  form.addEventListener("change", changed);
  onSend("policy", async () => {
    if (!(await save(body()))) return;
    await refresh();
    await settle();
  });
  onAct("undo", async () => {
    await refresh();
    await settle();
  });
  settle();
  return { changed, settle };
}
