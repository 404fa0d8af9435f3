/** `POST /effects`: an origin reports effects of its attempt, as one JSON object or as lines of them. */
import { decodeUtf8 } from "../core/bytes.ts";
import {
  type ReadEntry,
  type ReportField,
  readEntry,
  refuseTwice,
  type Told,
} from "../core/effect/report.ts";
import { type JsonReading, readStrictJson } from "../core/fingerprint/json.ts";
import { REPORT_BYTES_MAX, REPORTED_OF_ATTEMPT_MAX, RETRY_STORE_S } from "../core/limits.ts";
import type { KeyPort, Telling } from "../core/ports.ts";
import { type Problem, problem } from "../core/problem.ts";
import { readRequestBody } from "./admission/body.ts";
import type { Gateway } from "./gateway.ts";
import { replyProblem } from "./reply.ts";

export async function answerEffects(request: Request, gateway: Gateway, keys: KeyPort): Promise<Response> {
  const refuse = (refusal: Problem): Response => replyProblem(refusal, gateway.prefix, null);
  const attempt = await gateway.keyring.readEffectToken(tokenOf(request.headers), Date.now());
  if (attempt === null) return refuse(problem("effect-token-refused"));
  const read = await readRequestBody(request, REPORT_BYTES_MAX);
  if (read.kind === "too-large") return refuse(problem("effects-too-large"));
  if (read.kind === "incomplete") return refuse(problem("request-incomplete"));
  const report = readReport(read.bytes);
  if (report.kind === "refused") return refuse(refuseEntry(report));
  return answerTelling(await keys.tell(attempt, report.entries), refuse);
}

/** `Authorization: Bearer`, or the field that the token came in. */
function tokenOf(headers: Headers): string {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  return bearer ?? headers.get("effect-token") ?? "";
}

function answerTelling(telling: Telling, refuse: (refusal: Problem) => Response): Response {
  switch (telling.kind) {
    case "taken": {
      const { recorded, repeated, flagged } = telling;
      return Response.json({ recorded, repeated, flagged }, { headers: { "Cache-Control": "no-store" } });
    }
    case "refused":
      return refuse(refuseEntry(telling));
    case "stranger":
      return refuse(problem("effect-token-refused"));
    case "unavailable":
      return refuse(problem("effects-unavailable", RETRY_STORE_S));
  }
}

type BadEntry = { index: number; field: ReportField };

function refuseEntry({ index, field }: BadEntry): Problem {
  return problem("effects-refused", null, { index, field });
}

type ReportReading = { kind: "report"; entries: readonly Told[] } | ({ kind: "refused" } & BadEntry);

/** A text that is one JSON value is one entry; any other is read line by line. */
function readReport(bytes: Uint8Array): ReportReading {
  const text = decodeUtf8(bytes) ?? "";
  const whole = readStrictJson(text);
  const lines = whole.kind === "illegible" ? text.split("\n").filter((line) => line.trim() !== "") : [];
  const readings = whole.kind === "illegible" ? lines.map(readStrictJson) : [whole];
  if (readings.length === 0) return { kind: "refused", index: 0, field: "entry" };
  const entries: Told[] = [];
  for (const [index, reading] of readings.entries()) {
    if (index === REPORTED_OF_ATTEMPT_MAX) return { kind: "refused", index, field: "report" };
    const entry = readReading(reading);
    if (entry.kind === "refused") return { ...entry, index };
    entries.push(entry.told);
  }
  return { kind: "report", entries };
}

function readReading(reading: JsonReading): ReadEntry {
  switch (reading.kind) {
    case "json":
      return readEntry(reading.value);
    case "twice":
      return refuseTwice(reading.path);
    case "illegible":
      return { kind: "refused", field: "entry" };
  }
}
