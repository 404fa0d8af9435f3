/** The ledger's hashes (RFC 6962 section 2.1) and the line that is hashed. */
import { encodeUtf8, joinBytes } from "../core/bytes.ts";
import type { Hash, HashNode } from "../core/log/tree.ts";

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

export async function sha256(bytes: Uint8Array): Promise<Hash> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** The hash of a leaf: SHA-256 over a zero byte and the stored line. */
export function hashLeaf(line: string): Promise<Hash> {
  return sha256(joinBytes([LEAF, encodeUtf8(line)]));
}

export const hashNode: HashNode = (left, right) => sha256(joinBytes([NODE, left, right]));

const HEAD = '{"v":1,';

/** True for the text of an entry of this version, on one line. */
export function isEntryText(text: string): boolean {
  return text.startsWith(HEAD) && text.endsWith("}") && !text.includes("\n");
}

/** The stored line: the text of an entry with its shard and index behind its version. */
export function placeLine(text: string, shard: string, index: number): string {
  return `${HEAD}"shard":"${shard}","index":${index},${text.slice(HEAD.length)}`;
}
