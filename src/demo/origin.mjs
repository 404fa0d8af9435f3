/**
 * The demo origin: a tiny payments API that knows nothing of idempotency keys. It counts every real execution, so that
 * anyone can see whether a retry ran again, and it can be told to fail in the ways that make retries dangerous. It keeps the
 * `Effect-Id` of each payment with it, so that the gateway can ask what became of one whose answer was lost.
 *
 * `POST /payments` `{amount, currency, reference?}` → 201; `GET /payments`; `GET /payments/{id}`;
 * `GET /effects/{id}` and `POST /effects/{id}/void`: what became of an effect, and that it never may any more;
 * `POST /demo/switch` `{mode}` and `DELETE /demo/switch`. One request's own mode: header `Demo`.
 */
import { createServer } from "node:http";
import { MODES, NORMAL, readMode } from "./origin-mode.mjs";

const BODY_BYTES_MAX = 64 * 1024;
const PAYMENTS_MAX = 10_000;
const LISTED_MAX = 100;

/**
 * Starts a demo origin of its own state.
 *
 * @param {{port?: number, host?: string}} [where] port 0 (the default) takes a free one; host is 127.0.0.1 by default
 * @returns {Promise<{url: string, close: () => Promise<void>}>} `url` without a slash at its end; `close` cuts every
 *   connection, hanging ones too. Rejects with the system's error when the port cannot be had.
 */
