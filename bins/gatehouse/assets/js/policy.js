// A policy form that previews the impact of a change before it is saved.

import { refresh } from "./drawn.js";
import { $, $$, clear, onAct, onSend, refuse } from "./page.js";
import { mine } from "./session.js";
import { watchChanges } from "./unsaved.js";

/**
 * Activates the policy form. `body()` reads the fields, `impact(body)` builds the body of the request to `path` + `/impact`,
 * `describe(response)` renders the preview, and `save(body)` saves the policy and returns whether it was saved.
 */
export function policyForm({ path, body, impact, describe, save }) {
  const form = $('[data-form="policy"]');
  const place = $("[data-impact]", form);
  let kept;
  let turn = 0;
  let timer;

  const isChanged = () => kept !== undefined && JSON.stringify(body()) !== kept;
  const mark = watchChanges(form, isChanged);

  /** Shows the preview of the fields. The preview is busy while a newer one is loaded. */
  const look = async () => {
    clearTimeout(timer);
    const own = (turn += 1);
    const show = (drawn) => {
      place.replaceChildren(...drawn);
      place.hidden = drawn.length === 0;
      place.ariaBusy = "false";
    };
    if (!mark()) return show([]);
    place.ariaBusy = "true";
    try {
      const drawn = await describe(await mine("POST", `${path}/impact`, await impact(body())));
      if (own !== turn) return;
      clear(form);
      show(drawn);
    } catch (error) {
      if (own !== turn) return;
      show([]);
      refuse(form, error);
    }
  };

  /** Takes the rendered fields as the saved policy. */
  const settle = () => {
    kept = JSON.stringify(body());
    return look();
  };

  /** Updates the preview after a change of the form, or of inputs outside it. */
  const changed = () => {
    clearTimeout(timer);
    place.ariaBusy = "true";
    timer = setTimeout(look, 120);
  };

  /** Replaces the edited fields with the saved policy. */
  const reset = async () => {
    if (await refresh()) await settle();
  };

  form.addEventListener("change", changed);
  onSend("policy", async () => {
    if (!isChanged()) return;
    // The inputs are inert while the policy is saved, including those outside the form.
    const fields = [...$$("fieldset", form), ...$$("[data-of-policy]")];
    const wanted = body();
    for (const field of fields) field.inert = true;
    try {
      if (await save(wanted)) await reset();
    } finally {
      for (const field of fields) field.inert = false;
    }
  });
  onAct("undo", async () => {
    if (isChanged()) await reset();
  });
  settle();
  return { changed, reset };
}
