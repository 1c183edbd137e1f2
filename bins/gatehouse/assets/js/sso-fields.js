// Fields that the forms of SSO connections share.

import { Refusal } from "./api.js";
import { $ } from "./page.js";

export const form = $('[data-form="provider"]');
export const fields = form.elements;

/** Splits text into its non-empty parts. */
export const listed = (text, between) => text.split(between).map((one) => one.trim()).filter(Boolean);

/** Opens the section that contains this field. */
function reveal(name) {
  const section = $(`[name="${name}"]`, form)?.closest("details");
  if (section) section.open = true;
}

/** Creates the error of an invalid field. */
export function invalid(name, what) {
  reveal(name);
  return new Refusal(400, { error: `${name}: ${what}` });
}

/** Throws if the field is empty. */
export function missing(name, what) {
  if (!fields[name].value.trim()) throw invalid(name, what);
}

/** Returns the name and the domains of the request body. */
export function identity() {
  missing("name", "enter a name");
  missing("emailDomains", "enter at least one domain");
  return { name: fields.name.value.trim(), emailDomains: listed(fields.emailDomains.value, /[\s,;]+/) };
}

/** Fills the fields of name and domains. */
export function fillIdentity({ name, emailDomains }) {
  fields.name.value = name;
  fields.emailDomains.value = emailDomains.join(", ");
}

/** Adds the value, if the error is about one of several values, and opens the section of the field. */
export function named(error, values) {
  const what = error.index === undefined ? undefined : values[error.field]?.(error.index);
  if (what) error.message = `${what}: ${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`;
  if (error.field) reveal(error.field);
  return error;
}

/** Returns the current values of the form, to detect changes. */
export const written = () => JSON.stringify([...new FormData(form)].filter(([, value]) => typeof value === "string"));
