/**
 * An operator's word on an unknown outcome. An answer that comes with it is copied and sealed like one that comes from the origin;
 * whatever has happened to the key meanwhile wins.
 */
import { encodeUtf8, sha256Hex, writeMessage } from "../../core/bytes.ts";
import type { GivenAnswer } from "../../core/http/given-answer.ts";
import type { RoutePolicy } from "../../core/policy.ts";
import type { Keyring, Resolution, Resolving } from "../../core/ports.ts";
import type { LiveRecord, Outcome } from "../../core/record.ts";
import type { Keeper, KeeperParts } from "../keeper.ts";
import { sealGiven } from "../storage/given.ts";
import type { Stepped } from "../storage/store.ts";

export type ResolveParts = KeeperParts & {
  route: (id: string) => RoutePolicy | null;
  keyring: Keyring;
};

type SealedWord = { outcome: Outcome; rows: readonly ArrayBuffer[] };

/**
 * Stopping before the step's transaction leaves everything as it was. After it, the word is recorded, and saying the same again
 * changes nothing.
 */
export async function resolveKey(
  keeper: Keeper,
  parts: ResolveParts,
  resolution: Resolution,
): Promise<Resolving> {
  const loaded = keeper.store.load();
  if (loaded.kind === "unreadable") return { kind: "unavailable" };
  const { record } = loaded;
  if (record.state === "absent") return { kind: "none" };
  const { effect, operator, operatorsRequired, grounds } = resolution;
  // Ids of effects are of one attempt each: an answer that is sealed for this record's attempt is refused with it once another has begun.
  if (record.effect !== effect) return { kind: "stale" };
  const { outcome, rows } = await tellOutcome(keeper.name, parts, record, resolution);
  const event = { do: "resolve", effect, operator, operatorsRequired, grounds, outcome } as const;
  const done = keeper.step(parts, event, rows);
  return done.kind === "stepped" ? resolvingOf(done, operatorsRequired) : { kind: "unavailable" };
}

function resolvingOf({ step: { record, answer } }: Stepped, operatorsRequired: number): Resolving {
  switch (answer.kind) {
    case "done":
      if (record.state === "settled" || record.state === "released") {
        return { kind: "resolved", state: record.state };
      }
      throw new Error(`a resolution leaves no record ${record.state}`);
    case "proposed": {
      const proposal = record.state === "unknown" ? record.proposal : null;
      const said = proposal?.by === "operators" ? proposal.operators.length : 0;
      return { kind: "proposed", missing: operatorsRequired - said };
    }
    case "stale":
      return { kind: "stale" };
    case "full":
      return { kind: "unavailable" };
    default:
      throw new Error(`a resolution is never answered ${answer.kind}`);
  }
}

async function tellOutcome(
  name: string,
  { route, keyring }: ResolveParts,
  record: LiveRecord,
  { outcome }: Resolution,
): Promise<SealedWord> {
  if (outcome.kind === "not-committed") return { outcome, rows: [] };
  if (outcome.answer === null) {
    return { outcome: { kind: "committed", word: "lost", answer: { kind: "lost" } }, rows: [] };
  }
  const word = await wordOf(outcome.answer);
  // No operator has the client's own key.
  const keptBy = { name, keyring, policy: route(record.route), rawKey: null };
  const { answer, rows } = await sealGiven(outcome.answer, record, keptBy);
  return { outcome: { kind: "committed", word, answer }, rows };
}

/** A digest of all of it. */
function wordOf({ status, headers, body }: GivenAnswer): Promise<string> {
  const fields = encodeUtf8(JSON.stringify(headers));
  return sha256Hex(writeMessage([String(status), fields, body]));
}
