// Texts and elements that the SSO pages share.

import { badge, classed } from "./elements.js";
import { element } from "./page.js";

export const path = "/api/settings/saml-providers";
export const domainsPath = "/api/settings/domains";

const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** Formats a time with its date. */
export const moment = (at) => whole.format(new Date(at));

/** Creates an element that shows a time relative to now. */
export const since = (at) => Object.assign(element("time"), { dateTime: at });

const states = {
  VALID: ["valid", "good"],
  EXPIRING: ["expires soon", "soon"],
  EXPIRED: ["expired", "bad"],
  NOT_YET_VALID: ["not valid yet", "soon"],
};

/** Creates a badge with the status of a certificate. */
export const stateOf = ({ status }) => badge(...(states[status] ?? [status.toLowerCase()]));

/** Describes the validity of a certificate. */
export function ends({ status, notBefore, notAfter }) {
  const [says, at] = status === "NOT_YET_VALID" ? ["Valid from", notBefore] : [status === "EXPIRED" ? "Expired on" : "Valid until", notAfter];
  return [`${says} ${day.format(new Date(at))}, `, since(at)];
}

/** Creates a badge if a connection needs attention. */
export function trouble({ certificates, metadata }) {
  const alive = certificates.filter(({ status }) => status === "VALID" || status === "EXPIRING");
  if (alive.length === 0) return badge("certificate expired", "bad");
  if (alive.every(({ status }) => status === "EXPIRING")) return badge("certificate expires soon", "soon");
  if (metadata?.failedAt) return badge("metadata refresh failed", "soon");
  return undefined;
}

/** Creates a badge with a domain and its status. */
export function domainBadge(domain, isVerified) {
  const made = classed("span", "domain", element("code", domain), " ", badge(isVerified ? "verified" : "not verified", isVerified ? "good" : "soon"));
  return made;
}

/** Creates the badges of a connection's domains. */
export const domainBadges = ({ emailDomains, verifiedDomains }) =>
  emailDomains.map((domain) => domainBadge(domain, verifiedDomains.includes(domain)));

// Replaces the names of JSON members in the server's warnings with the words of the pages.
const called = [
  [/^certificates\[([0-9]+)\]: /, (_, at) => `certificate ${Number(at) + 1} of the identity provider `],
  [/^serviceProvider\.certificates: the active certificate /, "our certificate "],
  [/^certificates: none /, "none of the identity provider's certificates "],
  [/^metadataUrl: |^metadata: /, "the identity provider's metadata "],
  [/^signInMode is [A-Z_]+: /, ""],
  [/^[A-Za-z.]+(\[[0-9]+\])?: /, ""],
  [/\bloginUrl\b/, "the sign-in URL of this connection"],
];

/** Converts a warning of the server to a sentence. */
export function sentence(text) {
  const said = called.reduce((so, [name, words]) => so.replace(name, words), text);
  // A domain name keeps its case.
  const first = /^[a-z]+(?![\w.-])/.test(said) ? said.charAt(0).toUpperCase() : said.charAt(0);
  return `${first}${said.slice(1)}${/[.!?]$/.test(said) ? "" : "."}`;
}

/** Creates the list of warnings. */
export function warned(warnings = []) {
  if (warnings.length === 0) return [];
  return [classed("div", "note", element("ul", ...warnings.map((text) => element("li", sentence(text)))))];
}

/** Describes where the identity provider's settings come from. */
export function sourceOf({ source, metadata }) {
  if (source === "FIELDS") return ["Entered manually. When the identity provider changes its certificate, enter the new one here."];
  if (source === "METADATA_XML") return ["From uploaded metadata. When the identity provider changes its certificate, upload new metadata."];
  const read = metadata?.readAt ? ["read ", since(metadata.readAt)] : ["never read"];
  const next = metadata?.nextAt ? [", next refresh ", since(metadata.nextAt)] : [];
  return ["From the metadata URL, ", ...read, ...next, "."];
}
