/** The attempts this object runs itself. Memory only: after a restart nobody runs anything. */
import type { Token } from "../core/record.ts";

type RunningAttempt = { ended: Promise<void>; end: () => void };

export class Running {
  readonly #attempts = new Map<string, RunningAttempt>();

  has(token: Token): boolean {
    return this.#attempts.has(nameOf(token));
  }

  start(token: Token): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#attempts.set(nameOf(token), { ended: promise, end: resolve });
  }

  /** Resolves when the attempt has ended; at once when it doesn't run here. */
  async endOf(token: Token): Promise<void> {
    await this.#attempts.get(nameOf(token))?.ended;
  }

  stop(token: Token): void {
    this.#attempts.get(nameOf(token))?.end();
    this.#attempts.delete(nameOf(token));
  }
}

function nameOf(token: Token): string {
  return `${token.inc}.${token.n}`;
}
