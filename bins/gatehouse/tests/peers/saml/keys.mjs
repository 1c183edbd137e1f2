// Keys and certificates of identity providers, made here and now.
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** One to begin with, one to change to, and one that nobody was told of. */
const NAMES = ["first", "second", "unknown"];

/** Makes `{name}.key` and `{name}.crt` in a folder: `{name: {key, cert}}`, as PEM. */
export async function keys(folder, issuer) {
  await mkdir(folder, { recursive: true });
  const made = NAMES.map(async (name) => {
    const [key, cert] = [`${folder}/${name}.key`, `${folder}/${name}.crt`];
    const what = ["-newkey", "rsa:2048", "-nodes", "-sha256", "-days", "30", "-subj", `/CN=${issuer}, ${name}`];
    await promisify(execFile)("openssl", ["req", "-x509", ...what, "-keyout", key, "-out", cert]);
    return [name, { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") }];
  });
  return Object.fromEntries(await Promise.all(made));
}
