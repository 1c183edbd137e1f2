// Signs users in through independent OpenID providers.
// check.mjs BASE_URL FOLDER, with PROGRAM, PYTHON and the server's own variables. FOLDER has server.pem and server.key,
// a certificate of `localhost`, and ca.pem, which issued it. The server trusts ca.pem by GATEHOUSE_WEBHOOKS_CA_FILE,
// and this program by NODE_EXTRA_CA_CERTS.
import assert from "node:assert/strict";
import { Gatehouse } from "./gatehouse.mjs";
import { Idpyoidc } from "./idpyoidc.mjs";
import { Login, PASSWORD, withParameters } from "./login.mjs";
import { OidcProvider } from "./oidc-provider.mjs";

const ACR = "urn:example:two-factors";
const [base, folder] = process.argv.slice(2);
const gatehouse = new Gatehouse({ base, program: process.env.PROGRAM });

/** The SSO connections to each provider, each in its own tenant, with options of the command line. */
const CONNECTIONS = {
  basic: { method: "client_secret_basic" },
  post: { method: "client_secret_post", options: ["--use-user-info"] },
  key: { method: "private_key_jwt" },
  prompt: { method: "client_secret_basic", options: ["--prompt", "login"] },
  age: { method: "client_secret_basic", options: ["--max-age", "0"] },
  acr: { method: "client_secret_basic", options: ["--acr-values", ACR] },
  logout: { method: "client_secret_basic", options: ["--sign-out-at-provider"] },
};

/** Connects a provider in each of these ways; returns the connections by name. */
async function connectAll(provider) {
  const found = {};
  for (const [name, { method, options = [] }] of Object.entries(CONNECTIONS)) {
    const clientId = `gatehouse-${name}`;
    const connection = await gatehouse.connect(provider, { name, clientId, method, options });
    await provider.register({ clientId, method, ...connection });
    found[name] = connection;
  }
  return found;
}

