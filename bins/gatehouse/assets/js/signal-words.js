// The states and problems of receivers of shared signals.

export const path = "/api/settings/signals/receivers";

const problems = {
  TIMEOUT: "The receiver did not respond in time.",
  CONNECT: "The receiver could not be reached, or does not speak HTTP.",
  TLS: "The certificate of the receiver is not trusted, or TLS failed.",
  BLOCKED: "Connections to this address are not allowed.",
  DATABASE: "Events could not be read from the database.",
  KEY: "The key that signs, or the header of the receiver, cannot be decrypted.",
};

/** Describes a problem. */
export function problemText({ code, status, error, description }) {
  const text = code === "REFUSED" ? `The receiver responded with HTTP ${status}.` : (problems[code] ?? code);
  const why = [error, description].filter(Boolean).join(": ");
  return why ? `${text} ${why}.` : text;
}

/** Returns the state of a receiver for its badge. */
export function state({ enabled, stream }) {
  if (!enabled) return { name: "disabled", kind: "" };
  if (!stream) return { name: "no stream yet", kind: "" };
  if (stream.status !== "enabled") return { name: stream.status, kind: "" };
  return stream.failingSince ? { name: "failing", kind: "bad" } : { name: "on", kind: "good" };
}

/** Returns the selected event types of a form. */
export const chosenTypes = (form) => [...form.querySelectorAll('[name="eventTypes"]:checked')].map((box) => box.value);
