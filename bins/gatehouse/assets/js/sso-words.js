// Texts and elements that the SSO pages share.

import { badge, classed } from "./elements.js";
import { count, element } from "./page.js";

/** The API's path of SAML connections. */
export const samlPath = "/api/settings/saml-providers";
/** The API's path of OpenID Connect connections. */
export const oidcPath = "/api/settings/oidc-providers";
export const domainsPath = "/api/settings/domains";

const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** Formats a time with its date. */
export const moment = (at) => whole.format(new Date(at));

/** Creates an element that shows a time relative to now. */
export const since = (at) => Object.assign(element("time"), { dateTime: at });

/** Returns whether this is the ID of an OpenID Connect connection. */
export const isOidc = (id) => id.startsWith("oidc_");

/** Returns the URL that starts a sign-in through a connection. */
export const loginUrlOf = ({ serviceProvider, relyingParty }) => (relyingParty ?? serviceProvider).loginUrl;

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

/** Creates a badge if the keys of the identity provider need attention. */
function keyTrouble({ id, certificates, provider }) {
  if (isOidc(id)) return provider.keys === 0 ? badge("no keys", "bad") : undefined;
  const alive = certificates.filter(({ status }) => status === "VALID" || status === "EXPIRING");
  if (alive.length === 0) return badge("certificate expired", "bad");
  if (alive.every(({ status }) => status === "EXPIRING")) return badge("certificate expires soon", "soon");
  return undefined;
}

/** Creates a badge if a connection needs attention. */
export const trouble = (connection) =>
  keyTrouble(connection) ?? (connection.metadata?.failedAt ? badge("metadata refresh failed", "soon") : undefined);

/** Creates a badge with a domain and its status. */
export function domainBadge(domain, isVerified) {
  const made = classed("span", "domain", element("code", domain), " ", badge(isVerified ? "verified" : "not verified", isVerified ? "good" : "soon"));
  return made;
}

/** Creates the badges of a connection's domains, with a link to their verification. */
export function domainsOf(connection) {
  const isWhole = connection.emailDomains.every((domain) => connection.verifiedDomains.includes(domain));
  const link = Object.assign(element("a", isWhole ? "Domains" : "Verify domains"), { href: "/settings/sso#domains" });
  return [...domainBadges(connection), " ", link];
}

/** Creates the badges of a connection's domains. */
export const domainBadges = ({ emailDomains, verifiedDomains }) =>
  emailDomains.map((domain) => domainBadge(domain, verifiedDomains.includes(domain)));

// Replaces the names of JSON members in the server's warnings with the words of the pages.
const called = [
  [/^certificates\[([0-9]+)\]: /, (_, at) => `certificate ${Number(at) + 1} of the identity provider `],
  [/^(serviceProvider|relyingParty)\.certificates: the active certificate /, "our certificate "],
  [/^certificates: none /, "none of the identity provider's certificates "],
  [/^metadataUrl: |^metadata: /, "the identity provider's metadata "],
  [/^signInMode is [A-Z_]+: /, ""],
  [/^[A-Za-z.]+(\[[0-9]+\])?: /, ""],
  [/\bloginUrl\b/, "the sign-in URL of this connection"],
];

/** Converts a warning of the server to a sentence. */
export function sentence(text) {
  const said = called.reduce((so, [name, words]) => so.replace(name, words), text);
  // A domain name and a URL keep their case.
  const first = /^[a-z]+(?!:\/\/|[\w.-])/.test(said) ? said.charAt(0).toUpperCase() : said.charAt(0);
  return `${first}${said.slice(1)}${/[.!?]$/.test(said) ? "" : "."}`;
}

/** Creates the list of warnings. */
export function warned(warnings = []) {
  if (warnings.length === 0) return [];
  return [classed("div", "note", element("ul", ...warnings.map((text) => element("li", sentence(text)))))];
}

/** Describes when the metadata was read. */
const lastRead = (metadata) => (metadata?.readAt ? ["read ", since(metadata.readAt)] : ["never read"]);

/** Describes when the metadata was read, and when it is read next. */
const readings = (metadata) => [...lastRead(metadata), ...(metadata?.nextAt ? [", next refresh ", since(metadata.nextAt)] : [])];

/** Creates a note if the last metadata refresh failed. */
export function failedRefresh({ failedAt, error } = {}) {
  if (!failedAt) return [];
  return [classed("p", "note bad", `The metadata refresh failed on ${moment(failedAt)}${error ? `: ${error}` : ""}. The previous metadata stays in effect.`)];
}

/** Describes the keys of an OpenID Connect connection's identity provider. */
export const keysOf = ({ provider, metadata }) => [`${count(provider.keys, "key")}, `, ...lastRead(metadata)];

/** Describes the state of an OpenID Connect connection's metadata. */
export const discovered = ({ metadata }) => ["Metadata of the issuer, ", ...readings(metadata), "."];

/** Describes where the settings of a SAML connection's identity provider come from. */
export function sourceOf({ source, metadata }) {
  if (source === "FIELDS") return ["Entered manually. When the identity provider changes its certificate, enter the new one here."];
  if (source === "METADATA_XML") return ["From uploaded metadata. When the identity provider changes its certificate, upload new metadata."];
  return ["From the metadata URL, ", ...readings(metadata), "."];
}
