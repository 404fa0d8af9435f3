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

/** `stop` is aborted at the deadline, too. */
export function startClock(ms: number, stop: AbortController): Clock {
  let isOver = false;
  const ring = (): void => {
    isOver = true;
    stop.abort();
  };
  let timer = setTimeout(ring, ms);
  const end = (): void => clearTimeout(timer);

  return {
    signal: stop.signal,
    isOver: () => isOver,
    restart(next) {
      clearTimeout(timer);
      timer = setTimeout(ring, next);
    },
    end,
    guard(stream) {
      const reader = stream.getReader();
      const source: UnderlyingSource<Uint8Array> = {
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
      };
      // Nothing is read ahead: the end of what nobody has taken must not end the clock of who does not take it.
      return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
    },
  };
}
