// Small logs and their proofs, by the definitions of RFC 6962 §2.1, to test the verification in the pages.
import { createHash } from "node:crypto";

const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();

/** Returns the leaf hashes of a log with this size. */
export const leaves = (size) => Array.from({ length: size }, (_, at) => sha256(Buffer.of(0, at)));

/** Returns the largest power of two less than `count`. */
const left = (count) => 2 ** Math.ceil(Math.log2(count) - 1);

/** MTH: the root hash of the tree over these leaves. */
export function root(all) {
  if (all.length < 2) return all[0] ?? sha256();
  const middle = left(all.length);
  return sha256(Buffer.of(1), root(all.slice(0, middle)), root(all.slice(middle)));
}

/** PATH: the inclusion proof of the leaf at this index. */
export function path(place, all) {
  if (all.length < 2) return [];
  const middle = left(all.length);
  const [before, after] = [all.slice(0, middle), all.slice(middle)];
  return place < middle ? [...path(place, before), root(after)] : [...path(place - middle, after), root(before)];
}

/** SUBPROOF: the consistency proof between the first `size` leaves and the whole log. */
export function consistency(size, all, isKnown = true) {
  if (size === all.length) return isKnown ? [] : [root(all)];
  const middle = left(all.length);
  const [before, after] = [all.slice(0, middle), all.slice(middle)];
  return size <= middle ? [...consistency(size, before, isKnown), root(after)] : [...consistency(size - middle, after, false), root(before)];
}
