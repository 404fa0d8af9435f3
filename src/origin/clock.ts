/** The deadline of one exchange: over headers and body, and over a stream that is passed on. */

export type Clock = {
  /** Aborts at the deadline, or when the attempt is stopped. */
  signal: AbortSignal;
  isOver: () => boolean;
  /** Counts anew from now. */
  restart: (ms: number) => void;
  end: () => void;
  /** The same stream, ending the clock when it ends. */
  guard: (stream: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>;
};

export function startClock(ms: number, stop: AbortSignal): Clock {
  const controller = new AbortController();
  let isOver = false;
  const ring = (): void => {
    isOver = true;
    controller.abort();
  };
  let timer = setTimeout(ring, ms);
  const onStop = (): void => controller.abort();
  stop.addEventListener("abort", onStop, { once: true });

  function end(): void {
    clearTimeout(timer);
    stop.removeEventListener("abort", onStop);
  }

  return {
    signal: controller.signal,
    isOver: () => isOver,
    restart(next) {
      clearTimeout(timer);
      timer = setTimeout(ring, next);
    },
    end,
    guard(stream) {
      const reader = stream.getReader();
      return new ReadableStream<Uint8Array>({
        async pull(into) {
          try {
            const { done, value } = await reader.read();
            if (!done) return into.enqueue(value);
            end();
            into.close();
          } catch (error) {
            end();
            into.error(error);
          }
        },
        async cancel(reason) {
          end();
          await reader.cancel(reason);
        },
      });
    },
  };
}
