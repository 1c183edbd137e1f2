// Rows of certificates, and the rotation of our own.

import { sure } from "./drawn.js";
import { badge, classed } from "./elements.js";
import { $, copy, element, onAct, say } from "./page.js";
import { ask, mine } from "./session.js";
import { own, show } from "./sso-head.js";
import { ends, stateOf } from "./sso-words.js";

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

/** Creates the row of a certificate. */
export function certificate(one, label, marks = [], more = []) {
  const print = element("details", element("summary", "Fingerprint (SHA-256)"), element("code", paired(one.fingerprint)));
  print.className = "more";
  const about = element("div", element("b", one.subject || "No subject"), " ", ...marks.flatMap((mark) => [mark, " "]), stateOf(one), classed("p", "soft", ...ends(one)), print);
  return element("li", about, classed("div", "acts", copying(one.pem, label), ...more));
}

const uses = { ACTIVE: ["active", "good"], NEXT: ["next", ""] };

/** Shows our certificates in their part of the page. Returns whether a rotation is in progress. */
export function showOurs(part, certificates, file) {
  for (const url of files.splice(0)) URL.revokeObjectURL(url);
  $("[data-ours]", part).replaceChildren(...certificates.map((one) => {
    const isNext = one.use === "NEXT";
    const marks = [badge(...(uses[one.use] ?? [one.use.toLowerCase()]))];
    return certificate(one, isNext ? "the next certificate" : "our certificate", marks, [downloading(one.pem, `${file}${isNext ? "-next" : ""}.pem`)]);
  }));
  const isRotating = certificates.some(({ use }) => use === "NEXT");
  $("[data-between]", part).hidden = !isRotating;
  $("[data-complete]", part).hidden = !isRotating;
  $("[data-rotate]", part).hidden = isRotating;
  return isRotating;
}

/** Asks before a step of the rotation, then takes it. */
function step(question, consequence, yes, path, said, isDangerous) {
  const done = async () => {
    say(said);
    $("#own-title").focus();
  };
  sure(question, consequence, yes, async () => show(await ask("POST", `${own}/${path}`)), done);
  $("#sure [data-yes]").classList.toggle("bad", isDangerous);
}

/** Activates the buttons of the rotation. `path` is the API's path of its first step; the others are texts. */
export function rotation({ path, question, consequence, created, completion, completed }) {
  onAct("rotate", async () => step(question, consequence, "Rotate", path, created, false));
  onAct("complete", async () => step("Complete the rotation?", completion, "Complete", `${path}/complete`, completed, true));
}

onAct("refresh", async () => {
  const now = await mine("POST", `${own}/refresh`);
  show(now);
  if (!now.metadata?.failedAt) say("Metadata refreshed.");
});
