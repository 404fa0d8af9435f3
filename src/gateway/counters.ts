/** Counts of answers since this isolate started, for `GET /metrics`. An isolate counts only what it served itself. */
import type { HandledRequest } from "./handle.ts";

export class Counters {
  /** By route, then by mark. */
  readonly #answers = new Map<string, Map<string, number>>();

  count(handled: Pick<HandledRequest, "mark" | "route">): void {
    const marks = this.#answers.get(handled.route) ?? new Map<string, number>();
    marks.set(handled.mark, (marks.get(handled.mark) ?? 0) + 1);
    this.#answers.set(handled.route, marks);
  }

  /** Every series that has been counted: route id (empty where no route matched), mark, count. */
  read(): { route: string; mark: string; count: number }[] {
    return [...this.#answers].flatMap(([route, marks]) =>
      [...marks].map(([mark, count]) => ({ route, mark, count })),
    );
  }
}
