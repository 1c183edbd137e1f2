// Receivers of all kinds beside the server: they take what it sends, and nothing else, and go on through a rotation.
// check.mjs BASE_URL ROOT, with PROGRAM, PYTHON, TENANT, TOKEN, EMAIL, PASSWORD and the server's own variables.
import assert from "node:assert/strict";
import { House } from "./house.mjs";
import { kinds, recorder, send, start, until } from "./receivers.mjs";
import { forgeries, genuine, signed } from "./signing.mjs";

const [base, root] = process.argv.slice(2);
const facts = process.env;
const house = new House({ base, program: facts.PROGRAM, tenant: facts.TENANT, token: facts.TOKEN });
const all = Object.entries(kinds(root, facts.PYTHON));
const startAll = (secretsOf) => Promise.all(all.map((kind) => start(kind, secretsOf(kind[0]))));
const hooks = "/api/settings/webhooks";
const subscribe = (name, url) => house.api("POST", hooks, { name, url, eventFilters: ["ACCOUNT_USER_*"] });
const refusal = { status: 401, code: "WEBHOOK_INVALID_SIGNATURE" };
const taken = { status: 204 };

// Each has a subscription of its own, and knows the secret of the recorder's too. It has no address until it runs.
const records = await recorder();
const recorded = await subscribe("recorder", records.url);
const own = new Map();
for (const [name] of all) own.set(name, await subscribe(name, "http://127.0.0.1:1/"));
const receivers = await startAll((name) => [own.get(name).secret, recorded.secret]);
for (const { name, url } of receivers) {
  await house.api("PATCH", `${hooks}/${own.get(name).id}`, { url: `${url}/hooks` });
}

const events = async (count) => {
  await until(`event ${count}`, () => records.kept.length >= count);
  return records.kept;
};

// What the server sends, everybody takes: at once, and each event once.
for (const name of ["ada", "grace", "edsger"]) await house.happen(`${name}@example.com`);
const ids = (await events(3)).map(({ headers }) => headers["x-service-event-id"]).sort();
for (const { name, accepted } of receivers) {
  await until(`three events at ${name}`, () => accepted().length >= 3);
  assert.deepEqual(accepted().sort(), ids, name);
  const { deliveries } = await until(`three deliveries to ${name}`, async () => {
    const list = await house.api("GET", `${hooks}/${own.get(name).id}/deliveries`);
    return list.deliveries.every(({ status }) => status === "SUCCEEDED") && list;
  });
  const told = deliveries.map(({ eventId, attempt, httpStatus }) => [eventId, attempt, httpStatus]).sort();
  assert.deepEqual(told, ids.map((id) => [id, 1, 204]), name);
  const tested = await house.api("POST", `${hooks}/${own.get(name).id}/test`);
  assert.equal(tested.httpStatus, 204, name);
  await until(`a test at ${name}`, () => accepted().length === 4);
}

// What it did not send, nobody takes, and nobody takes anything twice.
const [sample] = records.kept;
let refused = 0;
for (const { name, url, accepted } of receivers) {
  const before = accepted().length;
  const edges = genuine(recorded.secret);
  for (const [what, copy] of Object.entries(edges)) {
    assert.deepEqual(await send(url, copy), taken, `${name}: ${what}`);
  }
  const known = Object.values(edges).map(({ id }) => id);
  await until(`what was signed here at ${name}`, () => accepted().length === before + known.length);
  assert.deepEqual(accepted().slice(before), known);

  assert.deepEqual(await send(url, sample), taken, `${name}: the same once more`);
  for (const source of [sample, edges["signed here"]]) {
    for (const [what, copy] of Object.entries(forgeries(source, recorded.secret, "whsec_bm90IHRoaXMgb25l"))) {
      assert.deepEqual(await send(url, copy), refusal, `${name}: ${what}`);
      refused += 1;
    }
  }
  if (name.startsWith("receiver.")) {
    // The header is not signed: an eavesdropper can change it.
    const renamed = { ...sample, headers: { ...sample.headers, "x-service-event-id": "evt_other" } };
    assert.deepEqual(await send(url, renamed), taken, name);
    const large = signed(recorded.secret, { body: Buffer.alloc(8 << 20, " ") });
    assert.ok([413, 0].includes((await send(url, large)).status), `${name}: a large body`);
  }
  assert.equal(accepted().length, before + known.length, `${name} took what it was to refuse`);
}

// Through a rotation, with those who know the old secret, the new one, or both.
await house.signIn(facts.EMAIL, facts.PASSWORD);
const rotated = await house.prove(`${hooks}/${recorded.id}/rotate-secret`, { overlapHours: 1 });
assert.ok(rotated.rotatingUntil && rotated.secret !== recorded.secret);
const renewed = await startAll(() => [rotated.secret]);
const careful = await startAll(() => [recorded.secret, rotated.secret]);
records.audience = [...receivers, ...renewed, ...careful];

/** An event meanwhile, and who has to take it. */
async function meanwhile(name, expected) {
  const count = records.kept.length;
  await house.happen(`${name}@example.com`);
  const copy = (await events(count + 1))[count];
  assert.equal(copy.answers.length, 3 * all.length);
  for (const [receiver, answer] of copy.answers) {
    const knows = receivers.includes(receiver) ? "the old" : renewed.includes(receiver) ? "the new" : "both";
    const right = expected(receiver, knows) ? taken : refusal;
    assert.deepEqual(answer, right, `${name}: ${receiver.name}, which knows ${knows}`);
  }
  return copy;
}

// The header of the specification stays the old secret's; the one of Standard Webhooks is of both.
const during = await meanwhile("during", ({ headers }, knows) => knows !== "the new" || headers === "standard");
assert.match(during.headers["x-service-signature"], /^v1=[0-9a-f]{64}$/);
assert.equal(during.headers["webhook-signature"].split(" ").length, 2);
const { "x-service-signature-next": next, ...others } = during.headers;
const changed = { ...during, headers: { ...others, "x-service-signature": next } };
for (const { name, url } of renewed) assert.deepEqual(await send(url, changed), taken, `${name}: the next signature`);
const late = { ...during, headers: { ...others, "x-service-timestamp": "1", "webhook-timestamp": "1" } };
for (const { name, url } of records.audience) assert.deepEqual(await send(url, late), refusal, `${name}: later`);

await house.prove(`${hooks}/${recorded.id}/rotate-secret/complete`);
const after = await meanwhile("after", (_, knows) => knows !== "the old");
assert.ok(!("x-service-signature-next" in after.headers));
assert.equal(after.headers["webhook-signature"].split(" ").length, 1);

// Those with a subscription of their own have had these events as well.
for (const { name, accepted } of receivers) {
  for (const { headers } of [during, after]) {
    await until(`all events at ${name}`, () => accepted().includes(headers["x-service-event-id"]));
  }
  // Three events, a test, three signed here, two of the rotation.
  assert.equal(accepted().length, 9, `${name} took ${accepted()}`);
}
console.log(`webhooks: ${all.length} kinds of receivers took all, through a rotation, and refused ${refused} forgeries`);
process.exit(0);
