// Runs Debian's SimpleSAMLphp with PHP's development server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { keys } from "./keys.mjs";

const MAIL = "urn:oid:0.9.2342.19200300.100.1.3";
const ADDRESS = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";

/** Ways to send the email address: filters of SimpleSAMLphp, and settings of Gatehouse's metadata in it. */
const EMAIL_SOURCES = {
  attribute: {},
  "attribute by its OID": { filters: { 10: { class: "core:AttributeMap", mail: MAIL } } },
  NameID: {
    filters: { 10: { class: "saml:AttributeNameID", attribute: "mail", Format: ADDRESS } },
    service: { NameIDFormat: ADDRESS, "simplesaml.attributes": false },
  },
};

/** Returns the class that encrypts assertions, with this algorithm instead of AES-128-CBC. */
async function replaceCipher(program, cipher) {
  const path = `${program}/vendor/simplesamlphp/saml2/src/SAML2/EncryptedAssertion.php`;
  const parts = (await readFile(path, "utf8")).split("new XMLSecurityKey(XMLSecurityKey::AES128_CBC)");
  assert.equal(parts.length, 2, `${path} has changed`);
  return parts.join(`new XMLSecurityKey(XMLSecurityKey::${cipher.toUpperCase().replace("-", "_")})`);
}

export class SimpleSamlPhp {
  static domain = "simplesamlphp.example";
  domain = SimpleSamlPhp.domain;
  name = "SimpleSAMLphp";
  emailSources = Object.keys(EMAIL_SOURCES);
  ciphers = ["aes128-gcm", "aes256-gcm"];
  cbc = "aes128-cbc";

  /** Starts it with these users: `{name: {password, email}}`. */
  static async start({ program, configuration, folder, people }) {
    const it = Object.assign(new SimpleSamlPhp(), { program, folder });
    for (const name of ["sessions", "temp"]) await mkdir(`${folder}/${name}`, { recursive: true });
    await keys(folder, it.name);
    const known = Object.entries(people).map(([name, { password, email }]) => {
      return [`${name}:${password}`, { uid: [name], mail: [email] }];
    });
    it.settings = { people: Object.fromEntries(known) };
    await it.configure({});
    const env = { ...process.env, SIMPLESAMLPHP_CONFIG_DIR: configuration, IDP_FOLDER: folder };
    const options = ["-d", "display_errors=0", "-S", "127.0.0.1:0", "-t", `${program}/www`];
    it.process = spawn("php", options, { env, stdio: ["ignore", "ignore", "pipe"] });
    process.on("exit", () => it.process.kill());
    it.output = [];
    it.url = await new Promise((resolve, reject) => {
      it.process.on("error", reject).on("exit", () => reject(new Error(`PHP ended: ${it.output.join("\n")}`)));
      createInterface({ input: it.process.stderr }).on("line", (line) => {
        it.output.push(line);
        const address = line.match(/Development Server \((http:\/\/127\.0\.0\.1:\d+)\) started/);
        if (address) resolve(address[1]);
      });
    });
    it.service = `${it.url}/saml2/idp/SSOService.php`;
    return it;
  }

  async metadata() {
    const answer = await fetch(`${this.url}/saml2/idp/metadata.php`);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return text;
  }

  /** Registers Gatehouse by its metadata, which SimpleSAMLphp parses. */
  async register(xml) {
    await writeFile(`${this.folder}/service.xml`, xml);
  }

  /** Changes how it answers the next logins. */
  async configure({ sign = "both", cipher, key = "first", emailSource = "attribute" }) {
    const use = { privatekey: `${key}.key`, certificate: `${key}.crt` };
    const next = { new_privatekey: "second.key", new_certificate: "second.crt" };
    this.settings.keys = key === "first" ? { ...use, ...next } : use;
    this.settings.filters = EMAIL_SOURCES[emailSource].filters ?? {};
    this.settings.cipher = cipher && cipher !== this.cbc ? cipher : undefined;
    this.settings.service = {
      // Refuse requests without Gatehouse's signature.
      "validate.authnrequest": true,
      "validate.logout": true,
      "sign.logout": true,
      "saml20.sign.assertion": sign !== "response",
      "saml20.sign.response": sign !== "assertion",
      "assertion.encryption": cipher !== undefined,
      ...EMAIL_SOURCES[emailSource].service,
    };
    if (this.settings.cipher) {
      await writeFile(`${this.folder}/EncryptedAssertion.php`, await replaceCipher(this.program, cipher));
    }
    await writeFile(`${this.folder}/settings.json`, JSON.stringify(this.settings));
  }

  /** Returns the address that signs the user out. */
  logoutUrl() {
    return `${this.url}/saml2/idp/SingleLogoutService.php?${new URLSearchParams({ ReturnTo: `${this.url}/` })}`;
  }

  /** Returns the address that starts an IdP-initiated login. */
  unsolicited(entityId) {
    return `${this.service}?${new URLSearchParams({ spentityid: entityId })}`;
  }

  /** Returns the last lines of its output and log. */
  async recentLog() {
    const log = await readFile(`${this.folder}/simplesamlphp.log`, "utf8").catch(() => "");
    return [...this.output.slice(-5), ...log.trimEnd().split("\n").slice(-25)].join("\n");
  }

  close() {
    this.process?.removeAllListeners("exit").kill();
  }
}
