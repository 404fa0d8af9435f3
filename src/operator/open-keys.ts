/** `GET /operator/keys`: keys whose outcome is open, the one that has been so for longest first. */
import { decodeUtf8, encodeUtf8, fromBase64Url, toBase64Url } from "../core/bytes.ts";
import { problem } from "../core/problem.ts";
import type { OpenKeysPage, OpenKeysQuery, OpenPlace, OperatorDesk } from "./desk.ts";
import { replyJson, writeTime } from "./json.ts";

const LIMIT = 100;
const LIMIT_MAX = 1_000;
const PARAMETERS = ["state", "after", "limit"];
const START: OpenPlace = { changedAt: -1, effectId: "", stream: "" };

export async function answerOpenKeys(request: Request, desk: OperatorDesk): Promise<Response> {
  if (desk.listOpenKeys === null) {
    return desk.refuse(problem("unsupported", null, { sinks: desk.sinks.join(",") }));
  }
  const query = readQuery(new URL(request.url).searchParams);
  if (query === null) return desk.refuse(problem("query-invalid"));
  let page: OpenKeysPage;
  try {
    page = await desk.listOpenKeys(query);
  } catch {
    return desk.refuse(problem("ledger-unavailable"));
  }
  const now = Date.now();
  const items = await Promise.all(page.rows.map((row) => describe(row, now, desk)));
  return replyJson(page.next === null ? { items } : { items, next: writeCursor(page.next) });
}

/** Null: a parameter is missing, unknown, given twice or not what it has to be. */
function readQuery(given: URLSearchParams): OpenKeysQuery | null {
  const names = [...given.keys()];
  if (new Set(names).size < names.length || !names.every((name) => PARAMETERS.includes(name))) return null;
  const state = given.get("state");
  const limit = given.get("limit") ?? String(LIMIT);
  const cursor = given.get("after");
  const after = cursor === null ? START : readCursor(cursor);
  if (state !== "in-flight" && state !== "unknown") return null;
  if (after === null || !/^[1-9][0-9]{0,5}$/.test(limit)) return null;
  return { state, after, limit: Math.min(Number(limit), LIMIT_MAX) };
}

/** `age` in seconds. Rows older than the column that names their key have no `id`. */
async function describe(
  { changedAt, effectId, operation, attempt, code }: OpenKeysPage["rows"][number],
  now: number,
  desk: OperatorDesk,
): Promise<Record<string, unknown>> {
  return {
    ...(operation === null ? {} : { id: await desk.writeId(operation) }),
    effect_id: effectId,
    ...(attempt === null ? {} : { attempt }),
    ...(code === null ? {} : { reason: code }),
    since: writeTime(changedAt),
    age: Math.max(0, Math.floor((now - changedAt) / 1_000)),
  };
}

function writeCursor({ changedAt, effectId, stream }: OpenPlace): string {
  return toBase64Url(encodeUtf8(JSON.stringify([changedAt, effectId, stream])));
}

function readCursor(cursor: string): OpenPlace | null {
  const bytes = fromBase64Url(cursor);
  const text = bytes === null ? null : decodeUtf8(bytes);
  const [, changedAt, effectId, stream] =
    /^\[(\d{1,15}),"([\x21\x23-\x5b\x5d-\x7e]{1,64})","([0-9a-f]{64})"\]$/.exec(text ?? "") ?? [];
  if (effectId === undefined || stream === undefined) return null;
  return { changedAt: Number(changedAt), effectId, stream };
}
