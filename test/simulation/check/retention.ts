/** I18: what is deleted of the ledger is old enough, and an entry that everybody could read has said so before. */
import { type Line, rowsOf } from "./history.ts";
import { rootOf } from "./ledger.ts";
import type { Invariant } from "./safety.ts";
import type { View } from "./view.ts";

function deletedIsTold({ history }: View): string | null {
  const { lines, database, shown } = history.ledger;
  if (lines === null || database === null) return null;
  for (const { shard, texts } of lines) {
    const prunes = database.prunes.filter((prune) => prune.shard === shard);
    for (const { until, entry } of prunes) {
      const told = JSON.parse(texts[entry] ?? "{}") as Line;
      const isTold = told.type === "prune" && told.target === String(until);
      if (!isTold || told.digest !== rootOf(texts.slice(0, until)))
        return `${shard}: entry ${entry} does not say that what comes before ${until} is deleted`;
    }
    const first = database.lines.find((one) => one.shard === shard)?.first ?? 0;
    if (first > Math.max(0, ...prunes.map(({ until }) => until)))
      return `${shard}: what comes before ${first} is gone, and nothing says so`;
    for (const { at, until } of rowsOf(history.rows, "pruned").filter((row) => row.shard === shard)) {
      const entry = texts.findIndex((text) => text.includes(`"type":"prune"`) && targetOf(text) === until);
      const isShown = shown.some((one) => one.shard === shard && one.size > entry && one.at <= at);
      if (entry === -1 || !isShown) return `${shard}: ${until} entries are deleted before anybody was told`;
    }
  }
  return null;
}

function targetOf(text: string): number {
  return Number((JSON.parse(text) as Line).target);
}

/** A shard whose clock was moved takes anything for old. */
function deletedIsOld({ history }: View): string | null {
  const { lines, retentionMs } = history.ledger;
  for (const { shard, until, at } of rowsOf(history.rows, "pruned")) {
    if (history.clocks.whose.has(shard)) continue;
    const writtenAt = lines?.find((one) => one.shard === shard)?.ats[until - 1];
    if (writtenAt === undefined) return `${shard}: ${until} entries are deleted, which never were`;
    if (writtenAt > at - retentionMs)
      return `${shard}: entry ${until - 1} is deleted when it is ${at - writtenAt} ms old`;
  }
  return null;
}

export const RETENTION = {
  I18: deletedIsTold,
  "I18 age": deletedIsOld,
} as const satisfies Record<string, Invariant>;
