// @ts-check
/** What may be missing: a beginning of the log, if a later entry that a checkpoint covers says so. */
import { Frontier } from "../tree.mjs";

/** @import { FindingClass, Line, PruneRow } from "../types.ts" */

const PRUNE = "prune";

export class PruneCheck {
  /** What prune entries say, by their index. @type {Map<number, { until: number, root: string }>} */
  #entries = new Map();
  /** Root of the tree of the entries that are gone. */
  #root = "";

  /**
   * Notes the tree of what is gone.
   * @param {Frontier} tree
   */
  leave(tree) {
    this.#root = tree.root().toString("hex");
  }

  /**
   * @param {Line} line
   * @returns {string | null} Why a prune entry can't be, null for every other entry.
   */
  take({ type, index, target, digest }) {
    if (type !== PRUNE) return null;
    const match = /^[1-9][0-9]{0,14}$/.exec(target ?? "");
    if (match === null || digest === undefined) return "a prune entry that does not say what is pruned";
    const until = Number(target);
    if (until > index) return "a prune entry that prunes itself";
    this.#entries.set(index, { until, root: digest });
    return null;
  }

  /**
   * @param {AsyncIterable<PruneRow> | null} rows
   * @param {number} first First entry whose body is there.
   * @param {number} covered Size of the newest checkpoint.
   */
  async finish(rows, first, covered) {
    /** @type {{ class: FindingClass, index: number, detail: string }[]} */
    const found = [];
    if (first > 0) found.push(...this.#judgePrefix(first, covered));
    for await (const { until, entry } of rows ?? []) {
      // An entry that has been pruned itself can't be compared.
      if (entry >= first && this.#entries.get(entry)?.until !== until) {
        found.push({
          class: "prune",
          index: entry,
          detail: "the table of prunes names an entry that does not say so",
        });
      }
    }
    return found;
  }

  /**
   * @param {number} first
   * @param {number} covered
   * @returns {{ class: FindingClass, index: number, detail: string }[]}
   */
  #judgePrefix(first, covered) {
    const allowing = [...this.#entries].filter(([, { until }]) => until >= first);
    const [entry] = allowing.filter(([index]) => index < covered);
    if (entry !== undefined) {
      const [index, { until, root }] = entry;
      if (until !== first || root === this.#root) return [];
      return [
        { class: "prune", index, detail: "the root in the prune entry is not that of the entries it pruned" },
      ];
    }
    const last = first - 1;
    const [early] = allowing;
    return early === undefined
      ? [
          {
            class: "missing",
            index: 0,
            detail: `entries up to ${last} are missing, and no entry says they were pruned`,
          },
        ]
      : [
          {
            class: "prune",
            index: early[0],
            detail: "pruned before a checkpoint covered the entry that says so",
          },
        ];
  }
}
