// The states and settings of transmitters of shared signals.

import { $$ } from "./page.js";

export const path = "/api/settings/signals/transmitters";

/** Returns the state of a transmitter for its badge. */
export function state({ enabled, stream, keysProblem, receivedAt }) {
  if (!enabled) return { name: "disabled", kind: "" };
  if (keysProblem) return { name: "keys not readable", kind: "bad" };
  if (stream && stream.status !== "enabled") return { name: stream.status, kind: "bad" };
  return receivedAt ? { name: "on", kind: "good" } : { name: "no event yet", kind: "" };
}

/** Returns the consequences in a form. */
export const consequences = (form) =>
  Object.fromEntries($$("[data-consequence]", form).map((field) => [field.name, field.value]));
