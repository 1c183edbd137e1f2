// Rows of the audit log, and the verification of each entry's inclusion proof.

import { UNABLE, signature, verdict } from "./audit-checkpoint.js";
import { bytes, canHash, isIncluded, isLeafOf, readNote } from "./audit-proofs.js";
import { badge, classed, foldedRow, refused, wholeTime } from "./elements.js";
import { $, $$, element, onAct } from "./page.js";
import { mine } from "./session.js";

const path = "/api/settings/audit-log";
const list = $("[data-entries]");

/** Descriptions of the action codes, from the catalog. */
export const meanings = new Map($$("#kinds option").map((option) => [option.value, option.textContent]));

/** Names of the resource types. */
const types = new Map($$("#seek-type option").map((option) => [option.value, option.textContent]));

// The entries that are shown, each with its metadata exactly as the server wrote it.
const known = new Map();

const code = (text) => element("code", text);

/** Creates a button that filters the entries by these values. */
function only(name, values) {
  const button = classed("button", "quiet", name);
  button.type = "button";
  Object.assign(button.dataset, { act: "only", query: new URLSearchParams(values).toString() });
  return button;
}

/** Renders the summary of a row. */
function glance({ timestamp, actor, action, resourceType, resourceId, ip }) {
  const time = element("time", wholeTime.format(new Date(timestamp)));
  time.dateTime = timestamp;
  time.title = timestamp;
  const when = classed("span", "when", time);
  if (ip !== undefined) when.append(classed("span", "soft", " from "), code(ip));
  const meaning = meanings.get(action);
  const what = classed("span", "what", ...(meaning ? [element("span", meaning), " "] : []), code(action));
  const who = classed("span", "who-acted", element("b", actor.name ?? actor.id), " ", classed("span", "soft", actor.type));
  const about = classed("span", "about", classed("span", "soft", types.get(resourceType) ?? resourceType), " ", code(resourceId));
  return [when, what, who, about];
}

/** Renders the details of an expanded row. */
function details({ id, actor, action, resourceType, resourceId, metadata }) {
  const facts = classed("dl", "facts");
  for (const [name, value] of [["Entry ID", id], ["Actor ID", actor.id]]) {
    facts.append(element("div", element("dt", name), element("dd", code(value))));
  }
  const shown = element("pre", JSON.stringify(metadata, null, 2));
  const prove = element("button", "Verify");
  prove.type = "button";
  prove.dataset.act = "prove";
  const proof = element("div");
  proof.dataset.proof = "";
  proof.setAttribute("role", "status");
  const acts = classed(
    "div", "acts start", prove,
    only("Filter by actor", { userId: actor.id }),
    only("Filter by action", { action }),
    only("Filter by resource", { resourceType, resourceId }),
  );
  return classed("div", "within", facts, shown, acts, refused(), proof);
}

/** Renders an entry, with the step-up that permitted it. */
function row(entry, stepUp) {
  if (!stepUp) return foldedRow(entry.id, "entry", glance(entry), () => details(entry));
  const [when, what, ...rest] = glance(entry);
  what.append(" ", badge("after step-up"));
  const inside = () => {
    const all = details(entry);
    all.append(element("h3", "Step-up"), classed("ol", "log", row(stepUp)));
    return all;
  };
  return foldedRow(entry.id, "entry", [when, what, ...rest], inside);
}

/** Pairs the entries of an operation with the step-up that it consumed: of the same actor, at the same time and address. */
function paired(entries) {
  const operation = ({ timestamp, actor, ip }) => `${timestamp} ${actor.id} ${ip ?? ""}`;
  const isStepUp = ({ action }) => action === "ACCOUNT_STEPUP_CONSUMED";
  const acts = new Set(entries.filter((entry) => !isStepUp(entry)).map(operation));
  const stepUps = new Map(entries.filter(isStepUp).map((entry) => [operation(entry), entry]));
  const isFolded = (entry) => isStepUp(entry) && acts.has(operation(entry));
  return entries.filter((entry) => !isFolded(entry)).map((entry) => [entry, isStepUp(entry) ? undefined : stepUps.get(operation(entry))]);
}

