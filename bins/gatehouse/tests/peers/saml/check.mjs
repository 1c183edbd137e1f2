// Identity providers that others made, and people who sign in through them.
// check.mjs BASE_URL FOLDER ROOT, with PROGRAM, SIMPLESAMLPHP and the server's own variables.
import assert from "node:assert/strict";
import { House, ours } from "./house.mjs";
import { Samlp } from "./samlp.mjs";
import { SimpleSamlPhp } from "./simplesamlphp.mjs";
import { PASSWORD, Walk, parts } from "./walk.mjs";

const [base, folder, root] = process.argv.slice(2);
const house = new House({ base, program: process.env.PROGRAM, folder });

/** All that is tried with one: what it is, and how it goes. */
function walks(idp, id, entityId) {
  const walker = (browser) => new Walk({ house, idp, id, browser });
  // Theirs answers in this way from now on.
  const by = async (way) => {
    await idp.set(way);
    return walker();
  };
  const login = async (way) => {
    const walk = await by(way);
    const form = await walk.answered();
    await walk.welcome(form);
    return parts(form);
  };
  const refused = async (way, reason, code, username) => {
    const walk = await by(way);
    const form = await walk.answered(username);
    await walk.refusal(form, [reason], code);
    await walk.nobody();
    return parts(form);
  };
  const kinds = ["assertion", "response", "both"];
  const [cipher] = idp.ciphers;
  return [
    ...kinds.map((sign) => [`signed ${sign}`, async () => {
      const { response, assertion, used } = await login({ sign });
      assert.deepEqual({ response, assertion }, { response: sign !== "assertion", assertion: sign !== "response" });
      assert.deepEqual([...used].sort(), ["rsa-sha256", "sha256"]);
    }]),
    ...idp.ciphers.flatMap((name) => kinds.map((sign) => [`${name}, signed ${sign}`, async () => {
      const { response, assertion, ...found } = await login({ sign, cipher: name });
      assert.deepEqual({ response, assertion }, { response: sign !== "assertion", assertion: false });
      assert.deepEqual([found.cipher, found.transport], [name, "rsa-oaep-mgf1p"]);
    }])),
    [`${idp.cbc}: refused`, async () => {
      assert.equal((await refused({ cipher: idp.cbc }, "DECRYPTION_FAILED")).cipher, idp.cbc);
    }],
    ...idp.telling.slice(1).map((tell) => [`the address as ${tell}`, () => login({ tell })]),
    ["a wrong password, then the right one", async () => {
      const walk = await by({});
      const page = await walk.password(await walk.begin(), "ada", "not this one");
      assert.ok(!page.forms.some(({ fields }) => fields.SAMLResponse), "there is an answer");
      await walk.nobody();
      await walk.welcome(walk.answer(await walk.password(page)));
    }],
    ["somebody unknown here: refused", () => refused({}, "NOT_PROVISIONED", "NOT_PROVISIONED", "grace")],
    ["the same answer twice: refused", async () => {
      const walk = await by({});
      const form = await walk.answered();
      await walk.welcome(form);
      // What binds the request to the browser is gone by then.
      await walk.refusal(form, ["REQUEST_ALREADY_ANSWERED", "OTHER_BROWSER"]);
    }],
    ["an answer to another browser: refused", async () => {
      const form = await (await by({})).answered();
      const other = walker();
      await other.refusal(form, ["OTHER_BROWSER"]);
      await other.nobody();
    }],
    ["begun at theirs: refused", async () => {
      const walk = await by({});
      const form = walk.answer(await walk.password(await walk.browser.open(idp.unasked(entityId))));
      await walk.refusal(form, ["UNSOLICITED"]);
      await walk.nobody();
    }],
    ["the announced key", () => login({ key: "second" })],
    [`the announced key, ${cipher}`, () => login({ key: "second", cipher, sign: "assertion" })],
    ["a key that was not announced: refused", () => refused({ key: "unknown" }, "SIGNATURE_INVALID")],
    [`a key that was not announced, ${cipher}: refused`, () => {
      return refused({ key: "unknown", cipher, sign: "assertion" }, "SIGNATURE_INVALID");
    }],
    ["a key that was not announced: refused on a page", async () => {
      const walk = await by({ key: "unknown" });
      await walk.told(await walk.answered());
      await walk.nobody();
    }],
    ["the first key again", () => login({})],
  ];
}

async function check(kind, settings) {
  const started = Date.now();
  const name = (who) => [who, { password: PASSWORD, email: `${who}@${kind.domain}` }];
  const idp = await kind.start({ ...settings, people: Object.fromEntries(["ada", "grace"].map(name)) });
  try {
    const { id, metadata } = await house.welcome(idp);
    await idp.meet(metadata);
    const all = walks(idp, id, ours(metadata).entityId);
    for (const [what, walk] of all) {
      try {
        await walk();
      } catch (error) {
        throw new Error(`${idp.name}, ${what}: ${error.message}\n${await idp.diary()}`, { cause: error });
      }
      console.log(`${idp.name}: ${what}`);
    }
    console.log(`${idp.name}: all ${all.length} in ${((Date.now() - started) / 1000).toFixed(1)} seconds`);
  } finally {
    idp.close();
  }
}

await check(SimpleSamlPhp, {
  program: process.env.SIMPLESAMLPHP,
  settings: `${root}/bins/gatehouse/tests/peers/saml/simplesamlphp`,
  folder: `${folder}/simplesamlphp`,
});
await check(Samlp, { folder: `${folder}/samlp` });
