/** Counts of answers since this isolate started, for `GET /metrics`. An isolate counts only what it served itself. */
import type { Handled } from "./handle.ts";

export class Counters {
  readonly #answers = new Map<string, number>();

  count(handled: Pick<Handled, "mark" | "route">): void {
    const series = JSON.stringify([handled.route, handled.mark]);
    this.#answers.set(series, (this.#answers.get(series) ?? 0) + 1);
  }

  /** Every series that has been counted: route id (empty where no route matched), mark, count. */
  read(): { route: string; mark: string; count: number }[] {
    return [...this.#answers].map(([series, count]) => {
      const [route, mark] = JSON.parse(series) as [string, string];
      return { route, mark, count };
    });
  }
}