/** Shows these entries, appended to the current ones or in place of them. Returns the first new row. */
export function show(entries, texts, isFurther) {
  if (!isFurther) known.clear();
  entries.forEach((entry, at) => known.set(entry.id, { entry, metadata: texts[at] }));
  const rows = paired(entries).map(([entry, stepUp]) => row(entry, stepUp));
  if (isFurther) list.append(...rows);
  else list.replaceChildren(...rows);
  return rows[0];
}

/** Returns the number of entries that are shown. */
export const shownCount = () => known.size;

/** Returns the names of the actors of the entries that are shown, by ID. */
export function actors() {
  return new Map([...known.values()].map(({ entry: { actor } }) => [actor.id, actor.name ?? actor.type]));
}

/** Renders the result of one check of a proof; `undefined` means that the check could not run. */
function finding(isRight, text) {
  const made = element("li", text);
  made.className = isRight === undefined ? "unknown" : isRight ? "right" : "wrong-one";
  return made;
}

/** Verifies an inclusion proof: the hash of the entry, its path to the root, and the signature of the checkpoint. */
async function verified({ entry, metadata }, proof) {
  const note = readNote(proof.checkpoint);
  if (note?.size !== proof.size) return { isRight: false, findings: [finding(false, "The checkpoint is malformed.")] };
  const leaf = bytes(proof.leafHash);
  // Without the original text of the metadata the hash cannot be computed.
  const isOwn = metadata === undefined ? undefined : proof.id === entry.id && (await isLeafOf(leaf, note.tenant, entry, metadata, proof));
  const isIn = await isIncluded(leaf, proof.sequence, note.size, proof.path.map(bytes), bytes(note.rootHash));
  const signed = await signature(proof.checkpoint);
  const isSigned = signed === "UNABLE" ? undefined : signed === "RIGHT";
  const hashed = {
    true: "The hash of this entry matches the sealed hash.",
    false: "The hash of this entry does not match the sealed hash.",
    undefined: "The hash of this entry could not be computed.",
  };
  const findings = [
    finding(isOwn, hashed[isOwn]),
    finding(isIn, isIn ? "The inclusion path leads from the sealed hash to the root hash of the checkpoint." : "The inclusion path does not lead from the sealed hash to the root hash of the checkpoint."),
    finding(isSigned, element("span", ...verdict(signed))),
  ];
  return { isRight: isOwn !== false && isIn && isSigned !== false, isSigned, findings };
}

onAct("prove", async (button) => {
  const { id } = button.closest("[data-id]").dataset;
  const place = $("[data-proof]", button.closest("[data-id]"));
  const entry = known.get(id);
  place.replaceChildren();
  if (!canHash()) return place.replaceChildren(UNABLE);
  let proof;
  try {
    proof = await mine("GET", `${path}/${encodeURIComponent(id)}/proof`);
  } catch (error) {
    if (error.code !== "NOT_SEALED") throw error;
    place.replaceChildren(classed("p", "note", "Not sealed yet. Entries are sealed about a second after they are recorded. Try again."));
    return;
  }
  const { isRight, isSigned, findings } = await verified(entry, proof);
  const at = `at index ${proof.sequence.toLocaleString("en")} of ${proof.size.toLocaleString("en")}, counted from 0`;
  const verdictText = !isRight ? "Verification failed: the proof does not show that this entry is in the signed log." : isSigned ? `Verified: this entry is in the signed log, ${at}.` : `This entry is in the log, ${at}. The signature was not verified.`;
  place.replaceChildren(classed("div", isRight ? "note good" : "note bad", element("b", verdictText), element("ul", ...findings)));
});
