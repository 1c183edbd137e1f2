// Forms that change settings: their buttons, and the question before unsaved changes are lost.

import { $ } from "./page.js";

let isDiscarded = false;

/** Lets the page be left without a question, because its session has ended or is another one. */
export function discardUnsaved() {
  isDiscarded = true;
}

/** Makes the present values of a form those to which `reset()` returns. */
export function keepValues(form) {
  for (const field of form.elements) {
    if ("defaultChecked" in field) field.defaultChecked = field.checked;
    if ("defaultValue" in field) field.defaultValue = field.value;
    for (const option of field.options ?? []) option.defaultSelected = option.selected;
  }
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
