// The keys of an OpenID Connect connection: the identity provider's, with metadata refresh, and our own, with rotation.

import { $, $$, count } from "./page.js";
import { rotation, showOurs } from "./sso-certificate.js";
import { onProvider } from "./sso-head.js";
import { discovered, failedRefresh } from "./sso-words.js";

const theirs = $('[data-part="idp"]');
const ours = $('[data-part="own"]');

const methods = {
  client_secret_basic: "Client secret in the header",
  client_secret_post: "Client secret in the body",
  private_key_jwt: "Private key",
};

onProvider((now) => {
  $("[data-source]", theirs).replaceChildren(...discovered(now));
  $("[data-failed]", theirs).replaceChildren(...failedRefresh(now.metadata));
  $("[data-client-id]", theirs).textContent = now.clientId;
  $("[data-method]", theirs).textContent = methods[now.tokenEndpointAuthMethod];
  $("[data-keys]", theirs).textContent = count(now.provider.keys, "key");
  for (const place of $$("[data-endpoint]", theirs)) {
    const url = now.provider[place.dataset.endpoint];
    place.textContent = url ?? "";
    place.closest("div").hidden = !url;
  }

  const { certificates } = now.relyingParty;
  const usesKey = now.tokenEndpointAuthMethod === "private_key_jwt";
  ours.hidden = certificates.length === 0;
  const isRotating = showOurs(ours, certificates, "gatehouse-oidc");
  $("[data-rotation]", ours).textContent = isRotating
    ? "A rotation is in progress. Our key set lists both keys."
    : usesKey ? "It authenticates Gatehouse at the token endpoint." : "Not in use, because the connection has a client secret.";
});

rotation({
  path: "rotate-key",
  question: "Rotate our key?",
  consequence: "Gatehouse creates a new key and publishes it beside the current one. Sign-ins don't change until you complete the rotation.",
  created: "New key created.",
  completion: "Gatehouse then authenticates with the new key. If the identity provider doesn't have it, nobody can sign in through the connection.",
  completed: "The new key is active.",
});
