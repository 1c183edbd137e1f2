// Entries of the audit log as rows, and the proof that each of them stands in the signed log.

import { UNABLE, signature, verdict } from "./audit-checkpoint.js";
import { bytes, canHash, isIncluded, isLeafOf, readNote } from "./audit-proofs.js";
import { $, $$, element, onAct } from "./page.js";
import { mine } from "./session.js";

const path = "/api/settings/audit-log";
const list = $("[data-entries]");
const whole = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** What the codes mean, of the catalog. */
export const meanings = new Map($$("#kinds option").map((option) => [option.value, option.textContent]));

// What is shown: each entry, and its metadata as the server wrote it.
const known = new Map();

/** An element of this class. */
function classed(name, className, ...within) {
  const made = element(name, ...within);
  made.className = className;
  return made;
}

const code = (text) => element("code", text);

/** A button that looks for the entries that have this in common. */
function only(name, values) {
  const button = classed("button", "quiet", name);
  button.type = "button";
  Object.assign(button.dataset, { act: "only", query: new URLSearchParams(values).toString() });
  return button;
}

/** What a row says at a glance. */
function glance({ timestamp, actor, action, resourceType, resourceId, ip }) {
  const time = element("time", whole.format(new Date(timestamp)));
  time.dateTime = timestamp;
  time.title = timestamp;
  const when = classed("span", "when", time);
  if (ip !== undefined) when.append(classed("span", "soft", " from "), code(ip));
  const meaning = meanings.get(action);
  const what = classed("span", "what", ...(meaning ? [element("span", meaning), " "] : []), code(action));
  const who = classed("span", "who-acted", element("b", actor.name ?? actor.id), " ", classed("span", "soft", actor.type));
  const about = classed("span", "about", classed("span", "soft", resourceType), " ", code(resourceId));
  return [when, what, who, about];
}

/** What a row says when it is opened. */
function details({ id, actor, action, resourceType, resourceId, metadata }) {
  const facts = classed("dl", "facts");
  for (const [name, value] of [["Entry", id], ["Actor", actor.id]]) {
    facts.append(element("div", element("dt", name), element("dd", code(value))));
  }
  const shown = element("pre", JSON.stringify(metadata, null, 2));
  const prove = element("button", "Prove");
  prove.type = "button";
  prove.dataset.act = "prove";
  const refused = classed("p", "note bad");
  refused.dataset.refused = "";
  refused.setAttribute("role", "alert");
  refused.hidden = true;
  const proof = element("div");
  proof.dataset.proof = "";
  proof.setAttribute("role", "status");
  const acts = classed(
    "div", "acts start", prove,
    only("By this actor", { userId: actor.id }),
    only("With this action", { action }),
    only("About this resource", { resourceType, resourceId }),
  );
  return classed("div", "within", facts, shown, acts, refused, proof);
}

function row(entry) {
  const folded = element("details", classed("summary", "glance", ...glance(entry)));
  // Drawn when it is opened: most never are.
  folded.addEventListener("toggle", () => {
    if (folded.open && folded.children.length === 1) folded.append(details(entry));
  });
  const made = element("li", folded);
  made.dataset.id = entry.id;
  made.dataset.part = "entry";
  return made;
}

/** Shows these entries, after those that are shown already or in their place; answers the first row. */
export function show(entries, texts, isFurther) {
  if (!isFurther) known.clear();
  entries.forEach((entry, at) => known.set(entry.id, { entry, metadata: texts[at] }));
  const rows = entries.map(row);
  if (isFurther) list.append(...rows);
  else list.replaceChildren(...rows);
  return rows[0];
}

/** How many are shown. */
export const shownCount = () => known.size;

/** Everybody who acted in what is shown, by id. */
export function actors() {
  return new Map([...known.values()].map(({ entry: { actor } }) => [actor.id, actor.name ?? actor.type]));
}

/** One thing that was looked at in a proof, and how that ended. */
function finding(isRight, text) {
  const made = element("li", text);
  made.className = isRight === undefined ? "unknown" : isRight ? "right" : "wrong-one";
  return made;
}

/** Verifies a proof: whether the entry stands in the log, who has signed that, and what was found on the way. */
async function verified({ entry, metadata }, proof) {
  const note = readNote(proof.checkpoint);
  if (note?.size !== proof.size) return { isRight: false, findings: [finding(false, "The checkpoint is malformed.")] };
  const leaf = bytes(proof.leafHash);
  // Of what was not read as it was written nothing is claimed.
  const isOwn = metadata === undefined ? undefined : proof.id === entry.id && (await isLeafOf(leaf, note.tenant, entry, metadata, proof));
  const isIn = await isIncluded(leaf, proof.sequence, note.size, proof.path.map(bytes), bytes(note.rootHash));
  const signed = await signature(proof.checkpoint);
  const isSigned = signed === "UNABLE" ? undefined : signed === "RIGHT";
  const hashed = {
    true: "The entry shown here has the sealed hash.",
    false: "The entry shown here does not have the sealed hash.",
    undefined: "The entry shown here could not be hashed.",
  };
  const findings = [
    finding(isOwn, hashed[isOwn]),
    finding(isIn, isIn ? "The proof leads from that hash to the checkpoint's root." : "The proof does not lead from that hash to the checkpoint's root."),
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
    place.replaceChildren(classed("p", "note", "Not sealed yet. Entries are sealed about a second after they are written. Try again."));
    return;
  }
  const { isRight, isSigned, findings } = await verified(entry, proof);
  const at = `at position ${proof.sequence.toLocaleString("en")} of ${proof.size.toLocaleString("en")}, counted from 0`;
  const told = !isRight ? "This entry could not be verified in the signed log." : isSigned ? `Verified: in the signed log, ${at}.` : `In the log, ${at}. The signature was not verified.`;
  place.replaceChildren(classed("div", isRight ? "note good" : "note bad", element("b", told), element("ul", ...findings)));
});
