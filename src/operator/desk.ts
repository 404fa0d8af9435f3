/** What the operators' endpoints are given. */
import type { KeyQuery, OperatorField, Sample } from "../core/operator/requests.ts";
import type { LedgerSink, OperatorToken } from "../core/policy.ts";
import type { KeyPort } from "../core/ports.ts";
import type { Problem } from "../core/problem.ts";
import type { Metrics } from "./metrics.ts";
import type { ReconciliationDesk } from "./reconciliation.ts";
import type { VersionsDesk } from "./versions.ts";

export type OperatorDesk = {
  operators: readonly OperatorToken[];
  /** How many of them have to say the same of an effect. */
  operatorsRequired: number;
  prefix: string;
  readMetrics: () => Metrics;
  versions: VersionsDesk;
  refuse: (problem: Problem) => Response;
  reconciliation: ReconciliationDesk;
  keys: Pick<KeyPort, "inspect" | "resolve">;
  sinks: readonly LedgerSink[];
  /** Keys whose outcome is open, from D1. Null: D1 is no sink. Rejects while D1 does not answer. */
  listOpenKeys: ((query: OpenKeysQuery) => Promise<OpenKeysPage>) | null;
  /** A page of the effects table in D1; null: the query is refused. Null as `listOpenKeys`, and rejects like it. */
  listEffects: ((url: URL) => Promise<Record<string, unknown> | null>) | null;
  /** The public id of the operation behind a key object's name, and back; null: nobody was ever given this id. */
  writeId: (name: string) => Promise<string>;
  readId: (id: string) => Promise<string | null>;
  /** Name of the ledger's stream of one life of a key object. */
  streamOf: (name: string, inc: string) => Promise<string>;
  readBody: (request: Request, bytesMax: number) => Promise<BodyRead>;
  nameKey: (query: KeyQuery) => Promise<Named>;
  /** Null: no such request can be made. */
  explain: (sample: Sample) => Promise<Record<string, unknown> | null>;
};

export type BodyRead = { kind: "body"; bytes: Uint8Array } | { kind: "too-large" } | { kind: "incomplete" };

export type Named = { kind: "named"; names: readonly string[] } | { kind: "refused"; field: OperatorField };

/** A page of dispatches in one state, oldest change first, behind a place. */
export type OpenKeysQuery = { state: "in-flight" | "unknown"; after: OpenPlace; limit: number };

/** Where a page begins: behind this row. Times are milliseconds since the epoch. */
export type OpenPlace = { changedAt: number; effectId: string; stream: string };

/** `next`: null on the last page. `operation` is a key object's name; null in rows older than that column. */
export type OpenKeysPage = {
  rows: readonly (OpenPlace & { operation: string | null; attempt: number | null; code: string | null })[];
  next: OpenPlace | null;
};
