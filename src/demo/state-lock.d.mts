/** One gateway per state folder: see `state-lock.mjs`. */
export type HeldLock = {
  kind: "held";
  addProcess: (pid: number) => Promise<void>;
  release: () => Promise<void>;
};
export function takeLock(
  folder: string,
  options?: { isHolder?: (pid: number) => Promise<boolean> },
): Promise<HeldLock | { kind: "taken"; pid: number } | { kind: "stuck"; file: string }>;
