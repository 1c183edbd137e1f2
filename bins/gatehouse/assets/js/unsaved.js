// Forms that change settings: their buttons, and the question before unsaved changes are lost.

import { $, onAct, onSend, say } from "./page.js";

let isDiscarded = false;

/** Lets the page be left without a question, because its session has ended or is another one. */
export function discardUnsaved() {
  isDiscarded = true;
}

/**
 * Marks the form while `isChanged()`, and lets the browser ask before the page is left then. Returns a function to call
 * after each change of the form; it returns whether the form is changed.
 */
export function watchChanges(form, isChanged) {
  const buttons = [$("[data-save]", form), $('[data-act="undo"]', form)];
  const mark = $("[data-unsaved]", form);
  window.addEventListener("beforeunload", (event) => {
    if (!isDiscarded && isChanged()) event.preventDefault();
  });
  return () => {
    const changed = isChanged();
    // `aria-disabled` instead of `disabled`, so that a button that was just pressed keeps the focus.
    for (const button of buttons) button.setAttribute("aria-disabled", String(!changed));
    mark.hidden = !changed;
    return changed;
  };
}

/** Makes the present values of a form those to which `reset()` returns. */
function keepValues(form) {
  for (const field of form.elements) {
    if ("defaultChecked" in field) field.defaultChecked = field.checked;
    if ("defaultValue" in field) field.defaultValue = field.value;
    for (const option of field.options ?? []) option.defaultSelected = option.selected;
  }
}

/**
 * Runs a form that changes settings: `show` draws what depends on its fields, `save` sends them. The form is sent only if it is
 * changed, and the button "undo" returns to the saved values.
 */
export function settingsForm(form, show, save) {
  const written = () => JSON.stringify([...new FormData(form)]);
  let before = written();
  const isChanged = () => written() !== before;
  const look = watchChanges(form, isChanged);
  const draw = () => {
    show();
    look();
  };
  form.addEventListener("input", draw);
  form.addEventListener("change", draw);
  onSend(form.dataset.form, async () => {
    if (!isChanged()) return;
    await save();
    keepValues(form);
    before = written();
    draw();
    say("Saved.");
  });
  onAct("undo", async () => {
    form.reset();
    draw();
  });
  draw();
}
