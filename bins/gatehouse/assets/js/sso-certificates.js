// The certificates of the identity provider, with metadata refresh, and our own, with rotation.

import { sure } from "./drawn.js";
import { badge, classed } from "./elements.js";
import { $, copy, element, onAct, say } from "./page.js";
import { ask, mine } from "./session.js";
import { onProvider, own, show } from "./sso-head.js";
import { ends, moment, sourceOf, stateOf } from "./sso-words.js";

const theirs = $('[data-part="idp"]');
const ours = $('[data-part="own"]');
const files = [];

/** Creates a button that copies a certificate. */
function copying(pem, label) {
  const button = classed("button", "quiet", "Copy");
  button.type = "button";
  button.setAttribute("aria-label", `Copy ${label}`);
  button.addEventListener("click", () => copy(pem));
  return button;
}

function downloading(pem, name) {
  const link = classed("a", "button quiet", "Download");
  link.href = URL.createObjectURL(new Blob([pem], { type: "application/x-pem-file" }));
  link.download = name;
  link.setAttribute("aria-label", `Download ${name}`);
  files.push(link.href);
  return link;
}

/** Formats a fingerprint in pairs, as openssl prints it. */
const paired = (fingerprint) => fingerprint.toUpperCase().match(/../g)?.join(":") ?? fingerprint;

function certificate(one, label, marks = [], more = []) {
  const print = element("details", element("summary", "Fingerprint (SHA-256)"), element("code", paired(one.fingerprint)));
  print.className = "more";
  const about = element("div", element("b", one.subject || "No subject"), " ", ...marks.flatMap((mark) => [mark, " "]), stateOf(one), classed("p", "soft", ...ends(one)), print);
  return element("li", about, classed("div", "acts", copying(one.pem, label), ...more));
}

const uses = { ACTIVE: ["active", "good"], NEXT: ["next", ""] };

onProvider((now) => {
  $("[data-source]", theirs).replaceChildren(...sourceOf(now));
  $("[data-refresh]", theirs).hidden = now.source !== "METADATA_URL";
  $("[data-sso-url]", theirs).textContent = now.ssoUrl;
  const { failedAt, error } = now.metadata ?? {};
  const failed = failedAt ? [classed("p", "note bad", `The metadata refresh failed on ${moment(failedAt)}${error ? `: ${error}` : ""}. The previous metadata stays in effect.`)] : [];
  $("[data-failed]", theirs).replaceChildren(...failed);
  $("[data-theirs]", theirs).replaceChildren(...now.certificates.map((one, at) => certificate(one, `certificate ${at + 1} of the identity provider`)));

  for (const file of files.splice(0)) URL.revokeObjectURL(file);
  const keys = now.serviceProvider.certificates;
  const isRotating = keys.some(({ use }) => use === "NEXT");
  $("[data-rotation]", ours).textContent = isRotating
    ? "A rotation is in progress. Our metadata lists both certificates."
    : "Its key signs requests and decrypts assertions.";
  $("[data-between]", ours).hidden = !isRotating;
  $("[data-complete]", ours).hidden = !isRotating;
  $("[data-rotate]", ours).hidden = isRotating;
  $("[data-ours]", ours).replaceChildren(...keys.map((one) => {
    const name = one.use === "NEXT" ? "gatehouse-saml-next.pem" : "gatehouse-saml.pem";
    const label = one.use === "NEXT" ? "the next certificate" : "our certificate";
    return certificate(one, label, [badge(...(uses[one.use] ?? [one.use.toLowerCase()]))], [downloading(one.pem, name)]);
  }));
});

onAct("refresh", async () => {
  const now = await mine("POST", `${own}/refresh`);
  show(now);
  if (!now.metadata?.failedAt) say("Metadata refreshed.");
});

onAct("rotate", async () => {
  sure(
    "Rotate our certificate?",
    "Gatehouse creates a new key and publishes its certificate beside the current one. Sign-ins don't change until you complete the rotation.",
    "Rotate",
    async () => show(await ask("POST", `${own}/rotate-certificate`)),
    async () => {
      say("New certificate created.");
      $("#own-title").focus();
    },
  );
  $("#sure [data-yes]").classList.remove("bad");
});

onAct("complete", async () => {
  sure(
    "Complete the rotation?",
    "Requests are then signed with the new key, and assertions encrypted to the old certificate cannot be decrypted. If the identity provider doesn't have the new certificate, nobody can sign in through it.",
    "Complete",
    async () => show(await ask("POST", `${own}/rotate-certificate/complete`)),
    async () => {
      say("The new certificate is active.");
      $("#own-title").focus();
    },
  );
  $("#sure [data-yes]").classList.add("bad");
});