export async function startDemoOrigin({ port = 0, host = "127.0.0.1" } = {}) {
  const state = { mode: NORMAL, executions: 0, payments: new Map(), effects: new Map() };
  const server = createServer((request, response) => {
    answerRequest(state, request, response).catch(() => response.destroy());
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const hostInUrl = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${hostInUrl}:${server.address().port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answerRequest(state, request, response) {
  const path = request.url.split("?", 1)[0];
  const payment = path.startsWith("/payments/") ? path.slice("/payments/".length) : null;
  if (path === "/payments" && request.method === "POST") return createPayment(state, request, response);
  if (path === "/payments" && isRead(request)) return sendJson(response, 200, listPayments(state));
  if (path === "/demo/switch") return turnSwitch(state, request, response);
  if (payment !== null && isRead(request)) {
    const found = state.payments.get(payment);
    return found === undefined ? sendError(response, 404, "no such payment") : sendJson(response, 200, found);
  }
  const [, effect, isVoid] = /^\/effects\/([^/]+)(\/void)?$/.exec(path) ?? [];
  if (effect !== undefined && isVoid === undefined && isRead(request)) {
    return sendJson(response, 200, findEffect(state, effect));
  }
  if (isVoid !== undefined && request.method === "POST") {
    return sendJson(response, 200, voidEffect(state, effect));
  }
  const known = path === "/payments" || payment !== null;
  return known
    ? sendError(response, 405, "method not allowed")
    : sendError(response, 404, "not found; try /payments");
}

const isRead = (request) => request.method === "GET" || request.method === "HEAD";

function listPayments(state) {
  const items = [...state.payments.values()].slice(-LISTED_MAX);
  return { count: state.executions, items };
}

async function createPayment(state, request, response) {
  const header = request.headers.demo;
  const mode = header === undefined ? state.mode : readMode(header);
  if (mode === null) return sendError(response, 400, `Demo is one of: ${MODES.join(", ")}`);
  const body = await readJson(request);
  if (body.kind !== "json") return sendError(response, body.status, body.message);
  const checked = checkPayment(body.value);
  if (checked.kind === "refused") return sendError(response, 422, checked.message);

  if (mode.kind === "refuse") return sendError(response, 429, "too many payments", { "Retry-After": "1" });
  if (mode.kind === "slow") await wait(mode.ms);
  if (mode.kind === "hang-before-effect") return; // the connection stays open until the caller gives up
  const effectId = request.headers["effect-id"];
  // Whoever voided it counts on it: the next try may be under way already.
  if (state.effects.get(effectId)?.outcome === "void") return sendError(response, 409, "this try was voided");
  const payment = recordPayment(state, checked.payment, effectId);
  return answerPayment(mode, payment, state, request, response);
}

/** What became of an effect. To be void is told only to who asks to void it. */
function findEffect({ effects }, id) {
  const found = effects.get(id);
  return found?.outcome === "committed" ? found : { outcome: "none" };
}

function voidEffect({ effects }, id) {
  if (!effects.has(id)) keepEffect(effects, id, { outcome: "void" });
  return effects.get(id);
}

function keepEffect(effects, id, effect) {
  effects.set(id, effect);
  if (effects.size > PAYMENTS_MAX) effects.delete(effects.keys().next().value);
}

function recordPayment(state, fields, effectId) {
  state.executions += 1;
  const payment = {
    id: `pay_${state.executions}`,
    ...fields,
    ...(effectId === undefined ? {} : { effect_id: effectId }),
    created: new Date().toISOString(),
  };
  state.payments.set(payment.id, payment);
  // In the same turn as the payment: one is never there without the other.
  if (effectId !== undefined) {
    keepEffect(state.effects, effectId, { outcome: "committed", answer: describeAnswer(payment, state) });
  }
  if (state.payments.size > PAYMENTS_MAX) state.payments.delete(state.payments.keys().next().value);
  return payment;
}

function answerPayment(mode, payment, state, request, response) {
  switch (mode.kind) {
    case "fail-after-effect":
      return sendError(response, 500, "the payment was made, then something broke");
    case "hang-after-effect":
      return; // the connection stays open until the caller gives up
    case "reset-after-effect":
      request.socket.resetAndDestroy();
      return;
    default: {
      const { status, headers, body } = describeAnswer(payment, state);
      response.writeHead(status, [...headers.flat(), "Content-Length", String(Buffer.byteLength(body))]);
      return response.end(body);
    }
  }
}

function describeAnswer(payment, state) {
  return {
    status: 201,
    headers: [
      ["Content-Type", "application/json"],
      ["Location", `/payments/${payment.id}`],
    ],
    body: `${JSON.stringify({ ...payment, executions: state.executions })}\n`,
  };
}

function checkPayment(value) {
  const refuse = (message) => ({ kind: "refused", message });
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse("an object is needed");
  const { amount, currency = "EUR", reference } = value;
  if (!Number.isFinite(amount) || amount < 0) return refuse("amount is a number, 0 or more");
  if (typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency)) {
    return refuse("currency is three capital letters");
  }
  if (reference === undefined) return { kind: "sound", payment: { amount, currency } };
  if (typeof reference !== "string" || reference.length > 100) {
    return refuse("reference is text of at most 100 characters");
  }
  return { kind: "sound", payment: { amount, currency, reference } };
}

async function turnSwitch(state, request, response) {
  if (isRead(request)) return sendJson(response, 200, { mode: state.mode.text });
  if (request.method === "DELETE") {
    state.mode = NORMAL;
    return sendJson(response, 200, { mode: state.mode.text });
  }
  if (request.method !== "POST") return sendError(response, 405, "method not allowed");
  const body = await readJson(request);
  if (body.kind !== "json") return sendError(response, body.status, body.message);
  const mode = readMode(body.value?.mode);
  if (mode === null) return sendError(response, 400, `mode is one of: ${MODES.join(", ")}`);
  state.mode = mode;
  return sendJson(response, 200, { mode: mode.text });
}

async function readJson(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= BODY_BYTES_MAX) chunks.push(chunk);
    else if (size > 16 * BODY_BYTES_MAX) throw new Error("body far over the limit");
  }
  if (size > BODY_BYTES_MAX) {
    return { kind: "refused", status: 413, message: `body over ${BODY_BYTES_MAX} bytes` };
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    return { kind: "refused", status: 400, message: "body is not JSON" };
  }
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function sendJson(response, status, value, headers = {}) {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": body.length,
    ...headers,
  });
  response.end(body);
}

const sendError = (response, status, message, headers) =>
  sendJson(response, status, { error: message }, headers);
