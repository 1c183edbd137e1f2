// The form of a policy: what a change would do is said before it is saved.

import { refresh } from "./drawn.js";
import { $, $$, clear, onAct, onSend, refuse } from "./page.js";
import { mine } from "./session.js";

/**
 * Brings the form to life: `body()` is what it says, `impact()` what is asked about that, of `path` and `/impact`;
 * `describe(impact)` draws the answer, and `save(body)` keeps it, and answers whether that was done.
 */
export function policyForm({ path, body, impact, describe, save }) {
  const form = $('[data-form="policy"]');
  const place = $("[data-impact]", form);
  const buttons = [$("[data-save]", form), $('[data-act="undo"]', form)];
  let kept;
  let turn = 0;
  let timer;

  const isChanged = () => JSON.stringify(body()) !== kept;

  const look = async () => {
    clearTimeout(timer);
    const own = (turn += 1);
    const changed = isChanged();
    // Not `disabled`: whoever has just pressed one stays where they are.
    for (const button of buttons) button.setAttribute("aria-disabled", String(!changed));
    if (!changed) {
      place.hidden = true;
      return;
    }
    try {
      const drawn = await describe(await mine("POST", `${path}/impact`, await impact(body())));
      if (own !== turn) return;
      clear(form);
      place.replaceChildren(...drawn);
      place.hidden = false;
    } catch (error) {
      if (own !== turn) return;
      place.hidden = true;
      refuse(form, error);
    }
  };

  /** What the server has drawn is what is kept. */
  const settle = () => {
    kept = JSON.stringify(body());
    return look();
  };

  /** After a change of the form, or of what stands outside of it. */
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 120);
  };

  /** Shows what is kept now in the place of what was changed. */
  const anew = async () => {
    if (await refresh()) await settle();
  };

  form.addEventListener("change", changed);
  onSend("policy", async () => {
    if (!isChanged()) return;
    // Nothing is changed meanwhile, here or in what belongs to it elsewhere on the page.
    const fields = [...$$("fieldset", form), ...$$("[data-of-policy]")];
    const wanted = body();
    for (const field of fields) field.inert = true;
    try {
      if (await save(wanted)) await anew();
    } finally {
      for (const field of fields) field.inert = false;
    }
  });
  onAct("undo", async () => {
    if (isChanged()) await anew();
  });
  settle();
  return { changed, anew };
}
