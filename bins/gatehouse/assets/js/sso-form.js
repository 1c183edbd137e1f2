// The form of a SAML connection.

import { $, $$, count } from "./page.js";
import { fields, fillIdentity, form, identity, listed, missing, named } from "./sso-fields.js";

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Returns the chosen source of the identity provider's settings: `KEEP`, `URL`, `XML` or `FIELDS`. */
const way = () => $("[name=way]:checked", form).value;

/** Splits text into certificates: consecutive PEM blocks, or base64 blocks separated by empty lines. */
export function certificates(text) {
  const found = text.match(PEM);
  return found ?? listed(text, /\n\s*\n/);
}

function lookAtWay() {
  for (const part of $$("[data-way]", form)) part.hidden = part.dataset.way !== way();
}

function lookAtCertificates() {
  const found = certificates(fields.certificates.value).length;
  $("[data-certificates-count]", form).textContent = found > 0 ? `${count(found, "certificate")}.` : "";
}

/** Returns the members of the request body that describe the identity provider. */
function source() {
  switch (way()) {
    case "URL":
      missing("metadataUrl", "enter the metadata URL");
      return { metadataUrl: fields.metadataUrl.value.trim() };
    case "XML":
      missing("metadataXml", "paste the metadata, or choose a file");
      return { metadataXml: fields.metadataXml.value.trim() };
    case "FIELDS":
      missing("entityId", "enter the entity ID");
      missing("ssoUrl", "enter the single sign-on URL");
      missing("certificates", "paste a signing certificate, or choose a file");
      return { entityId: fields.entityId.value.trim(), ssoUrl: fields.ssoUrl.value.trim(), certificates: certificates(fields.certificates.value) };
    default:
      return {};
  }
}

/** Returns the request body; throws a `Refusal` if a value is missing. */
export function body() {
  const email = fields.attributeMapping.value.trim();
  return {
    ...identity(),
    ...source(),
    attributeMapping: email ? { email } : {},
    signRequests: fields.signRequests.checked,
    forceAuthn: fields.forceAuthn.checked,
    signOutAtProvider: fields.signOutAtProvider.checked,
    authnContexts: listed(fields.authnContexts.value, /\s+/),
  };
}

/** Adds to an error which one of several values it is about. */
export const explained = (error, { emailDomains = [], authnContexts = [] }) =>
  named(error, {
    emailDomains: (at) => emailDomains[at],
    authnContexts: (at) => authnContexts[at],
    certificates: (at) => `Certificate ${at + 1}`,
  });

/** Fills the form with the settings of a connection. */
export function fill(provider) {
  form.reset();
  fillIdentity(provider);
  fields.metadataUrl.value = provider.metadataUrl ?? "";
  fields.entityId.value = provider.entityId;
  fields.ssoUrl.value = provider.ssoUrl;
  fields.certificates.value = provider.certificates.map(({ pem }) => pem.trim()).join("\n");
  fields.attributeMapping.value = provider.attributeMapping.email ?? "";
  fields.signRequests.checked = provider.signRequests;
  fields.forceAuthn.checked = provider.forceAuthn;
  fields.signOutAtProvider.checked = provider.signOutAtProvider;
  fields.authnContexts.value = provider.authnContexts.join("\n");
  $("details", form).open = provider.authnContexts.length > 0;
  lookAtWay();
  lookAtCertificates();
}

/** Reads a file as text; converts a DER certificate to PEM. */
async function read(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  // DER starts with the tag of a SEQUENCE; text does not.
  if (bytes[0] !== 0x30) return new TextDecoder().decode(bytes).trim();
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?=.)/g, "$&\n")}\n-----END CERTIFICATE-----`;
}

for (const picked of $$("[data-into]", form)) {
  picked.addEventListener("change", async () => {
    const texts = await Promise.all([...picked.files].map(read));
    const field = fields[picked.dataset.into];
    field.value = [...(picked.multiple && field.value.trim() ? [field.value.trim()] : []), ...texts].join("\n");
    picked.value = "";
    field.focus();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

$("[data-ways]", form).addEventListener("change", lookAtWay);
fields.certificates.addEventListener("input", lookAtCertificates);
lookAtWay();
