/**
 * Until when something pauses that was put off until `written`. Further ahead than the longest pause that can only stand because the clock
 * was ahead when it was written, or has gone back since: the pause is over.
 */
export function pausedUntil(written: number, now: number, longestMs: number): number {
  return written > now + longestMs ? now : written;
}

export function isPaused(written: number, now: number, longestMs: number): boolean {
  return pausedUntil(written, now, longestMs) > now;
}
