// Texts and row parts that the webhook pages share.

import { classed } from "./elements.js";
import { count, element } from "./page.js";

export const path = "/api/settings/webhooks";

/** Returns the state of a webhook, and if it is not on, an explanation. */
export function state({ enabled, disabledReason }) {
  if (enabled) return { name: "on", kind: "good" };
  const rest = "New events are not delivered, and pending deliveries wait.";
  if (disabledReason === "GONE") {
    return { name: "disabled", kind: "bad", why: `The receiver responded with 410 Gone, so deliveries stopped. ${rest} Resume the webhook when its URL accepts events again.` };
  }
  if (disabledReason === "FAILING") {
    return { name: "disabled", kind: "bad", why: `No delivery succeeded for five days. ${rest} Send a test, and resume the webhook when the receiver accepts it.` };
  }
  return { name: "paused", kind: "", why: `${rest} Resume the webhook to send them, then replay the events that it missed.` };
}

/** Returns the state of a webhook by the outcome of its attempts in the last 24 hours. */
export function health(hook, { succeeded, failed }) {
  if (!hook.enabled || failed + succeeded === 0) return state(hook);
  if (failed === 0) return { name: "healthy", kind: "good" };
  return succeeded === 0 ? { name: "failing", kind: "bad" } : { name: "some failures", kind: "soon" };
}

const failures = {
  TIMEOUT: "no complete response within 15 seconds",
  CONNECT: "the connection failed, or the receiver does not speak HTTP",
  TLS: "the certificate is not trusted, or TLS failed",
  BLOCKED: "deliveries to this address are not allowed",
  EVENT_DROPPED: "the event has expired",
};

/** Describes the outcome of an attempt. */
export function outcome({ httpStatus, error }) {
  if (error) return failures[error] ?? error;
  if (httpStatus >= 300 && httpStatus < 400) return `HTTP ${httpStatus}: redirects are not followed`;
  return httpStatus === undefined || httpStatus === null ? "" : `HTTP ${httpStatus}`;
}

export const isSuccess = (status) => status >= 200 && status < 300;

/** Formats a duration. */
export const took = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toLocaleString("en", { maximumFractionDigits: 1 })} s`);

/** Summarizes the filters of a webhook: the first few, and how many more. */
export function filterSummary(filters) {
  if (filters.includes("*")) return ["All events"];
  const shown = filters.slice(0, 3).flatMap((filter) => [", ", element("code", filter)]).slice(1);
  return filters.length > 3 ? [...shown, ` and ${filters.length - 3} more`] : shown;
}

/** Describes how many attempts succeeded and failed. */
export function went({ succeeded, failed }) {
  if (succeeded + failed === 0) return "No attempts";
  const some = [];
  if (succeeded > 0) some.push(`${succeeded.toLocaleString("en")} succeeded`);
  if (failed > 0) some.push(`${failed.toLocaleString("en")} failed`);
  return some.join(", ");
}

/** Adds up the attempts of these hours. */
export const sum = (hours) => ({
  succeeded: hours.reduce((all, hour) => all + hour.succeeded, 0),
  failed: hours.reduce((all, hour) => all + hour.failed, 0),
});

/** Renders the warnings about filters that match nothing. */
export function warned(warnings = []) {
  if (warnings.length === 0) return [];
  const lines = warnings.map((text) => element("li", text.replace(/^[A-Za-z]+: /, "")));
  return [classed("div", "note", element("p", element("b", count(lines.length, "pattern")), " may be wrong:"), element("ul", ...lines))];
}
