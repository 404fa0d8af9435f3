/** Requests to the Worker, as the runtime would make them, and what their answers have to be. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Slug } from "../../../src/core/problem.ts";
import type { Env } from "../../../src/env.ts";
import worker from "../../../src/worker.ts";

export const GATEWAY = "https://gateway.example";

/** Header fields by name; null sends none of that name. */
type Fields = Readonly<Record<string, string | null>>;
type Sent = { method?: string; headers?: Fields; body?: string; cf?: Record<string, unknown> };

let keysMade = 0;

/** A key that no other test of the same file uses. */
export function makeKey(): string {
  keysMade += 1;
  return `key-number-${keysMade}`;
}

/** Other values of some bindings for the Worker alone: key objects keep those of the configuration. */
export function bindWith(changes: Readonly<Record<string, unknown>>): Env {
  return { ...env, ...changes };
}

export function makeRequest(path: string, { method = "GET", headers = {}, body, cf }: Sent = {}) {
  const given = Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== null);
  return new Request<unknown, IncomingRequestCfProperties>(`${GATEWAY}${path}`, {
    method,
    headers: given,
    ...(body === undefined ? {} : { body }),
    ...(cf === undefined ? {} : { cf: cf as unknown as IncomingRequestCfProperties }),
  });
}

export async function send(request: ReturnType<typeof makeRequest>, bindings: Env = env): Promise<Response> {
  return worker.fetch(request, bindings, createExecutionContext());
}

export function get(path: string, headers: Fields = {}, bindings: Env = env): Promise<Response> {
  return send(makeRequest(path, { headers: { Authorization: "Bearer alice", ...headers } }), bindings);
}

/** A guarded request by `alice` with a small JSON body, unless `sent` says otherwise. */
export function post(path: string, key: string, sent: Sent = {}, bindings: Env = env): Promise<Response> {
  const headers = {
    "Idempotency-Key": key,
    Authorization: "Bearer alice",
    "Content-Type": "application/json",
    ...sent.headers,
  };
  return send(makeRequest(path, { method: "POST", body: '{"amount":1}', ...sent, headers }), bindings);
}

export type Mark = "executed" | "replayed" | "released" | "unknown" | "unprotected";

/** The answer is the origin's, marked so. Gives its body. */
export async function expectAnswer(response: Response, mark: Mark, status = 201): Promise<string> {
  const body = await response.text();
  expect({ status: response.status, mark: response.headers.get("Idempotency-Status"), body }).toEqual({
    status,
    mark,
    body,
  });
  return body;
}

/** The answer is the gateway's refusal of that name. Gives its members. */
export async function expectProblem(
  response: Response,
  slug: Slug,
  status: number,
): Promise<Record<string, unknown>> {
  const text = await response.text();
  expect({ status: response.status, text }).toEqual({
    status,
    text: expect.stringContaining(`/_oncegate/problems/${slug}"`),
  });
  expect(response.headers.get("Content-Type")).toBe("application/problem+json");
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  return JSON.parse(text);
}

/** The operation that a guarded answer's `Link` names. */
export function operationOf(response: Response): string {
  const link = response.headers.get("Link") ?? "";
  const operation = /<\/_oncegate\/operations\/([\w-]{43}\.[\w-]{11})>; rel="status"/.exec(link)?.[1];
  if (operation === undefined) throw new Error(`no status link: ${link}`);
  return operation;
}
