/** What the injector sees of a key's storage, as plain rows for the checker. */
import type { Stored } from "../check/history.ts";
import { START } from "./globals.ts";

type Shape = Readonly<Record<string, unknown>>;
type Stream = { inc: string; acked: number; entries: readonly { type: string }[] };

/** Times as milliseconds of the run. Null: nothing is stored. A record of a later version is seen as what it was made from. */
export function summarise(record: unknown): Stored | null {
  if (record === undefined || record === null) return null;
  const given = record as Shape;
  const outbox = (given.outbox ?? []) as readonly Stream[];
  const current = outbox.find(({ inc }) => inc === given.inc);
  return {
    v: Number(given.v),
    state: given.state as Stored["state"],
    inc: String(given.inc),
    n: Number(given.n),
    effect: String(given.effect),
    fp: String(given.fp),
    t: Number(given.t) - START,
    nonce: String(given.nonce),
    leaseUntil: given.state === "in-flight" ? Number(given.leaseUntil) - START : null,
    ahead: given.state === "in-flight" ? Number(given.ahead) : 0,
    answer: given.state === "settled" ? describeAnswer(given.answer as Shape) : null,
    owed: outbox.reduce((sum, { entries }) => sum + entries.length, 0),
    told: (current?.acked ?? 0) + (current?.entries.length ?? 0),
    entries: (current?.entries ?? []).map(({ type }) => type),
    actor: given.state === "settled" ? String(given.actor) : null,
    evidence: given.state === "released" ? String(given.evidence) : null,
    reason: given.state === "unknown" ? String(given.reason) : null,
  };
}

function describeAnswer(answer: Shape): string {
  return answer.kind === "lost"
    ? "lost"
    : `${String(answer.kind)} ${String(answer.status)} ${String(answer.digest)}`;
}

/** The token that a call of an object carries, if it carries one. */
export function tokenIn(method: string, given: readonly unknown[]): { inc: string; n: number } | null {
  if (method === "renew" || method === "report" || method === "release")
    return given[1] as { inc: string; n: number };
  if (method === "settle") return (given[1] as { token: { inc: string; n: number } }).token;
  return null;
}
