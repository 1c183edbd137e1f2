// Verification of the audit log: Merkle tree proofs (RFC 6962, RFC 9162) and signed notes (C2SP).

const text = (string) => new TextEncoder().encode(string);

function joined(...parts) {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Decodes base64. Returns no bytes if the text is malformed. */
export function bytes(base64) {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

const same = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);
const hex = (some) => [...some].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)));
const node = (left, right) => sha256([1], left, right);
const areHashes = (...all) => all.every((hash) => hash.length === 32);
// Not `>> 1`, which is limited to 32 bits: a log may be larger.
const half = (number) => Math.floor(number / 2);
const isOdd = (number) => number % 2 === 1;
const isPowerOfTwo = (number) => Number.isInteger(Math.log2(number));

/** Returns whether the browser can hash: it can on pages opened over HTTPS or from localhost. */
export const canHash = () => globalThis.crypto?.subtle !== undefined;

/** Verifies the inclusion of a leaf at this index of the log with this size and root (RFC 9162 §2.1.3.2). */
export async function isIncluded(leaf, index, size, path, root) {
  if (!(index >= 0 && index < size) || !areHashes(leaf, root, ...path)) return false;
  let [at, last, hash] = [index, size - 1, leaf];
  for (const sibling of path) {
    if (last === 0) return false;
    if (isOdd(at) || at === last) {
      hash = await node(sibling, hash);
      while (!isOdd(at) && at !== 0) [at, last] = [half(at), half(last)];
    } else {
      hash = await node(hash, sibling);
    }
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && same(hash, root);
}

/** Verifies that the log with one size and root is a prefix of another (RFC 9162 §2.1.4.2). */
export async function isBeginning(earlier, first, later, second, path) {
  if (!areHashes(first, second, ...path)) return false;
  if (earlier === later) return path.length === 0 && same(first, second);
  if (!(earlier > 0 && earlier < later)) return false;
  // If the earlier log is a complete subtree, the path starts at its root.
  const [begin, ...rest] = isPowerOfTwo(earlier) ? [first, ...path] : path;
  if (begin === undefined) return false;
  let [at, last] = [earlier - 1, later - 1];
  while (isOdd(at)) [at, last] = [half(at), half(last)];
  let [old, now] = [begin, begin];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (isOdd(at) || at === last) {
      [old, now] = [await node(sibling, old), await node(sibling, now)];
      while (!isOdd(at) && at !== 0) [at, last] = [half(at), half(last)];
    } else {
      now = await node(now, sibling);
    }
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && same(old, first) && same(now, second);
}

/** Computes the commitment to an entry's IP address. Returns undefined if it cannot be verified. */
async function commitment({ ip }, { ipSalt, ipCommitment }) {
  if (ip === undefined) return ipCommitment === undefined ? new Uint8Array() : bytes(ipCommitment);
  if (ipSalt === undefined || ipCommitment !== undefined) return undefined;
  const key = await crypto.subtle.importKey("raw", bytes(ipSalt), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, text(ip)));
}

/** Recomputes the leaf hash of an entry and compares it. `metadata` is the text exactly as the server sent it. */
export async function isLeafOf(leaf, tenant, entry, metadata, proof) {
  const address = await commitment(entry, proof);
  if (address === undefined) return false;
  const { id, timestamp, actor, action, resourceType, resourceId } = entry;
  const fields = [tenant, id, timestamp, actor.type, actor.id, action, resourceType, resourceId].map(text);
  const behindLengths = [...fields, address, text(metadata)].flatMap((field) => {
    const length = new Uint8Array(8);
    new DataView(length.buffer).setBigUint64(0, BigInt(field.length));
    return [length, field];
  });
  return same(await sha256([0], ...behindLengths), leaf);
}

/**
 * Extracts the original text of each entry's metadata from a page of entries. The hash covers that text, and parsing and
 * serializing it may change it.
 */
export function metadataTexts(page) {
  const found = [];
  let depth = 0;
  let begin;
  let isNext = false;
  for (const { 0: token, index } of page.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if ("{[".includes(token)) {
      if (isNext) begin = index;
      depth += 1;
    } else if ("}]".includes(token)) {
      depth -= 1;
      if (depth === 3 && begin !== undefined) {
        found.push(page.slice(begin, index + 1));
        begin = undefined;
      }
    }
    // Depth 3: page, list, entry.
    isNext = depth === 3 && token === '"metadata"' && page[index + token.length] === ":";
  }
  return found;
}

const ORIGIN = "gatehouse/audit/";

/** Parses a signed note. Returns undefined if it is not a checkpoint. */
export function readNote(note) {
  const at = note.lastIndexOf("\n\n");
  if (at < 0 || !note.endsWith("\n")) return undefined;
  const [origin, size, rootHash = ""] = note.slice(0, at).split("\n");
  const isOne = origin.startsWith(ORIGIN) && /^(0|[1-9][0-9]*)$/.test(size) && bytes(rootHash).length === 32;
  if (!isOne) return undefined;
  const tenant = origin.slice(ORIGIN.length);
  return { origin, tenant, size: Number(size), rootHash, signed: note.slice(0, at + 1), signatures: note.slice(at + 2) };
}

/** Parses a verifier key, `name+id+key`. Returns undefined if it is malformed. */
async function readKey(written) {
  const [name, id, ...rest] = written.split("+");
  const all = bytes(rest.join("+"));
  if (all.length !== 33 || all[0] !== 1) return undefined;
  const own = (await sha256(text(name), text("\n"), all)).slice(0, 4);
  return hex(own) === id ? { name, id: own, raw: all.slice(1) } : undefined;
}

/**
 * Verifies the signature of a note: `RIGHT`, `WRONG`, `STRANGE` if none of these keys signed it, or `UNABLE` if the
 * browser does not support Ed25519.
 */
export async function signatureOf(note, keys) {
  const read = readNote(note);
  if (read === undefined) return "WRONG";
  const known = (await Promise.all(keys.map(readKey))).filter((key) => key?.name === read.origin);
  for (const line of read.signatures.split("\n")) {
    const [dash, name, signature] = line.split(" ");
    const all = bytes(signature ?? "");
    const key = known.find((key) => dash === "—" && key.name === name && same(key.id, all.slice(0, 4)));
    if (key === undefined) continue;
    let imported;
    try {
      imported = await crypto.subtle.importKey("raw", key.raw, { name: "Ed25519" }, false, ["verify"]);
    } catch {
      return "UNABLE";
    }
    return (await crypto.subtle.verify("Ed25519", imported, all.slice(4), text(read.signed))) ? "RIGHT" : "WRONG";
  }
  return "STRANGE";
}
