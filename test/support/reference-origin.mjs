/**
 * An API that answers probes, as the README describes it: the effect's id is stored in the transaction of the effect, an id that
 * was voided is refused for ever, and a refusal can be proved. Plain Node, no package. `interfere` lets a test break the line.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";

const SCHEMA = `
  CREATE TABLE payments (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL);
  CREATE TABLE effects (id TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID -- no answer: void
`;

/**
 * What a test does to a payment: before its effect, and with its answer.
 *
 * @typedef {{before: (response: import("node:http").ServerResponse) => Promise<void> | void,
 *   send: typeof sendAnswer}} Interference
 * @type {Interference}
 */
const NOTHING = { before: () => {}, send: sendAnswer };

/**
 * @param {{evidenceKey?: string, port?: number}} [settings] `evidenceKey` is `ORIGIN_EVIDENCE_KEY`, in base64
 */
export async function startReferenceOrigin({ evidenceKey = "", port = 0 } = {}) {
  const database = new DatabaseSync(":memory:");
  database.exec(SCHEMA);
  const origin = {
    database,
    key: Buffer.from(evidenceKey, "base64"),
    interfere: NOTHING,
    payments: 0,
    probes: 0,
  };
  const server = createServer((request, response) => {
    serve(origin, request, response).catch(() => response.destroy());
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: server.address().port,
    url: `http://127.0.0.1:${server.address().port}`,
    executions: () => Number(database.prepare("SELECT count(*) AS count FROM payments").get()?.count),
    arrivals: () => ({ payments: origin.payments, probes: origin.probes }),
    /** @param {Partial<Interference>} how */
    interfere: (how) => {
      origin.interfere = { ...NOTHING, ...how };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function serve(origin, request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const [, id, isVoid] = /^\/effects\/([^/]+)(\/void)?$/.exec(request.url) ?? [];
  if (id === undefined) return pay(origin, request, response, Buffer.concat(chunks).toString());
  origin.probes += 1;
  if (!isSigned(origin, request.headers)) return sendJson(response, 403, {});
  if (isVoid === undefined) return sendJson(response, 200, findEffect(origin, id));
  return sendJson(response, 200, request.method === "POST" ? voidEffect(origin, id) : { outcome: "unknown" });
}

async function pay(origin, request, response, text) {
  origin.payments += 1;
  const { "effect-id": effect, "effect-attempt": attempt } = request.headers;
  await origin.interfere.before(response);
  const { amount } = JSON.parse(text);
  if (!(amount > 0)) return refuse(origin, response, effect, attempt);
  const found = inTransaction(origin, () => {
    // The same attempt once more, or one that was voided: nothing is done.
    const stored = origin.database.prepare("SELECT answer FROM effects WHERE id = ?").get(effect);
    if (stored !== undefined) return stored;
    const { lastInsertRowid } = origin.database
      .prepare("INSERT INTO payments (amount) VALUES (?)")
      .run(amount);
    const body = JSON.stringify({ payment: Number(lastInsertRowid), amount });
    const answer = JSON.stringify({ status: 201, headers: [["Content-Type", "application/json"]], body });
    origin.database.prepare("INSERT INTO effects (id, answer) VALUES (?, ?)").run(effect, answer);
    return { answer };
  });
  if (found.answer === null) return refuse(origin, response, effect, attempt);
  return origin.interfere.send(response, JSON.parse(found.answer));
}

function findEffect({ database }, id) {
  const stored = database.prepare("SELECT answer FROM effects WHERE id = ?").get(id);
  return (stored?.answer ?? null) === null
    ? { outcome: "none" }
    : { outcome: "committed", answer: JSON.parse(stored.answer) };
}

function voidEffect(origin, id) {
  return inTransaction(origin, () => {
    origin.database.prepare("INSERT OR IGNORE INTO effects (id, answer) VALUES (?, NULL)").run(id);
    const found = findEffect(origin, id);
    return found.outcome === "none" ? { outcome: "void" } : found;
  });
}

function inTransaction({ database }, act) {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = act();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

const macOf = (key, ...parts) => createHmac("sha256", key).update(parts.join("\n")).digest("base64");

function refuse({ key }, response, effect, attempt) {
  const mac = macOf(key, "oncegate-evidence-v1", effect, attempt, "none");
  const proof = key.length === 0 ? {} : { "Effect-Evidence": `none; mac="${mac}"` };
  return sendJson(response, 422, { error: "nothing was paid" }, proof);
}

function isSigned({ key }, { "effect-id": effect, "effect-attempt": attempt, "effect-probe": given = "" }) {
  if (key.length === 0) return true;
  const wanted = Buffer.from(`mac="${macOf(key, "oncegate-probe-v1", effect, attempt, "probe")}"`);
  return given.length === wanted.length && timingSafeEqual(Buffer.from(given), wanted);
}

function sendJson(response, status, value, fields = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...fields }).end(JSON.stringify(value));
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {{status: number, headers: [string, string][], body: string}} answer
 */
export function sendAnswer(response, { status, headers, body }) {
  response.writeHead(status, headers.flat()).end(body);
}
