// What the pages of webhooks say, and what their rows are made of.

import { classed } from "./elements.js";
import { count, element } from "./page.js";

export const path = "/api/settings/webhooks";

/** How a webhook stands: in a word, and what that means where it is not told of anything. */
export function state({ enabled, disabledReason }) {
  if (enabled) return { name: "on", kind: "good" };
  const rest = "New events are not delivered, and pending deliveries wait.";
  if (disabledReason === "GONE") {
    return { name: "disabled automatically", kind: "bad", why: `The receiver answered 410 Gone. ${rest} Resume the webhook when the receiver is back.` };
  }
  if (disabledReason === "FAILING") {
    return { name: "disabled automatically", kind: "bad", why: `No delivery succeeded for five days. ${rest} Send a test, and resume the webhook when the receiver works.` };
  }
  return { name: "paused", kind: "", why: `${rest} After you resume it, you can replay the events of the pause.` };
}

const failures = {
  TIMEOUT: "no complete response within 15 seconds",
  CONNECT: "no HTTP server answered",
  TLS: "TLS failed, or the certificate is not trusted",
  BLOCKED: "deliveries to this address are not allowed",
  EVENT_DROPPED: "the event is no longer stored",
};

/** What came of an attempt, in words. */
export function outcome({ httpStatus, error }) {
  if (error) return failures[error] ?? error;
  if (httpStatus >= 300 && httpStatus < 400) return `HTTP ${httpStatus}: redirects are not followed`;
  return httpStatus === undefined || httpStatus === null ? "" : `HTTP ${httpStatus}`;
}

export const isSuccess = (status) => status >= 200 && status < 300;

/** How long something took. */
export const took = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toLocaleString("en", { maximumFractionDigits: 1 })} s`);

/** What a webhook is told of: the first few filters, and how many more. */
export function told(filters) {
  if (filters.includes("*")) return ["All events"];
  const shown = filters.slice(0, 3).flatMap((filter) => [", ", element("code", filter)]).slice(1);
  return filters.length > 3 ? [...shown, ` and ${filters.length - 3} more`] : shown;
}

/** How many attempts went well and how many did not. */
export function went({ succeeded, failed }) {
  if (succeeded + failed === 0) return "No deliveries";
  const some = [];
  if (succeeded > 0) some.push(`${succeeded.toLocaleString("en")} succeeded`);
  if (failed > 0) some.push(`${failed.toLocaleString("en")} failed`);
  return some.join(", ");
}

/** All attempts of these hours. */
export const sum = (hours) => ({
  succeeded: hours.reduce((all, hour) => all + hour.succeeded, 0),
  failed: hours.reduce((all, hour) => all + hour.failed, 0),
});

/** What may not be meant, as it is shown. */
export function warned(warnings = []) {
  if (warnings.length === 0) return [];
  const lines = warnings.map((text) => element("li", text.replace(/^[A-Za-z]+: /, "")));
  return [classed("div", "note", element("p", element("b", count(lines.length, "pattern")), " may be a mistake:"), element("ul", ...lines))];
}
