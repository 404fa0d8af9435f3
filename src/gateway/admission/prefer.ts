/** `Prefer: wait=N` (RFC 7240 section 4.3). */

/** Milliseconds a caller is ready to wait; 0 when it doesn't say, or says nonsense: a preference may always be ignored. */
export function readWait(prefer: string | null): number {
  if (prefer === null) return 0;
  for (const preference of prefer.split(",")) {
    const seconds = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*(;|$)/i.exec(preference)?.[1];
    if (seconds !== undefined) return Number(seconds) * 1000;
  }
  return 0;
}
