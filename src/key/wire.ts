/**
 * How an operation travels to its key object and the outcome back: one request and one response of `stub.fetch`, which costs
 * less than a method call and passes bodies on without copying them. The body is the body; the rest is JSON in one field.
 */
import { isBodiless } from "../core/http/outcome.ts";
import { CACHED_ANSWER_BYTES_MAX } from "../core/limits.ts";
import type { Begun, Given, Operation } from "../core/ports.ts";

const FIELD = "oncegate";

/** Changes with every change of what travels. */
export const WIRE_VERSION = 1;

/** What the object is asked: to run the whole operation, or only to claim the key for a caller that runs it. */
export type Ask = "submit" | "begin";

const EMPTY = new Uint8Array();

/** JSON in visible ASCII, as a field value has to be. */
function toField(value: unknown): string {
  return JSON.stringify({ v: WIRE_VERSION, value }).replace(
    /[^\x20-\x7e]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Throws on what another version of this file wrote: while a new one is rolled out both run, and neither may guess. */
function fromField(headers: Headers): unknown {
  const { v, value } = JSON.parse(headers.get(FIELD) ?? "{}") as { v?: unknown; value?: unknown };
  if (v !== WIRE_VERSION) throw new Error("the other end has another version");
  return value;
}

export async function requestFor(ask: Ask, operation: Operation): Promise<Request> {
  const { body, ...request } = operation.request;
  const field = toField({ ...operation, request });
  // A claim alone needs no body: its caller has it.
  const bytes = ask === "submit" ? await body() : EMPTY;
  const init = bytes.byteLength > 0 ? { body: bytes } : {};
  return new Request(`https://key/${ask}`, { method: "POST", headers: { [FIELD]: field }, ...init });
}

export function readAsk(request: Request): Ask {
  return request.url.endsWith("/begin") ? "begin" : "submit";
}

/** What comes in is what this file wrote at the other end. The body is left until an attempt sends it on. */
export function readOperation(request: Request): Operation {
  const operation = fromField(request.headers) as Operation;
  const body = async (): Promise<Uint8Array> =>
    request.body === null ? EMPTY : new Uint8Array(await request.arrayBuffer());
  return { ...operation, request: { ...operation.request, body } };
}

export function responseFor(begun: Begun): Response {
  if (!("given" in begun)) return new Response(null, { headers: { [FIELD]: toField(begun) } });
  const { given, ...rest } = begun;
  const { body, ...head } = given;
  const size = body instanceof Uint8Array ? body.byteLength : null;
  const field = toField({ ...rest, given: { ...head, size } });
  return new Response(isEmpty(given) ? null : body, { headers: { [FIELD]: field } });
}

function isEmpty(given: Given): boolean {
  return isBodiless(given.status) || (given.body instanceof Uint8Array && given.body.byteLength === 0);
}

type Head = Omit<Given, "body"> & { size: number | null };

/** The outcome. A small replay is read here, for the isolate's memory; any other body is read as it is passed on. */
export async function readBegun(response: Response): Promise<Begun> {
  const begun = fromField(response.headers) as
    | Exclude<Begun, { given: Given }>
    | { kind: "replayed"; given: Head };
  if (!("given" in begun)) return begun;
  const { size, ...head } = begun.given;
  const isSmall = begun.kind === "replayed" && size !== null && size <= CACHED_ANSWER_BYTES_MAX;
  const body =
    response.body === null ? EMPTY : isSmall ? new Uint8Array(await response.arrayBuffer()) : response.body;
  return { ...begun, given: { ...head, body } } as Begun;
}
