/** The ledger's endpoints: what a verifier needs. Checkpoints and the key are anyone's; entries and proofs are for operators. */
import { toBase64 } from "../../core/bytes.ts";
import { isTaken, refuseMethod } from "../../core/http/method.ts";
import type { LedgerSink } from "../../core/policy.ts";
import { type Problem, problem } from "../../core/problem.ts";
import { BUNDLE_LINES } from "../bounds.ts";
import { readBundles } from "../d1-read.ts";
import { type Epochs, FIRST_SHARD, listPlaces, listShards } from "../epochs.ts";
import type { LedgerObjects } from "../port.ts";
import { MissingHash, TreeReader } from "./proofs.ts";
import { readQuery } from "./query.ts";

const LIMIT_MAX = 4 * BUNDLE_LINES;
/** What anyone may read. */
const PUBLIC: readonly string[] = ["checkpoint", "key"];
const NO_STORE = { "Cache-Control": "no-store" };

export type LedgerDesk = {
  prefix: string;
  name: string;
  /** How many a ledger would begin with. */
  shards: number;
  sinks: readonly LedgerSink[];
  objects: LedgerObjects;
  /** Null: D1 is no sink. */
  database: D1Database | null;
  /** Null: the request comes from an operator who may read. */
  refuseStranger: (request: Request) => Promise<Response | null>;
  refuse: (problem: Problem) => Response;
};

/** Null: not one of the ledger's endpoints. */
export async function answerLedger(request: Request, desk: LedgerDesk): Promise<Response | null> {
  const url = new URL(request.url);
  const [, room, what, shard, ...more] = url.pathname.slice(desk.prefix.length).split("/");
  if (room !== "ledger" || more.length > 0 || (shard !== undefined && what !== "checkpoint")) return null;
  const answer = pickAnswer(what ?? "", request, url, desk, shard);
  if (answer === null) return null;
  if (!isTaken(request.method, "GET")) return refuseWrite(what ?? "", request, desk);
  try {
    return await answer();
  } catch (error) {
    return desk.refuse(problem(error instanceof MissingHash ? "not-found" : "ledger-unavailable"));
  }
}

/** Who may not know what an endpoint does is not told how to ask it either. */
async function refuseWrite(what: string, request: Request, desk: LedgerDesk): Promise<Response> {
  const refused = PUBLIC.includes(what) ? null : await desk.refuseStranger(request);
  return refused ?? desk.refuse(refuseMethod("GET"));
}

function pickAnswer(
  what: string,
  request: Request,
  url: URL,
  desk: LedgerDesk,
  shard: string | undefined,
): (() => Promise<Response>) | null {
  const forOperators = (answer: typeof answerEntries) => async (): Promise<Response> => {
    const refused = await desk.refuseStranger(request);
    if (refused !== null) return refused;
    return desk.database === null ? refuseSinks(desk) : answer(url, desk, desk.database);
  };
  switch (what) {
    case "checkpoint":
      return () => answerCheckpoint(shard, desk);
    case "key":
      return () => answerKey(desk);
    case "entries":
      return forOperators(answerEntries);
    case "proof":
      return forOperators(answerProof);
    case "consistency":
      return forOperators(answerConsistency);
    default:
      return null;
  }
}

function refuseSinks({ refuse, sinks }: LedgerDesk): Response {
  return refuse(problem("unsupported", null, { sinks: sinks.join(",") }));
}

/** A ledger that has not begun has the shards that it would begin with. */
async function readEpochs({ objects, shards }: LedgerDesk): Promise<Epochs> {
  const epochs = await objects.getByName(FIRST_SHARD).epochs();
  return epochs.length > 0 ? epochs : [shards];
}

/** Without a shard: the first one of the newest epoch. */
async function answerCheckpoint(given: string | undefined, desk: LedgerDesk): Promise<Response> {
  if (desk.sinks.includes("none")) return refuseSinks(desk);
  const epochs = await readEpochs(desk);
  const newest = listPlaces(epochs)[0]?.shard ?? FIRST_SHARD;
  const shard = given === undefined ? newest : given.replace("%3A", ":").replace("%3a", ":");
  if (!listShards(epochs).includes(shard)) return desk.refuse(problem("not-found"));
  const { note } = await desk.objects.getByName(shard).checkpoint(shard);
  return new Response(note, { headers: { "Content-Type": "text/plain; charset=utf-8", ...NO_STORE } });
}

async function answerKey(desk: LedgerDesk): Promise<Response> {
  if (desk.sinks.includes("none")) return refuseSinks(desk);
  const { vkey, isSelfHeld } = await desk.objects.getByName(FIRST_SHARD).verifierKey();
  const epochs = await readEpochs(desk);
  const told = {
    name: desk.name,
    key: vkey,
    self_held: isSelfHeld,
    epochs: epochs.map((shards, i) => ({ epoch: i + 1, shards })),
    shards: listShards(epochs),
  };
  return Response.json(told, { headers: NO_STORE });
}

async function answerEntries(url: URL, desk: LedgerDesk, database: D1Database): Promise<Response> {
  const query = readQuery(url, listShards(await readEpochs(desk)), { from: 0, limit: BUNDLE_LINES });
  if (query === null || query.limit === 0) return desk.refuse(problem("query-invalid"));
  const { shard, from } = query;
  const limit = Math.min(query.limit, LIMIT_MAX);
  const bundles = await readBundles(database, shard, from, Math.ceil(limit / BUNDLE_LINES) + 1);
  const lines = bundles.flatMap(({ first, body }) =>
    body
      .split("\n")
      .slice(0, -1)
      .map((line, i) => ({ line, index: first + i }))
      .filter(({ index }) => index >= from),
  );
  const page = lines.slice(0, limit);
  const last = page.at(-1);
  const headers = new Headers({ "Content-Type": "application/x-ndjson", ...NO_STORE });
  if (last !== undefined && lines.length > page.length) {
    const next = new URLSearchParams({ shard, from: String(last.index + 1), limit: String(limit) });
    headers.set("Link", `<${desk.prefix}/ledger/entries?${next}>; rel="next"`);
  }
  return new Response(page.map(({ line }) => `${line}\n`).join(""), { headers });
}

async function answerProof(url: URL, desk: LedgerDesk, database: D1Database): Promise<Response> {
  const query = readQuery(url, listShards(await readEpochs(desk)), { index: null, size: null });
  if (query === null || query.index >= query.size) return desk.refuse(problem("query-invalid"));
  const { shard, index, size } = query;
  const hashes = await new TreeReader(database, shard).inclusion(index, size);
  return Response.json({ shard, index, size, hashes: hashes.map(toBase64) }, { headers: NO_STORE });
}

async function answerConsistency(url: URL, desk: LedgerDesk, database: D1Database): Promise<Response> {
  const query = readQuery(url, listShards(await readEpochs(desk)), { from: null, to: null });
  if (query === null || query.from === 0 || query.from > query.to) {
    return desk.refuse(problem("query-invalid"));
  }
  const { shard, from, to } = query;
  const hashes = await new TreeReader(database, shard).consistency(from, to);
  return Response.json({ shard, from, size: to, hashes: hashes.map(toBase64) }, { headers: NO_STORE });
}
