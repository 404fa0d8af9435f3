// @ts-check
/** The effects table against the entries: every row says what the newest entry of its effect says. */
import { hashBytes } from "../tree.mjs";

/** @import { EffectRow, Finding, Line, ShardReport } from "../types.ts" */
/** @import { StreamTable } from "./streams.mjs" */

const STATES = ["", "intent", "committed", "failed", "compensated", "unknown"];
const INTENT = 1;
const SHORT_DIGITS = 32;

/** Current attempts stand in the table of streams; what is told of others, and of effects that origins report, is kept here. */
export class EffectCheck {
  /** @type {Map<string, { told: number, version: number }>} */
  #others = new Map();

  /**
   * Notes what an entry tells of its effect. To be called before the stream's row moves on.
   * @param {StreamTable} row
   * @param {Line} line
   * @param {boolean} isKnown
   */
  take(row, line, isKnown) {
    if (!isKnown) row.isPartial = true;
    const { type, stream, effectId, seq, phase } = line;
    if (effectId === undefined || type === "purged") return;
    const told = STATES.indexOf(phase ?? (type === "unknown" ? "unknown" : ""));
    if (type === "granted") {
      if (row.told > 0) this.#others.set(`${stream} ${row.effect}`, { told: row.told, version: row.version });
      row.told = told;
      row.version = seq;
    } else if (row.told > 0 && row.isKept("effect", effectId)) {
      row.told = told > 0 ? told : row.told;
      row.version = seq;
    } else {
      const id = idOf(stream, effectId);
      const earlier = this.#others.get(id);
      this.#others.set(id, { told: told > 0 ? told : (earlier?.told ?? INTENT), version: seq });
    }
  }

  /**
   * @param {AsyncIterable<EffectRow> | null} rows
   * @param {StreamTable} streams
   * @param {ShardReport[]} shards
   * @returns {Promise<Finding[]>}
   */
  async finish(rows, streams, shards) {
    /** @type {Finding[]} */
    const found = [];
    for await (const effect of rows ?? []) {
      const why = this.#judge(effect, streams, shards);
      if (why !== null && found.length < 100) found.push(why);
    }
    return found;
  }

  /**
   * @param {EffectRow} effect
   * @param {StreamTable} streams
   * @param {ShardReport[]} shards
   * @returns {Finding | null}
   */
  #judge({ effectId, stream, shard, state, version }, streams, shards) {
    const report = shards.find((candidate) => candidate.shard === shard);
    if (!streams.has(stream)) {
      // All its entries may be pruned.
      if ((report?.first ?? 0) > 0) return null;
      return {
        class: "effect",
        shard,
        index: report?.size ?? 0,
        detail: "a row for an effect that no entry tells of",
      };
    }
    if (streams.isPartial) return null;
    const isCurrent = streams.told > 0 && streams.isKept("effect", effectId);
    const known = isCurrent ? streams : this.#others.get(idOf(stream, effectId));
    const index = streams.index;
    const home = shards[streams.shard]?.shard ?? shard;
    if (known === undefined)
      return { class: "effect", shard: home, index, detail: "a row for an effect that no entry tells of" };
    const isSame = STATES[known.told] === state && known.version === version && home === shard;
    return isSame
      ? null
      : { class: "effect", shard: home, index, detail: "the row of an effect is not what its entries say" };
  }
}

/**
 * @param {string} stream
 * @param {string} effectId
 */
function idOf(stream, effectId) {
  return `${stream} ${hashBytes(Buffer.from(effectId)).toString("hex").slice(0, SHORT_DIGITS)}`;
}
