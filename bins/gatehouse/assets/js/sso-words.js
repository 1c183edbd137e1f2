// What the pages of single sign-on say, and what their rows are made of.

import { badge, classed } from "./elements.js";
import { element } from "./page.js";

export const path = "/api/settings/saml-providers";
export const domainsPath = "/api/settings/domains";

const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A time in full. */
export const moment = (at) => whole.format(new Date(at));

/** A time that the page shows as how long ago or ahead it is. */
export const since = (at) => Object.assign(element("time"), { dateTime: at });

const states = {
  VALID: ["valid", "good"],
  EXPIRING: ["expires soon", "soon"],
  EXPIRED: ["expired", "bad"],
  NOT_YET_VALID: ["not valid yet", "soon"],
};

/** How a certificate stands, in a word. */
export const stateOf = ({ status }) => badge(...(states[status] ?? [status.toLowerCase()]));

/** Until when a certificate is good, or since when it is not. */
export function ends({ status, notBefore, notAfter }) {
  const [says, at] = status === "NOT_YET_VALID" ? ["Valid from", notBefore] : [status === "EXPIRED" ? "Expired on" : "Valid until", notAfter];
  return [`${says} ${day.format(new Date(at))}, `, since(at)];
}

/** How a whole provider stands by its certificates: nothing, unless somebody has to do something. */
export function trouble({ certificates, metadata }) {
  const alive = certificates.filter(({ status }) => status === "VALID" || status === "EXPIRING");
  if (alive.length === 0) return badge("certificate expired", "bad");
  if (alive.every(({ status }) => status === "EXPIRING")) return badge("certificate expires soon", "soon");
  if (metadata?.failedAt) return badge("metadata unreachable", "soon");
  return undefined;
}

/** A domain, and whether it is verified. */
export function domainBadge(domain, isVerified) {
  const made = classed("span", "domain", element("code", domain), " ", badge(isVerified ? "verified" : "not verified", isVerified ? "good" : "soon"));
  return made;
}

/** All domains of a provider. */
export const domainBadges = ({ emailDomains, verifiedDomains }) =>
  emailDomains.map((domain) => domainBadge(domain, verifiedDomains.includes(domain)));

// What the server calls by the names of members, as the pages call it.
const called = [
  [/^certificates\[([0-9]+)\]: /, (_, at) => `identity provider certificate ${Number(at) + 1}: `],
  [/^serviceProvider\.certificates: /, "service provider certificate: "],
  [/^certificates: none of them /, "none of their certificates "],
  [/^metadataUrl: |^metadata: it /, "their metadata "],
  [/^signInMode is [A-Z_]+: /, ""],
  [/^[A-Za-z.]+(\[[0-9]+\])?: /, ""],
  [/\bloginUrl\b/, "the login URL"],
];

/** What the server says of a provider, as a sentence. */
export function sentence(text) {
  const said = called.reduce((so, [name, words]) => so.replace(name, words), text);
  // A domain stays as it is.
  const first = /^[a-z]+(?![\w.-])/.test(said) ? said.charAt(0).toUpperCase() : said.charAt(0);
  return `${first}${said.slice(1)}${/[.!?]$/.test(said) ? "" : "."}`;
}

/** What an administrator should look at, as it is shown. */
export function warned(warnings = []) {
  if (warnings.length === 0) return [];
  return [classed("div", "note", element("ul", ...warnings.map((text) => element("li", sentence(text)))))];
}

/** Where it is known from. */
export function sourceOf({ source, metadata }) {
  if (source === "FIELDS") return ["Entered by hand. Enter new certificates of the identity provider here too."];
  if (source === "METADATA_XML") return ["From uploaded metadata. Upload new metadata when certificates change."];
  const read = metadata?.readAt ? ["read ", since(metadata.readAt)] : ["not read yet"];
  const next = metadata?.nextAt ? [", again ", since(metadata.nextAt)] : [];
  return ["From its metadata URL, ", ...read, ...next, "."];
}
