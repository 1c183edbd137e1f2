// Changes or removes a SAML connection.

import { $, count } from "./page.js";
import { body, explained, fill } from "./sso-form.js";
import { settings } from "./sso-change.js";

const kept = {
  METADATA_URL: ({ metadataUrl }) => `the metadata URL ${metadataUrl}`,
  METADATA_XML: () => "uploaded metadata",
  FIELDS: () => "manual entry",
};

settings({
  body,
  explained,
  fill(provider) {
    const { source, certificates } = provider;
    $("[data-kept]").textContent = `From ${kept[source](provider)}, with ${count(certificates.length, "certificate")}.`;
    fill(provider);
  },
});
