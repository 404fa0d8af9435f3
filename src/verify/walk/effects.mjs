// @ts-check
/** The effects table against the entries: every row says what the newest entry of its effect says. */
import { hashBytes } from "../tree.mjs";

/** @import { EffectRow, Finding, Line, ShardReport } from "../types.ts" */
/** @import { StreamTable } from "./streams.mjs" */

const STATES = ["", "intent", "committed", "failed", "compensated", "unknown", "fenced"];
const INTENT = 1;
/** States that entries tell by their type. */
const TOLD_BY_TYPE = /** @type {Record<string, string>} */ ({
  unknown: "unknown",
  fenced: "fenced",
  late: "committed",
});
const REPORT = "effect";
const SHORT_DIGITS = 32;

/** Phases of a reported effect, by what was told of it before. */
const NEXT = /** @type {Record<string, string[]>} */ ({
  "": ["intent"],
  intent: ["committed", "failed"],
  committed: ["compensated"],
});

/** Current attempts stand in the table of streams; what is told of others, and of effects that origins report, is kept here. */
export class EffectCheck {
  /** @type {Map<string, { told: number, version: number, home: number }>} `home`: number of the shard of the last entry. */
  #others = new Map();

  /**
   * Notes what an entry tells of its effect. To be called before the stream's row moves on.
   * @param {StreamTable} row
   * @param {Line} line
   * @param {boolean} isKnown
   * @param {number} home Number of the shard.
   * @returns {string | null} Why a reported effect can't have gone on like this, null when it can.
   */
  take(row, line, isKnown, home) {
    if (!isKnown) row.isPartial = true;
    const { type, stream, effectId, seq, phase } = line;
    if (effectId === undefined || type === "purged" || type === "observed") return null;
    if (isReport(type)) return this.#takeReport(row, line, effectId, home);
    const told = STATES.indexOf(phase ?? TOLD_BY_TYPE[type] ?? "");
    if (type === "granted") {
      if (row.told > 0) {
        const { told: earlier, version, home: there } = row;
        this.#others.set(`${stream} ${row.effect}`, { told: earlier, version, home: there });
      }
      row.told = told;
      row.version = seq;
      row.home = home;
    } else if (row.told > 0 && row.isKept("effect", effectId)) {
      row.told = told > 0 ? told : row.told;
      row.version = seq;
      row.home = home;
    } else {
      const id = idOf(stream, effectId);
      const earlier = this.#others.get(id);
      this.#others.set(id, { told: told > 0 ? told : (earlier?.told ?? INTENT), version: seq, home });
    }
    return null;
  }

  /**
   * @param {StreamTable} row
   * @param {Line} line
   * @param {string} effectId
   * @param {number} home
   * @returns {string | null}
   */
  #takeReport(row, { type, stream, seq, phase = "" }, effectId, home) {
    const id = idOf(stream, effectId, true);
    const earlier = this.#others.get(id);
    const before = STATES[earlier?.told ?? 0] ?? "";
    const isNews = type === REPORT;
    const told = isNews ? STATES.indexOf(phase) : (earlier?.told ?? INTENT);
    this.#others.set(id, { told, version: seq, home });
    // What was told of it before may be pruned.
    if (row.isPartial && earlier === undefined) return null;
    if (!isNews) return earlier === undefined ? "a report contradicts what was never reported" : null;
    if (NEXT[before]?.includes(phase)) return null;
    return `an effect is reported ${phase} ${before === "" ? "before its intent" : `after ${before}`}`;
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
  #judge({ effectId, stream, isReported, shard, state, version }, streams, shards) {
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
    const isCurrent = !isReported && streams.told > 0 && streams.isKept("effect", effectId);
    const known = isCurrent ? streams : this.#others.get(idOf(stream, effectId, isReported));
    const index = streams.index;
    const home = shards[known?.home ?? streams.shard]?.shard ?? shard;
    // What a later shard said of it may be pruned there, while the end of an earlier one stays.
    if (home !== shard && (report?.first ?? 0) > 0 && version > (known?.version ?? 0)) return null;
    if (known === undefined)
      return { class: "effect", shard: home, index, detail: "a row for an effect that no entry tells of" };
    const isSame = STATES[known.told] === state && known.version === version && home === shard;
    return isSame
      ? null
      : { class: "effect", shard: home, index, detail: "the row of an effect is not what its entries say" };
  }
}

/** @param {string} type */
function isReport(type) {
  return type === REPORT || type === "effect-contradiction";
}

/**
 * @param {string} stream
 * @param {string} effectId
 * @param {boolean} isReported Dispatches and what origins report have ids of their own.
 */
function idOf(stream, effectId, isReported = false) {
  return `${stream}${isReported ? "+" : " "}${hashBytes(Buffer.from(effectId)).toString("hex").slice(0, SHORT_DIGITS)}`;
}
