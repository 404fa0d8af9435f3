/** `GET /operator/keys`: keys whose outcome is open, the one that has been so for longest first. */
import { readPageQuery, writeCursor } from "../core/operator/page.ts";
import { problem } from "../core/problem.ts";
import type { OpenKeysPage, OpenKeysQuery, OpenPlace, OperatorDesk } from "./desk.ts";
import { refuseSinks, replyJson, writeTime } from "./json.ts";

const START: OpenPlace = { changedAt: -1, effectId: "", stream: "" };

export async function answerOpenKeys(request: Request, desk: OperatorDesk): Promise<Response> {
  if (desk.listOpenKeys === null) return desk.refuse(refuseSinks(desk.sinks));
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
  if (page.next === null) return replyJson({ items });
  const { changedAt, effectId, stream } = page.next;
  return replyJson({ items, next: writeCursor([changedAt, effectId, stream]) });
}

/** Null: a parameter is missing, unknown, given twice or not what it has to be. */
function readQuery(given: URLSearchParams): OpenKeysQuery | null {
  const page = readPageQuery(given, ["state"]);
  const state = given.get("state");
  if (page === null || (state !== "in-flight" && state !== "unknown")) return null;
  const after = page.after === null ? START : readPlace(page.after);
  return after === null ? null : { state, after, limit: page.limit };
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

function readPlace(place: readonly unknown[]): OpenPlace | null {
  const [changedAt, effectId, stream] = place;
  if (place.length !== 3) return null;
  if (typeof changedAt !== "number" || !Number.isSafeInteger(changedAt)) return null;
  if (typeof effectId !== "string" || typeof stream !== "string") return null;
  return { changedAt, effectId, stream };
}
