/** Gives up on what takes too long. What was begun may still come to its end: only what may be done twice is called so. */
export async function withinTime<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  let stopTimer = (): void => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("took too long")), ms);
    stopTimer = () => clearTimeout(timer);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    stopTimer();
  }
}
