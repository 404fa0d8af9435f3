/**
 * The store is on a small file system, and that is full for a while: requests are refused or end unknown, nothing is lost, and
 * nothing runs twice.
 */
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { checkHistory, type Violation } from "./checker.ts";
import { closeAll } from "./closing.ts";
import type { Executor, Operation } from "./history.ts";
import { findDamage } from "./inspect-store.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { type ChaosStage, mountStore, withStage } from "./stage.ts";

const DISK_BYTES = 24 * 1024 * 1024;
/** Keys of each executor and moment: before the disk is full, while it is. */
const KEYS = 6;
/** Large ones first: an object that has left memory meanwhile can't be read from a full disk. */
const PIECES = [1_024 * 1_024, 64 * 1_024, 4_096].map((bytes) => Buffer.alloc(bytes));

/** `refused`: calls that were told that the store has no room or does not know. Null: no file system could be mounted. */
export type FullDiskRun = { violations: Violation[]; keys: number; refused: number } | null;

export async function runFullDisk(): Promise<FullDiskRun> {
  const mounted: { unmount: (() => Promise<void>) | null } = { unmount: null };
  try {
    return await withStage(
      async (stage) => (mounted.unmount === null ? null : fillAndFree(stage)),
      async (store) => {
        mounted.unmount = await mountStore(store, DISK_BYTES);
      },
    );
  } finally {
    await mounted.unmount?.();
  }
}

async function fillAndFree(stage: ChaosStage): Promise<FullDiskRun> {
  const { recorder, caller, gateway, store } = stage;
  await gateway.start("product");
  caller.connectTo(gateway.port);
  const before = makeOperations("before");
  const during = makeOperations("during");
  recorder.add([...before, ...during]);
  await Promise.all(before.map((operation) => caller.call(operation, "first")));
  const filler = join(store, "filler");
  await fill(filler, store);
  const told = await Promise.all([
    ...before.map((operation) => caller.call(operation, "duplicate")),
    ...during.map((operation) => caller.call(operation, "first")),
  ]);
  await Promise.all(during.map((operation) => caller.call(operation, "retry")));
  await rm(filler);
  await closeAll(stage, new LedgerWatch(store));
  await gateway.kill();
  const violations = [...checkHistory(recorder.history), ...(await findDamage(store))];
  const refused = told.filter((answer) => answer?.slug !== null).length;
  return { violations, keys: recorder.history.operations.length, refused };
}

function makeOperations(moment: string): Operation[] {
  return (["object", "worker"] as const).flatMap((executor: Executor) =>
    Array.from({ length: KEYS }, (_, n): Operation => {
      const key = `${moment}-${executor}-${n}`;
      return { key, executor, crashRule: "hold", point: "answer-given", kill: 0, isBrief: false };
    }),
  );
}

/** Writes until there is no room for another page, in a moment. */
async function fill(path: string, store: string): Promise<void> {
  const file = await open(path, "w");
  try {
    for (const piece of PIECES) {
      while ((await readFree(store)) >= piece.length) await file.write(piece);
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  } finally {
    await file.close();
  }
}

async function readFree(store: string): Promise<number> {
  const { bavail, bsize } = await statfs(store);
  return bavail * bsize;
}
