// The certificates of a SAML connection: the identity provider's, with metadata refresh, and our own, with rotation.

import { $ } from "./page.js";
import { certificate, rotation, showOurs } from "./sso-certificate.js";
import { onProvider } from "./sso-head.js";
import { failedRefresh, sourceOf } from "./sso-words.js";

const theirs = $('[data-part="idp"]');
const ours = $('[data-part="own"]');

onProvider((now) => {
  $("[data-source]", theirs).replaceChildren(...sourceOf(now));
  $("[data-refresh]", theirs).hidden = now.source !== "METADATA_URL";
  $("[data-sso-url]", theirs).textContent = now.ssoUrl;
  $("[data-sso-binding]", theirs).textContent = now.ssoBinding;
  $("[data-slo-url]", theirs).textContent = now.sloUrl ?? "None in the metadata. Gatehouse sends no logout messages.";
  $("[data-failed]", theirs).replaceChildren(...failedRefresh(now.metadata));
  $("[data-theirs]", theirs).replaceChildren(...now.certificates.map((one, at) => certificate(one, `certificate ${at + 1} of the identity provider`)));

  const isRotating = showOurs(ours, now.serviceProvider.certificates, "gatehouse-saml");
  $("[data-rotation]", ours).textContent = isRotating
    ? "A rotation is in progress. Our metadata lists both certificates."
    : "Its key signs requests and decrypts assertions.";
});

rotation({
  path: "rotate-certificate",
  question: "Rotate our certificate?",
  consequence: "Gatehouse creates a new key and publishes its certificate beside the current one. Sign-ins don't change until you complete the rotation.",
  created: "New certificate created.",
  completion: "Requests are then signed with the new key, and assertions encrypted to the old certificate cannot be decrypted. If the identity provider doesn't have the new certificate, nobody can sign in through it.",
  completed: "The new certificate is active.",
});
