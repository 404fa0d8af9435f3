/** Gives up on what takes too long. What was begun may still come to its end: only what may be done twice is called so. */
export async function withinTime<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  const ended = new AbortController();
  const late = scheduler.wait(ms, { signal: ended.signal }).then(() => {
    throw new Error("took too long");
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    ended.abort();
  }
}
