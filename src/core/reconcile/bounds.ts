/** How much one run of a reconciliation may do. */
import { RUN_LEASE_MS_MAX } from "../limits.ts";

export type Bounds = {
  /** How long a lease holds without being renewed. Milliseconds. */
  leaseMs: number;
  /** Findings of a page. */
  batch: number;
  /** Pages of a run. */
  pages: number;
  /** Findings that are handled at the same time. */
  concurrency: number;
};

type Bound = { least: number; most: number; usual: number };

const RANGES: Readonly<Record<keyof Bounds, Bound>> = {
  leaseMs: { least: 1, most: RUN_LEASE_MS_MAX, usual: 30_000 },
  batch: { least: 1, most: 1_000, usual: 100 },
  pages: { least: 1, most: 1_000, usual: 10 },
  concurrency: { least: 1, most: 64, usual: 4 },
};

/** The bounds to run under: those given, else the usual ones. Throws `RangeError` where one is no whole number of its range. */
export function checkBounds(given: Readonly<Partial<Bounds>> = {}): Bounds {
  const pick = (name: keyof Bounds): number => {
    const { least, most, usual } = RANGES[name];
    const value = given[name] ?? usual;
    if (!Number.isSafeInteger(value) || value < least || value > most)
      throw new RangeError(`${name} is not a whole number from ${least} to ${most}`);
    return value;
  };
  return {
    leaseMs: pick("leaseMs"),
    batch: pick("batch"),
    pages: pick("pages"),
    concurrency: pick("concurrency"),
  };
}