/** Returns the cases for one provider, as pairs of a name and a function. */
function cases(provider, connections) {
  const newLogin = (name, browser) => new Login({ gatehouse, provider, connection: connections[name], browser });
  const configured = async (name, settings = {}) => {
    await provider.configure(settings);
    return newLogin(name);
  };
  const accepted = async (name, settings) => {
    const login = await configured(name, settings);
    await login.assertAccepted(await login.authenticate());
    return provider.lastIdToken();
  };
  const refused = async (name, settings, reason, code, username) => {
    const login = await configured(name, settings);
    await login.assertRefused(await login.authenticate(username), [reason], code);
    await login.assertSignedOut();
    return login;
  };
  /** Changes the provider's redirect after a login, and asserts that it is refused. */
  const changed = async (parameters, reason) => {
    const login = await configured("basic");
    await login.assertRefused(withParameters(await login.authenticate(), parameters), [reason]);
    await login.assertSignedOut();
  };
  return [
    ...provider.algorithms.map((algorithm) => [`client_secret_basic, ${algorithm}`, async () => {
      assert.equal((await accepted("basic", { algorithm })).algorithm, algorithm);
    }]),
    ["client_secret_post, the address in UserInfo only", async () => {
      assert.ok(!("email" in (await accepted("post", { claims: "userinfo" })).claims));
    }],
    ["the address in UserInfo only, which is not asked for: refused", () => {
      return refused("basic", { claims: "userinfo" }, "EMAIL_MISSING");
    }],
    ["private_key_jwt", () => accepted("key")],
    ["private_key_jwt, the next key", async () => {
      const rotate = ["oidc", "rotate", "--id", connections.key.id];
      await gatehouse.command(rotate);
      await accepted("key");
      await gatehouse.command([...rotate, "--complete"]);
      await accepted("key");
    }],
    ...["basic", "post"].map((name) => [`another secret, client_secret_${name}: refused`, () => {
      return refused(name, { secret: "another-secret" }, "TOKEN_REQUEST_REFUSED");
    }]),
    ["a wrong password, then the right one", async () => {
      const login = await configured("basic");
      const page = await login.submitPassword(await login.start(), "ada", "not this one");
      assert.equal(page.headers.get("location"), null);
      await login.assertSignedOut();
      await login.assertAccepted(login.callback(await login.submitPassword(page)));
    }],
    ["a second login without a password", async () => {
      const login = await configured("basic");
      await login.assertAccepted(await login.authenticate());
      await login.assertAccepted(login.callback(await login.start()));
    }],
    ["a second login with a password, because of prompt", async () => {
      const login = await configured("prompt");
      await login.assertAccepted(await login.authenticate());
      await login.assertAccepted(await login.authenticate());
    }],
    ["a login too long ago: refused", () => refused("age", { ageSeconds: 600 }, "AUTHENTICATION_TOO_OLD")],
    ...(provider.honoursMaxAge ? [["a second login with a password, because of max_age", async () => {
      const first = await configured("basic", { ageSeconds: 600 });
      await first.assertAccepted(await first.authenticate());
      await provider.configure({});
      await first.assertAccepted(first.callback(await first.start()));
      const second = newLogin("age", first.browser);
      await second.assertAccepted(await second.authenticate());
    }]] : []),
    ["the requested method", () => accepted("acr", { acr: ACR })],
    ["another method than requested: refused", () => refused("acr", {}, "AUTHN_NOT_AS_REQUESTED")],
    ["the user cancels: refused", async () => {
      const login = await configured("basic");
      const address = login.callback(await login.submit(await login.start(), { cancel: "yes" }));
      await login.assertRefused(address, ["PROVIDER_ERROR"]);
      await login.assertSignedOut();
    }],
    ["a user unknown to Gatehouse: refused", () => refused("basic", {}, "NOT_PROVISIONED", "NOT_PROVISIONED", "grace")],
    ["an address that is not verified: refused", () => {
      return refused("basic", { person: { verified: false } }, "EMAIL_NOT_VERIFIED");
    }],
    ["an address in another domain: refused", () => {
      return refused("basic", { person: { email: "ada@another.example" } }, "EMAIL_DOMAIN_NOT_ALLOWED");
    }],
    ["another subject with the same address: refused", () => {
      return refused("basic", { subject: "ada-2" }, "SUBJECT_CHANGED");
    }],
    ["the same redirect twice: refused", async () => {
      const login = await configured("basic");
      const address = await login.authenticate();
      await login.assertAccepted(address);
      // The first redirect also removed the cookie that binds the request to the browser.
      await login.assertRefused(address, ["REQUEST_ALREADY_ANSWERED", "OTHER_BROWSER"]);
    }],
    ["a redirect in another browser: refused", async () => {
      const address = await (await configured("basic")).authenticate();
      const other = newLogin("basic");
      await other.assertRefused(address, ["OTHER_BROWSER"]);
      await other.assertSignedOut();
    }],
    ["a code of another login: refused", async () => {
      const [login, other] = [await configured("basic"), newLogin("basic")];
      const code = new URL(await other.authenticate()).searchParams.get("code");
      await login.assertRefused(withParameters(await login.authenticate(), { code }), ["TOKEN_REQUEST_REFUSED"]);
      await login.assertSignedOut();
    }],
    ["a state of nobody: refused", () => changed({ state: "0".repeat(40) }, "REQUEST_UNKNOWN_OR_EXPIRED")],
    ["a redirect of another issuer: refused", () => {
      return changed({ iss: "https://another.example" }, "CALLBACK_WRONG_ISSUER");
    }],
    ...(provider.announcesIssuer
      ? [["a redirect without its issuer: refused", () => changed({ iss: null }, "CALLBACK_ISSUER_MISSING")]]
      : [["a redirect without its issuer", async () => {
        const login = await configured("basic");
        await login.assertAccepted(withParameters(await login.authenticate(), { iss: null }));
      }]]),
    ...(provider.hasLogout ? [["a logout at the provider ends the session in every browser of it only", async () => {
      const login = await configured("basic");
      await login.assertAccepted(await login.authenticate());
      const other = newLogin("basic");
      await other.assertAccepted(await other.authenticate());
      const page = await login.browser.open(`${provider.issuer}/session/end`);
      await login.confirmLogout(page);
      await login.assertSignedOut();
      assert.notEqual(await gatehouse.signedInUser(other.browser), null);
    }], ["a sign-out continues at the provider, and returns", async () => {
      const login = await configured("logout");
      await login.assertAccepted(await login.authenticate());
      const { logoutUrl } = await gatehouse.signOut(login.browser);
      await login.assertSignedOut();
      const page = await login.confirmLogout(await login.browser.open(logoutUrl));
      assert.deepEqual([page.status, page.url], [200, login.connection.postLogoutRedirectUri], page.text);
      // The provider asks for the password again.
      await login.assertAccepted(await login.authenticate());
    }]] : []),
    ["a new key", () => accepted("key", { key: "second" })],
    ["a key not in the key set: refused", () => refused("post", { key: "unknown" }, "KEY_UNKNOWN")],
    ["a key not in the key set: refused on a page", async () => {
      const login = await configured("post", { key: "unknown" });
      await login.assertRefusedOnPage(await login.authenticate());
      await login.assertSignedOut();
    }],
    ["the first key again", () => accepted("basic")],
  ];
}

async function check(kind, settings) {
  const started = Date.now();
  const user = (name) => [name, { password: PASSWORD, email: `${name}@${kind.domain}` }];
  const provider = await kind.start({ folder, people: Object.fromEntries(["ada", "grace"].map(user)), ...settings });
  const attempt = async (name, run) => {
    try {
      return await run();
    } catch (error) {
      throw new Error(`${provider.name}, ${name}: ${error.message}\n${await provider.recentLog()}`, { cause: error });
    }
  };
  try {
    const all = cases(provider, await attempt("connect", () => connectAll(provider)));
    for (const [name, run] of all) {
      await attempt(name, run);
      console.log(`${provider.name}: ${name}`);
    }
    console.log(`${provider.name}: all ${all.length} in ${((Date.now() - started) / 1000).toFixed(1)} seconds`);
  } finally {
    provider.close();
  }
}

await check(OidcProvider);
await check(Idpyoidc, { python: process.env.PYTHON });
