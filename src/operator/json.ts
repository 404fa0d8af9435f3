/** JSON in and out. What comes in has one reading: a member that is there twice is refused like text that is no JSON. */
import { decodeUtf8 } from "../core/bytes.ts";
import { readStrictJson } from "../core/fingerprint/json.ts";
import { OPERATOR_BYTES_MAX } from "../core/limits.ts";
import type { OperatorField } from "../core/operator/requests.ts";
import { type Problem, problem } from "../core/problem.ts";
import type { OperatorDesk } from "./desk.ts";

export type JsonRead = { kind: "json"; value: unknown } | { kind: "refused"; problem: Problem };

export async function readJson(request: Request, desk: Pick<OperatorDesk, "readBody">): Promise<JsonRead> {
  const read = await desk.readBody(request, OPERATOR_BYTES_MAX);
  switch (read.kind) {
    case "too-large":
      return { kind: "refused", problem: problem("operator-request-too-large") };
    case "incomplete":
      return { kind: "refused", problem: problem("request-incomplete") };
    case "body": {
      const reading = readStrictJson(decodeUtf8(read.bytes) ?? "");
      return reading.kind === "json" ? reading : { kind: "refused", problem: refuseField("body") };
    }
  }
}

export function refuseField(field: OperatorField): Problem {
  return problem("operator-request-refused", null, { field });
}

/** What is asked for is read from D1, which is none of the ledger's sinks. */
export function refuseSinks(sinks: readonly string[]): Problem {
  return problem("unsupported", null, { sinks: sinks.join(",") });
}

export function replyJson(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: { "Cache-Control": "no-store" } });
}

/** RFC 3339 with milliseconds, UTC. */
export function writeTime(ms: number): string {
  return new Date(ms).toISOString();
}
