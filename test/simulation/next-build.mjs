/**
 * A later build of the product, made of the one there is: its records have a field more and the next version, and it reads those of the
 * build before it. Of its ledger a bundle is full after a few lines, so that what takes a busy day happens in a run.
 */
const RECORD = "src/core/record.ts";
const TRANSITION = "src/core/transition.ts";
const CODEC = "src/key/storage/codec.ts";

export const NEXT_BUILD = {
  name: "next build",
  changes: [
    { file: RECORD, from: "export const RECORD_VERSION = 1;", to: "export const RECORD_VERSION = 2;" },
    {
      file: TRANSITION,
      from: "return { v, inc, n, nonce, effect, owner, route, fp, terms, bornAt, dispatchedAt, t, outbox };",
      to: `return { v, inc, n, nonce, effect, owner, route, fp, terms, bornAt, dispatchedAt, t, outbox, region: "here" };`,
    },
    {
      file: TRANSITION,
      from: "    v: RECORD_VERSION,\n",
      to: `    v: RECORD_VERSION,\n    region: "here",\n`,
    },
    {
      file: CODEC,
      from: `  if (stored === undefined) return { kind: "absent" };\n`,
      to: `  if (stored === undefined) return { kind: "absent" };
  if (isShape(stored) && stored.v === 1) stored = { ...stored, v: RECORD_VERSION, region: "here" };\n`,
    },
    {
      file: CODEC,
      from: "    isTerms(value.terms) &&\n",
      to: "    isTerms(value.terms) &&\n    isText(value.region) &&\n",
    },
    {
      file: "src/ledger/bounds.ts",
      from: "export const BUNDLE_LINES = 256;",
      to: "export const BUNDLE_LINES = 4;",
    },
  ],
};

/** The same of a mutant, which has its fault in both builds. */
export function nextBuildOf(mutant) {
  if (mutant === null) return NEXT_BUILD;
  return { name: `${mutant.name}, next build`, changes: [...mutant.changes, ...NEXT_BUILD.changes] };
}
