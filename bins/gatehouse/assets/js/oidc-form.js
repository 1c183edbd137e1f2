// The form of an OpenID Connect connection.

import { $, $$ } from "./page.js";
import { fields, fillIdentity, form, identity, invalid, listed, missing, named } from "./sso-fields.js";

/** The claim that the connection reads without a setting. */
const DEFAULT_CLAIM = "email";

/** The saved connection; `undefined` for a new one. */
let saved;

const method = () => fields.tokenEndpointAuthMethod.value;
const usesKey = () => method() === "private_key_jwt";
const value = (name) => fields[name].value.trim();

/** Returns whether the saved client secret stays valid: another issuer or client ID needs its own. */
const keepsSecret = () => saved?.hasClientSecret && value("issuer") === saved.issuer && value("clientId") === saved.clientId;

const kept = "Leave empty to keep the current secret.";
const needed = "Enter the secret again, because the issuer or the client ID is another one.";

/** Shows the fields of the chosen client authentication. */
function lookAtClient() {
  for (const part of $$("[data-client]", form)) part.hidden = (part.dataset.client === "KEY") !== usesKey();
  if (saved?.hasClientSecret) $("[data-secret-hint]", form).textContent = keepsSecret() ? kept : needed;
}

/** Splits a line of a required claim into the claim and its value. */
function claim(line) {
  const [, name, accepted] = /^(.+?)\s+=\s+(.+)$/.exec(line) ?? /^([^=]+)=(.+)$/.exec(line) ?? [];
  if (!name?.trim() || !accepted?.trim()) throw invalid("requiredClaims", "write one claim per line, for example hd = example.com");
  return [name.trim(), accepted.trim()];
}

/** Returns the required claims. Several lines with the same claim accept several values. */
function requiredClaims() {
  const found = new Map();
  for (const [name, accepted] of listed(fields.requiredClaims.value, "\n").map(claim)) {
    found.set(name, [...(found.get(name) ?? []), accepted]);
  }
  return Object.fromEntries(found);
}

/** Returns the members of the request body that authenticate the client. */
function client() {
  const tokenEndpointAuthMethod = method();
  if (usesKey()) {
    const clientAssertionAudience = value("clientAssertionAudience");
    return { tokenEndpointAuthMethod, ...(clientAssertionAudience ? { clientAssertionAudience } : {}) };
  }
  if (!keepsSecret()) missing("clientSecret", "enter the client secret");
  const clientSecret = value("clientSecret");
  return { tokenEndpointAuthMethod, ...(clientSecret ? { clientSecret } : {}) };
}

/** Returns the members of the request body that are omitted by default. */
function optional() {
  if (fields.maxAge.validity.badInput) throw invalid("maxAge", "enter a number of seconds");
  const [prompt, maxAge, emailClaim] = ["prompt", "maxAge", "emailClaim"].map(value);
  const signingAlgorithms = $$("[name=signingAlgorithms]:checked", form).map((one) => one.value);
  return {
    ...(prompt ? { prompt } : {}),
    ...(maxAge ? { maxAge: Number(maxAge) } : {}),
    ...(emailClaim ? { emailClaim } : {}),
    ...(signingAlgorithms.length > 0 ? { signingAlgorithms } : {}),
  };
}

/** Returns the request body; throws a `Refusal` if a value is missing. */
export function body() {
  const base = identity();
  missing("issuer", "enter the issuer");
  missing("clientId", "enter the client ID");
  return {
    ...base,
    issuer: value("issuer"),
    clientId: value("clientId"),
    ...client(),
    scopes: listed(fields.scopes.value, /[\s,;]+/).filter((scope) => scope !== "openid"),
    acrValues: listed(fields.acrValues.value, /\s+/),
    requiredClaims: requiredClaims(),
    trustEmailClaim: fields.trustEmailClaim.checked,
    useUserInfo: fields.useUserInfo.checked,
    signOutAtProvider: fields.signOutAtProvider.checked,
    ...optional(),
  };
}

/** Adds to an error what it is about. */
export function explained(error, wanted) {
  // Radio buttons have no place for an error of their own.
  if (error.field === "tokenEndpointAuthMethod") error.message = `Client authentication: ${error.message}`;
  const one = (name) => (at) => wanted[name]?.[at];
  return named(error, Object.fromEntries(["emailDomains", "scopes", "acrValues", "signingAlgorithms"].map((name) => [name, one(name)])));
}

/** Returns whether a setting under Advanced differs from its default. */
const isAdvanced = (provider) =>
  Boolean(provider.prompt || provider.clientAssertionAudience || provider.trustEmailClaim || provider.useUserInfo || provider.signOutAtProvider)
  || provider.maxAge !== undefined
  || (provider.emailClaim ?? DEFAULT_CLAIM) !== DEFAULT_CLAIM
  || [provider.acrValues, Object.keys(provider.requiredClaims ?? {}), provider.signingAlgorithms].some((values) => values?.length > 0);

/** Fills the form with the settings of a connection. */
export function fill(provider) {
  saved = provider;
  form.reset();
  fillIdentity(provider);
  const { issuer, clientId, scopes = [], prompt = "", maxAge = "", acrValues = [], requiredClaims: claims = {} } = provider;
  const { emailClaim = DEFAULT_CLAIM, signingAlgorithms = [], clientAssertionAudience = "" } = provider;
  const lines = Object.entries(claims).flatMap(([name, accepted]) => accepted.map((one) => `${name} = ${one}`));
  const texts = {
    issuer, clientId, prompt, maxAge, emailClaim, clientAssertionAudience,
    scopes: scopes.join(" "), acrValues: acrValues.join("\n"), requiredClaims: lines.join("\n"),
    tokenEndpointAuthMethod: provider.tokenEndpointAuthMethod,
  };
  for (const [name, text] of Object.entries(texts)) fields[name].value = text;
  fields.trustEmailClaim.checked = provider.trustEmailClaim;
  fields.useUserInfo.checked = provider.useUserInfo;
  fields.signOutAtProvider.checked = provider.signOutAtProvider;
  for (const box of $$("[name=signingAlgorithms]", form)) box.checked = signingAlgorithms.includes(box.value);
  $("[data-jwks]", form).textContent = provider.relyingParty.jwksUri;
  $("details", form).open = isAdvanced(provider);
  lookAtClient();
}

form.addEventListener("input", lookAtClient);
form.addEventListener("change", lookAtClient);
lookAtClient();
