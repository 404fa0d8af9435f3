/** The endpoints of a ledger, as a gateway has them, over logs of the tests' own writer. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { consistencyOf, type Log, pathOf } from "./ledger-log.ts";

export const READER_TOKEN = "reader.secret";
const PAGE_LINES = 100;

export type LedgerServer = { url: string; close(): Promise<void> };

/** Serves what the logs hold when they are asked for. Proofs come from `leaves`, entries from `lines`. */
export async function serveLogs(logs: readonly Log[]): Promise<LedgerServer> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://ledger.test");
    const isOpen = /\/ledger\/(key|checkpoint)/.test(url.pathname);
    const isReader = request.headers.authorization === `Bearer ${READER_TOKEN}`;
    const answer = isOpen || isReader ? answerQuery(url, logs) : null;
    response.statusCode = answer === null ? (isOpen || isReader ? 404 : 401) : 200;
    response.end(answer ?? "");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

function answerQuery(url: URL, logs: readonly Log[]): string | null {
  const [, , , what = "", given] = url.pathname.split("/");
  const number = (name: string) => Number(url.searchParams.get(name));
  const shard = given ?? url.searchParams.get("shard");
  if (what === "key") {
    return JSON.stringify({ key: logs[0]?.key.vkey, self_held: true, shards: logs.map((log) => log.shard) });
  }
  const log = logs.find((candidate) => candidate.shard === shard);
  if (log === undefined) return null;
  const list = (hashes: Buffer[]) =>
    JSON.stringify({ hashes: hashes.map((hash) => hash.toString("base64")) });
  switch (what) {
    case "checkpoint":
      return log.checkpoints.at(-1)?.note ?? null;
    case "entries": {
      const from = Math.max(number("from"), log.prunedUntil);
      const lines = log.lines.slice(from, from + Math.min(number("limit"), PAGE_LINES));
      return lines.map((line) => `${line}\n`).join("");
    }
    case "proof":
      return list(pathOf(number("index"), log.leaves.slice(0, number("size"))));
    case "consistency":
      return list(consistencyOf(number("from"), log.leaves.slice(0, number("to"))));
    default:
      return null;
  }
}
