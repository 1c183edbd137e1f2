// What the pages of webhooks say, and what their rows are made of.

import { classed } from "./elements.js";
import { count, element } from "./page.js";

export const path = "/api/settings/webhooks";

/** How a webhook stands: in a word, and what that means where it is not told of anything. */
export function state({ enabled, disabledReason }) {
  if (enabled) return { name: "on", kind: "good" };
  const rest = "Nothing new is delivered to it, and what was to be delivered waits.";
  if (disabledReason === "GONE") {
    return { name: "disabled by us", kind: "bad", why: `The receiver answered 410 Gone, which says that it wants no more. ${rest} Resume it once the address is one that listens.` };
  }
  if (disabledReason === "FAILING") {
    return { name: "disabled by us", kind: "bad", why: `Nothing succeeded for five days. ${rest} Send a test, and resume it when the receiver answers.` };
  }
  return { name: "paused", kind: "", why: `${rest} What happens meanwhile can be replayed once it is resumed.` };
}

const failures = {
  TIMEOUT: "no whole answer within 15 seconds",
  CONNECT: "nobody listens there, or what listens does not speak HTTP",
  TLS: "the certificate is not one to be trusted, or TLS failed",
  BLOCKED: "this address is not one that deliveries go to",
  EVENT_DROPPED: "the event is not kept any more",
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
  if (filters.includes("*")) return ["Everything"];
  const shown = filters.slice(0, 3).flatMap((filter) => [", ", element("code", filter)]).slice(1);
  return filters.length > 3 ? [...shown, ` and ${filters.length - 3} more`] : shown;
}

/** How many attempts went well and how many did not. */
export function went({ succeeded, failed }) {
  if (succeeded + failed === 0) return "Nothing was sent";
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
  return [classed("div", "note", element("p", element("b", count(lines.length, "pattern")), " may not be what you mean:"), element("ul", ...lines))];
}
