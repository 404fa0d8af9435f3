/**
 * Sealed answers: AES-256-GCM under a data key of the record's own. The associated data is everything that makes an answer this
 * answer (object, life, attempt, status, fingerprint, part), so a sealed part moved anywhere else does not open.
 */
import { encodeUtf8, sha256Hex, writeMessage } from "../../core/bytes.ts";
import type { Pairs } from "../../core/http/headers.ts";
import { INLINE_BYTES_MAX, ROW_BYTES_MAX } from "../../core/limits.ts";
import type { FreshAnswer, Keyring } from "../../core/ports.ts";
import type { Answer, Sealed } from "../../core/record.ts";

/** What an answer is bound to. */
export type Binding = { name: string; inc: string; n: number; status: number; fp: string; secret: string };

export type Kept = Extract<Answer, { kind: "kept" }>;

/** Sealed bytes of one part: GCM adds a tag of 16. */
const PART_BYTES_MAX = ROW_BYTES_MAX - 16;

/** Seals a whole answer; `isBound` says that the binding holds the client's own key. `rows` are the sealed parts that don't fit the record, in order. */
export async function sealAnswer(
  keyring: Keyring,
  answer: Extract<FreshAnswer, { kind: "whole" }>,
  binding: Binding,
  isBound: boolean,
): Promise<{ answer: Kept; rows: readonly ArrayBuffer[] }> {
  const salt = crypto.getRandomValues(new Uint8Array(32));
  const data = await keyring.dataKey({ id: "newest", salt, secret: binding.secret });
  if (data === null) throw new Error("a keyring has a newest sealing key");
  const digest = await sha256Hex(answer.body);
  const size = answer.body.byteLength;
  const pairs = encodeUtf8(JSON.stringify(answer.headers));
  const isInline = size + pairs.byteLength <= INLINE_BYTES_MAX;
  const plainHead = isInline ? joinHead(pairs, answer.body) : pairs;
  const head = new Uint8Array(await sealPart(data.key, plainHead, binding, 0));
  const rows: ArrayBuffer[] = [];
  if (!isInline) {
    for (let at = 0; at < size; at += PART_BYTES_MAX) {
      rows.push(
        await sealPart(data.key, answer.body.subarray(at, at + PART_BYTES_MAX), binding, rows.length + 1),
      );
    }
  }
  const common = { key: data.id, salt, head, isBound };
  const sealed: Sealed = isInline
    ? { ...common, body: "inline" }
    : { ...common, body: "rows", chunks: rows.length };
  return { answer: { kind: "kept", status: answer.status, size, digest, sealed }, rows };
}

/** The same for an answer of which it is open whether it is kept. */
export async function sealFresh(
  keyring: Keyring,
  fresh: FreshAnswer,
  binding: Binding,
  isBound: boolean,
): Promise<{ answer: Answer; rows: readonly ArrayBuffer[] }> {
  return fresh.kind === "whole" ? sealAnswer(keyring, fresh, binding, isBound) : { answer: fresh, rows: [] };
}

/** `damaged`: the key is gone, the client's key differs, or the bytes are not what was sealed. */
export type Opened =
  | { kind: "open"; headers: Pairs; body: Uint8Array | ReadableStream<Uint8Array> }
  | { kind: "damaged" };

/** Opens an answer. Rows are read and opened one at a time as the body is read; `readRow` gives the sealed bytes of one. */
export async function openAnswer(
  keyring: Keyring,
  answer: Kept,
  binding: Binding,
  readRow: (index: number) => ArrayBuffer | undefined,
): Promise<Opened> {
  const { sealed } = answer;
  const data = await keyring.dataKey({
    id: { named: sealed.key },
    salt: sealed.salt,
    secret: binding.secret,
  });
  if (data === null) return { kind: "damaged" };
  const plain = await openPart(data.key, sealed.head, binding, 0);
  if (plain === null) return { kind: "damaged" };
  if (sealed.body === "inline") {
    const { pairs, body } = splitHead(plain);
    return { kind: "open", headers: pairs, body };
  }
  const headers = readPairs(plain);
  const { chunks } = sealed;
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const row = readRow(next);
      next += 1;
      const part = row === undefined ? null : await openPart(data.key, new Uint8Array(row), binding, next);
      if (part === null) return controller.error(new Error("a stored part of the answer is damaged"));
      controller.enqueue(part);
      if (next === chunks) controller.close();
    },
  });
  return { kind: "open", headers, body };
}

function associatedData(binding: Binding, part: number): Uint8Array {
  const { name, inc, n, status, fp } = binding;
  return writeMessage(["oncegate-answer-v1", name, inc, String(n), String(status), fp, String(part)]);
}

/** The data key is used for one answer only, so the number of the part is a nonce that never repeats under it. */
function nonceOf(part: number): Uint8Array {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setUint32(8, part);
  return nonce;
}

function sealPart(key: CryptoKey, plain: Uint8Array, binding: Binding, part: number): Promise<ArrayBuffer> {
  const params = { name: "AES-GCM", iv: nonceOf(part), additionalData: associatedData(binding, part) };
  return crypto.subtle.encrypt(params, key, plain);
}

async function openPart(
  key: CryptoKey,
  sealed: Uint8Array,
  binding: Binding,
  part: number,
): Promise<Uint8Array | null> {
  const params = { name: "AES-GCM", iv: nonceOf(part), additionalData: associatedData(binding, part) };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(params, key, sealed));
  } catch {
    return null;
  }
}

/** Four bytes of length, the header pairs, the body. */
function joinHead(pairs: Uint8Array, body: Uint8Array): Uint8Array {
  const joined = new Uint8Array(4 + pairs.byteLength + body.byteLength);
  new DataView(joined.buffer).setUint32(0, pairs.byteLength);
  joined.set(pairs, 4);
  joined.set(body, 4 + pairs.byteLength);
  return joined;
}

function splitHead(joined: Uint8Array): { pairs: Pairs; body: Uint8Array } {
  const length = new DataView(joined.buffer, joined.byteOffset).getUint32(0);
  return { pairs: readPairs(joined.subarray(4, 4 + length)), body: joined.subarray(4 + length) };
}

/** These bytes were authenticated a moment ago: they are what `sealAnswer` wrote. */
function readPairs(bytes: Uint8Array): Pairs {
  return JSON.parse(new TextDecoder().decode(bytes)) as Pairs;
}
