// SimpleSAMLphp as Debian has it, served by PHP itself.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { keys } from "./keys.mjs";

const MAIL = "urn:oid:0.9.2342.19200300.100.1.3";
const ADDRESS = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";

/** How the address is told: filters of SimpleSAMLphp, and what else its metadata of us says. */
const TELLING = {
  attribute: {},
  "attribute by its OID": { filters: { 10: { class: "core:AttributeMap", mail: MAIL } } },
  NameID: {
    filters: { 10: { class: "saml:AttributeNameID", attribute: "mail", Format: ADDRESS } },
    service: { NameIDFormat: ADDRESS, "simplesaml.attributes": false },
  },
};

/** The class with the one word changed: assertions are encrypted with this algorithm instead of AES-128-CBC. */
async function otherCipher(program, cipher) {
  const path = `${program}/vendor/simplesamlphp/saml2/src/SAML2/EncryptedAssertion.php`;
  const parts = (await readFile(path, "utf8")).split("new XMLSecurityKey(XMLSecurityKey::AES128_CBC)");
  assert.equal(parts.length, 2, `${path} has changed`);
  return parts.join(`new XMLSecurityKey(XMLSecurityKey::${cipher.toUpperCase().replace("-", "_")})`);
}

export class SimpleSamlPhp {
  static domain = "simplesamlphp.example";
  domain = SimpleSamlPhp.domain;
  name = "SimpleSAMLphp";
  /** Of all that is tried, what it can do. */
  telling = Object.keys(TELLING);
  ciphers = ["aes128-gcm", "aes256-gcm"];
  cbc = "aes128-cbc";

  /** Starts it with people: `{name: {password, email}}`. */
  static async start({ program, settings, folder, people }) {
    const it = Object.assign(new SimpleSamlPhp(), { program, folder });
    for (const name of ["sessions", "temp"]) await mkdir(`${folder}/${name}`, { recursive: true });
    await keys(folder, it.name);
    const known = Object.entries(people).map(([name, { password, email }]) => {
      return [`${name}:${password}`, { uid: [name], mail: [email] }];
    });
    it.told = { people: Object.fromEntries(known) };
    await it.set({});
    const env = { ...process.env, SIMPLESAMLPHP_CONFIG_DIR: settings, IDP_FOLDER: folder };
    const words = ["-d", "display_errors=0", "-S", "127.0.0.1:0", "-t", `${program}/www`];
    it.process = spawn("php", words, { env, stdio: ["ignore", "ignore", "pipe"] });
    process.on("exit", () => it.process.kill());
    it.said = [];
    it.url = await new Promise((resolve, reject) => {
      it.process.on("error", reject).on("exit", () => reject(new Error(`PHP ended: ${it.said.join("\n")}`)));
      createInterface({ input: it.process.stderr }).on("line", (line) => {
        it.said.push(line);
        const address = line.match(/Development Server \((http:\/\/127\.0\.0\.1:\d+)\) started/);
        if (address) resolve(address[1]);
      });
    });
    it.service = `${it.url}/saml2/idp/SSOService.php`;
    return it;
  }

  /** Its metadata, as it gives it to everybody. */
  async metadata() {
    const answer = await fetch(`${this.url}/saml2/idp/metadata.php`);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return text;
  }

  /** Takes our metadata. It is read by SimpleSAMLphp itself. */
  async meet(xml) {
    await writeFile(`${this.folder}/service.xml`, xml);
  }

  /** How it answers from now on. */
  async set({ sign = "both", cipher, key = "first", tell = "attribute" }) {
    const use = { privatekey: `${key}.key`, certificate: `${key}.crt` };
    const next = { new_privatekey: "second.key", new_certificate: "second.crt" };
    this.told.keys = key === "first" ? { ...use, ...next } : use;
    this.told.filters = TELLING[tell].filters ?? {};
    this.told.cipher = cipher && cipher !== this.cbc ? cipher : undefined;
    this.told.service = {
      // Requests that are not signed by us are refused.
      "validate.authnrequest": true,
      "saml20.sign.assertion": sign !== "response",
      "saml20.sign.response": sign !== "assertion",
      "assertion.encryption": cipher !== undefined,
      ...TELLING[tell].service,
    };
    if (this.told.cipher) {
      await writeFile(`${this.folder}/EncryptedAssertion.php`, await otherCipher(this.program, cipher));
    }
    await writeFile(`${this.folder}/told.json`, JSON.stringify(this.told));
  }

  /** Where somebody begins who was not sent by us. */
  unasked(entityId) {
    return `${this.service}?${new URLSearchParams({ spentityid: entityId })}`;
  }

  /** What it wrote down lately. */
  async diary() {
    const log = await readFile(`${this.folder}/simplesamlphp.log`, "utf8").catch(() => "");
    return [...this.said.slice(-5), ...log.trimEnd().split("\n").slice(-25)].join("\n");
  }

  close() {
    this.process?.removeAllListeners("exit").kill();
  }
}
