// Signs users in through independent SAML identity providers.
// check.mjs BASE_URL FOLDER ROOT, with PROGRAM, SIMPLESAMLPHP and the server's own variables.
import assert from "node:assert/strict";
import { Gatehouse, parseMetadata } from "./gatehouse.mjs";
import { Login, PASSWORD, inspect } from "./login.mjs";
import { Samlp } from "./samlp.mjs";
import { SimpleSamlPhp } from "./simplesamlphp.mjs";

const [base, folder, root] = process.argv.slice(2);
const gatehouse = new Gatehouse({ base, program: process.env.PROGRAM, folder });

/** Returns the cases for one identity provider, as pairs of a name and a function. */
function cases(idp, id, entityId) {
  const newLogin = (browser) => new Login({ gatehouse, idp, id, browser });
  const configured = async (settings) => {
    await idp.configure(settings);
    return newLogin();
  };
  const accepted = async (settings) => {
    const login = await configured(settings);
    const form = await login.authenticate();
    await login.assertAccepted(form);
    return inspect(form);
  };
  const refused = async (settings, reason, code, username) => {
    const login = await configured(settings);
    const form = await login.authenticate(username);
    await login.assertRefused(form, [reason], code);
    await login.assertSignedOut();
    return inspect(form);
  };
  const kinds = ["assertion", "response", "both"];
  const [cipher] = idp.ciphers;
  return [
    ...kinds.map((sign) => [`signed ${sign}`, async () => {
      const { response, assertion, used } = await accepted({ sign });
      assert.deepEqual({ response, assertion }, { response: sign !== "assertion", assertion: sign !== "response" });
      assert.deepEqual([...used].sort(), ["rsa-sha256", "sha256"]);
    }]),
    ...idp.ciphers.flatMap((name) => kinds.map((sign) => [`${name}, signed ${sign}`, async () => {
      const { response, assertion, ...found } = await accepted({ sign, cipher: name });
      assert.deepEqual({ response, assertion }, { response: sign !== "assertion", assertion: false });
      assert.deepEqual([found.cipher, found.transport], [name, "rsa-oaep-mgf1p"]);
    }])),
    [`${idp.cbc}: refused`, async () => {
      assert.equal((await refused({ cipher: idp.cbc }, "DECRYPTION_FAILED")).cipher, idp.cbc);
    }],
    ...idp.emailSources.slice(1).map((emailSource) => {
      return [`the email address as ${emailSource}`, () => accepted({ emailSource })];
    }),
    ["a wrong password, then the right one", async () => {
      const login = await configured({});
      const page = await login.submitPassword(await login.start(), "ada", "not this one");
      assert.ok(!page.forms.some(({ fields }) => fields.SAMLResponse), "there is a response");
      await login.assertSignedOut();
      await login.assertAccepted(login.responseForm(await login.submitPassword(page)));
    }],
    ["a user unknown to Gatehouse: refused", () => refused({}, "NOT_PROVISIONED", "NOT_PROVISIONED", "grace")],
    ["the same response twice: refused", async () => {
      const login = await configured({});
      const form = await login.authenticate();
      await login.assertAccepted(form);
      // The first response also removed the cookie that binds the request to the browser.
      await login.assertRefused(form, ["REQUEST_ALREADY_ANSWERED", "OTHER_BROWSER"]);
    }],
    ["a response in another browser: refused", async () => {
      const form = await (await configured({})).authenticate();
      const other = newLogin();
      await other.assertRefused(form, ["OTHER_BROWSER"]);
      await other.assertSignedOut();
    }],
    ["an IdP-initiated login: refused", async () => {
      const login = await configured({});
      const form = login.responseForm(await login.submitPassword(await login.browser.open(idp.unsolicited(entityId))));
      await login.assertRefused(form, ["UNSOLICITED"]);
      await login.assertSignedOut();
    }],
    ["a logout at the identity provider ends the session of its browser only", async () => {
      const [login, other] = [await configured({}), newLogin()];
      for (const one of [login, other]) await one.assertAccepted(await one.authenticate());
      await login.assertIsSignedOutByProvider();
      assert.equal(await gatehouse.signedInUser(other.browser), `ada@${idp.domain}`);
    }],
    ["a sign-out continues at the identity provider, and returns", async () => {
      const login = await configured({});
      await login.assertAccepted(await login.authenticate());
      await login.assertSignsOutEverywhere();
    }],
    ["the next key of the metadata", () => accepted({ key: "second" })],
    [`the next key of the metadata, ${cipher}`, () => accepted({ key: "second", cipher, sign: "assertion" })],
    ["a key not in the metadata: refused", () => refused({ key: "unknown" }, "SIGNATURE_INVALID")],
    [`a key not in the metadata, ${cipher}: refused`, () => {
      return refused({ key: "unknown", cipher, sign: "assertion" }, "SIGNATURE_INVALID");
    }],
    ["a key not in the metadata: refused on a page", async () => {
      const login = await configured({ key: "unknown" });
      await login.assertRefusedOnPage(await login.authenticate());
      await login.assertSignedOut();
    }],
    ["the first key again", () => accepted({})],
  ];
}

async function check(kind, settings) {
  const started = Date.now();
  const user = (name) => [name, { password: PASSWORD, email: `${name}@${kind.domain}` }];
  const idp = await kind.start({ ...settings, people: Object.fromEntries(["ada", "grace"].map(user)) });
  try {
    const { id, metadata } = await gatehouse.connect(idp);
    await idp.register(metadata);
    const all = cases(idp, id, parseMetadata(metadata).entityId);
    for (const [name, run] of all) {
      try {
        await run();
      } catch (error) {
        throw new Error(`${idp.name}, ${name}: ${error.message}\n${await idp.recentLog()}`, { cause: error });
      }
      console.log(`${idp.name}: ${name}`);
    }
    console.log(`${idp.name}: all ${all.length} in ${((Date.now() - started) / 1000).toFixed(1)} seconds`);
  } finally {
    idp.close();
  }
}

await check(SimpleSamlPhp, {
  program: process.env.SIMPLESAMLPHP,
  configuration: `${root}/bins/gatehouse/tests/peers/saml/simplesamlphp`,
  folder: `${folder}/simplesamlphp`,
});
await check(Samlp, { folder: `${folder}/samlp` });
