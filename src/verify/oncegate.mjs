#!/usr/bin/env node
// @ts-check
/** The command line: `oncegate verify`. Exit code 0: sound, 1: broken, 2: could not be checked. */
import { readArguments, USAGE } from "./arguments.mjs";
import { describeVerdict } from "./describe.mjs";
import { readPin, writePin } from "./pin.mjs";
import { openDatabase, openDump, openUrl, Unreadable, verifyLedger } from "./verify.mjs";

/** @import { Asked } from "./arguments.mjs" */
/** @import { Source, Verdict } from "./types.ts" */

const EXIT_CODES = { sound: 0, broken: 1, "not-checked": 2 };
const PROGRESS_PAUSE_MS = 200;

process.exitCode = await main(process.argv.slice(2));

/** @param {string[]} args */
async function main(args) {
  const read = readArguments(args);
  if (read.kind === "help") {
    process.stdout.write(USAGE);
    return 0;
  }
  if (read.kind === "wrong") {
    process.stderr.write(`${read.why}\n\n${USAGE}`);
    return EXIT_CODES["not-checked"];
  }
  const verdict = await check(read.asked);
  process.stdout.write(read.asked.json ? `${JSON.stringify(verdict)}\n` : describeVerdict(verdict));
  return EXIT_CODES[verdict.verdict];
}

/**
 * @param {Asked} asked
 * @returns {Promise<Verdict>}
 */
async function check(asked) {
  try {
    const pin = asked.pin === null ? null : readPin(asked.pin);
    const source = await open(asked);
    try {
      const checked = await verifyLedger(source, { key: asked.key, pin, onProgress: makeProgress() });
      if (asked.pin !== null && checked.pin !== null) writePin(asked.pin, checked.pin);
      return checked.verdict;
    } finally {
      await source.close();
    }
  } catch (error) {
    // Whatever went wrong, nothing was found out about the ledger: that is neither sound nor broken.
    const reason = error instanceof Error ? error.message : "unknown";
    return {
      verdict: "not-checked",
      reason: error instanceof Unreadable ? reason : `the verifier failed: ${reason}`,
    };
  }
}

/**
 * @param {Asked} asked
 * @returns {Promise<Source>}
 */
function open({ from, where, token }) {
  switch (from) {
    case "url":
      return openUrl(where, token);
    case "d1":
      return openDatabase(where);
    case "export":
      return openDump(where);
  }
}

/** A line that overwrites itself, on a terminal only. */
function makeProgress() {
  if (!process.stderr.isTTY) return () => {};
  let shownAt = 0;
  return (/** @type {string} */ shard, /** @type {number} */ entries) => {
    const now = performance.now();
    if (now - shownAt < PROGRESS_PAUSE_MS) return;
    shownAt = now;
    process.stderr.write(`\r\u001b[Kshard ${shard}: ${entries} entries\r`);
  };
}
