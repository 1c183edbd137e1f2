// Generates keys and certificates for identity providers.
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** The current signing key, the next one, and one that is not in the metadata. */
const NAMES = ["first", "second", "unknown"];

/** Writes `{name}.key` and `{name}.crt` to a folder; returns `{name: {key, cert}}`, as PEM. */
export async function keys(folder, issuer) {
  await mkdir(folder, { recursive: true });
  const pairs = NAMES.map(async (name) => {
    const [key, cert] = [`${folder}/${name}.key`, `${folder}/${name}.crt`];
    const options = ["-newkey", "rsa:2048", "-nodes", "-sha256", "-days", "30", "-subj", `/CN=${issuer}, ${name}`];
    await promisify(execFile)("openssl", ["req", "-x509", ...options, "-keyout", key, "-out", cert]);
    return [name, { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") }];
  });
  return Object.fromEntries(await Promise.all(pairs));
}
