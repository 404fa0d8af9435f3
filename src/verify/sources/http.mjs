// @ts-check
/** A ledger behind a running gateway: its endpoints under `/ledger`. Redirects are not followed. */
import { Unreadable } from "../unreadable.mjs";
import { readHashes, readPage } from "./answers.mjs";

/** @import { Source, StoredNote } from "../types.ts" */

const PREFIX = "/_oncegate";
const ENTRIES_PER_PAGE = 1_024;
const ANSWER_MS_MAX = 60_000;
const TRIES = 3;
const RETRY_MS = 500;

/**
 * @param {string} address Of the gateway; with a path, that is its prefix.
 * @param {string | null} token Operator token, `id.secret`.
 * @returns {Promise<Source>}
 */
export async function openUrl(address, token) {
  const asker = new Asker(readAddress(address), token);
  const { key, self_held, shards } = await asker.askJson("ledger/key");
  if (
    typeof key !== "string" ||
    !Array.isArray(shards) ||
    !shards.every((name) => typeof name === "string")
  ) {
    throw new Unreadable("the gateway does not say which ledger it keeps");
  }
  /** @type {Map<string, string> | null} */
  let notes = null;
  return {
    key: async () => ({ vkey: key, isSelfHeld: self_held === true }),
    shards: async () => shards,
    checkpoints: async function* (shard) {
      notes ??= await readNotes(asker, shards);
      yield/** @type {StoredNote} */ ({ note: notes.get(shard) ?? "", row: null });
    },
    parts: async function* (shard, size) {
      // What has come since belongs to a later view of the ledger.
      for (let from = 0; size === null || from < size; ) {
        const limit = Math.min(ENTRIES_PER_PAGE, size === null ? ENTRIES_PER_PAGE : size - from);
        const lines = await asker.askBytes("ledger/entries", { shard, from, limit });
        if (lines.length === 0) return;
        const part = readPage(lines, from);
        yield part;
        from = part.first + part.count;
      }
    },
    prunes: () => null,
    proof: (shard, index, size) => asker.askHashes("ledger/proof", { shard, index, size }),
    consistency: (shard, from, to) => asker.askHashes("ledger/consistency", { shard, from, to }),
    effects: () => null,
    close: async () => {},
  };
}

/**
 * All checkpoints before any entry, those of the newest epoch first: whatever a shard shows, the one before it has shown its end by then.
 * @param {Asker} asker
 * @param {string[]} shards Oldest epoch first.
 */
async function readNotes(asker, shards) {
  /** @type {Map<string, string>} */
  const notes = new Map();
  for (const shard of shards.toReversed()) {
    notes.set(shard, (await asker.askBytes(`ledger/checkpoint/${shard}`)).toString("utf8"));
  }
  return notes;
}

class Asker {
  #base;
  #token;

  /**
   * @param {URL} base
   * @param {string | null} token
   */
  constructor(base, token) {
    this.#base = base;
    this.#token = token;
  }

  /**
   * Asks a few times where the gateway does not answer, or can't for the moment.
   * @param {string} path
   * @param {Record<string, string | number>} query
   */
  async #ask(path, query) {
    const url = new URL(path, this.#base);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    const headers = this.#token === null ? {} : { Authorization: `Bearer ${this.#token}` };
    for (let tried = 1; ; tried += 1) {
      try {
        const signal = AbortSignal.timeout(ANSWER_MS_MAX);
        const answer = await fetch(url, { headers, redirect: "manual", signal });
        const body = Buffer.from(await answer.arrayBuffer());
        if (answer.status < 500 || tried === TRIES)
          return { status: answer.status, body, path: url.pathname };
      } catch (error) {
        const cause =
          error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
        if (tried === TRIES) throw new Unreadable(`${url.origin} does not answer: ${cause}`);
      }
      await new Promise((done) => setTimeout(done, RETRY_MS * tried));
    }
  }

  /**
   * @param {string} path
   * @param {Record<string, string | number>} [query]
   */
  async askBytes(path, query = {}) {
    const answer = await this.#ask(path, query);
    if (answer.status === 200) return answer.body;
    const isClosed = [401, 403, 404].includes(answer.status);
    const hint = isClosed ? " (entries and proofs need an operator's token: --token)" : "";
    throw new Unreadable(`${answer.path} answered ${answer.status}${hint}`);
  }

  /**
   * @param {string} path
   * @returns {Promise<Record<string, unknown>>}
   */
  async askJson(path) {
    const body = await this.askBytes(path);
    try {
      const read = JSON.parse(body.toString("utf8"));
      if (typeof read === "object" && read !== null) return read;
    } catch {
      // Told below.
    }
    throw new Unreadable(`${path} did not answer with JSON`);
  }

  /**
   * A proof that the gateway can't give is no proof.
   * @param {string} path
   * @param {Record<string, string | number>} query
   */
  async askHashes(path, query) {
    const answer = await this.#ask(path, query);
    return answer.status === 200 ? readHashes(answer.body.toString("utf8")) : null;
  }
}

/** @param {string} address */
function readAddress(address) {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Unreadable(`${address} is not an http(s) address`);
  const path = url.pathname === "/" ? PREFIX : url.pathname.replace(/\/$/, "");
  return new URL(`${path}/`, url.origin);
}
