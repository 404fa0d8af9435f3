/** Whether a gateway that has been under load is again what it was. Pure. */
import { CACHE_BYTES_MAX } from "../../../src/core/limits.ts";

/** `at`: seconds since the start. `megabytes`: resident. */
export type Sample = { at: number; megabytes: number; descriptors: number };

/**
 * At rest, when no object of a key is in memory any more. `aliveBytes`: of the Worker's heap and buffers behind a collection, less the
 * answers that its memory says it holds. `cachedBytes`: those answers. `keys`: made since the start.
 */
export type Rest = Sample & { aliveBytes: number; cachedBytes: number; keys: number };

/** `warm`: behind the first part of the load, when all code has run. `last`: behind all of it. */
export type SoakFigures = {
  first: Sample;
  warm: Rest;
  last: Rest;
  calls: number;
  successes: number;
  /** Rows that key objects still hold, at the end. */
  rowsLeft: number;
};

/** A key that is free again leaves nothing in memory. The bound is what counting answers by a guess may be wrong by. */
const ALIVE_BYTES_A_KEY_MAX = 256;
/** Code that is compiled late, and what the engine has learnt of it. */
const ALIVE_BYTES_MORE_MAX = 256 * 1024;
/** Two shards and a database keep pages of their files: so many of them, and no more than a key has written. */
const RESIDENT_BYTES_A_KEY_MAX = 16 * 1024;
const RESIDENT_MEGABYTES_MORE_MAX = 24;
/** A runtime at rest may keep a few more than before its first request. */
const DESCRIPTORS_MORE_MAX = 40;
/** Of the calls; a busy machine may let some end in a time-out. */
const SUCCESSES_LEAST = 0.95;
const MEGABYTE = 1024 * 1024;

/** Nothing where all came back. */
export function judgeSoak({ first, warm, last, calls, successes, rowsLeft }: SoakFigures): string[] {
  const keys = last.keys - warm.keys;
  const aliveMax = ALIVE_BYTES_MORE_MAX + keys * ALIVE_BYTES_A_KEY_MAX;
  const alive = last.aliveBytes - warm.aliveBytes;
  const residentMax = RESIDENT_MEGABYTES_MORE_MAX + (keys * RESIDENT_BYTES_A_KEY_MAX) / MEGABYTE;
  const resident = last.megabytes - warm.megabytes;
  const claims: [isTrue: boolean, otherwise: string][] = [
    [keys > 0, "no key was made behind the warm-up"],
    [successes >= calls * SUCCESSES_LEAST, `only ${successes} of ${calls} calls had a success`],
    [
      alive <= aliveMax,
      `${Math.round(alive)} bytes more are alive behind ${keys} keys, of ${aliveMax} at most`,
    ],
    [
      last.cachedBytes <= CACHE_BYTES_MAX,
      `${last.cachedBytes} bytes of answers are kept, of ${CACHE_BYTES_MAX} at most`,
    ],
    [
      resident <= residentMax,
      `${Math.round(resident)} MB more are resident behind ${keys} keys, of ${Math.round(residentMax)} at most`,
    ],
    [
      last.descriptors <= first.descriptors + DESCRIPTORS_MORE_MAX,
      `${last.descriptors} descriptors are left of ${first.descriptors}`,
    ],
    [rowsLeft === 0, `${rowsLeft} rows are left`],
  ];
  return claims.filter(([isTrue]) => !isTrue).map(([, otherwise]) => otherwise);
}
