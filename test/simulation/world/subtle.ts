/**
 * Stands in for WebCrypto: every result is there at once and the same for the same input. Digests are real SHA-256, so that the
 * ledger's trees are what a verifier expects; macs, seals and signatures are keyed digests that nobody could use for anything else.
 */
import { sha256 } from "./digest.ts";

type Bytes = ArrayBuffer | Uint8Array;
type FakeKey = { secret: Uint8Array };
type Named = { name: string };
type Sealing = Named & { iv: Uint8Array; additionalData: Uint8Array };

const TAG_BYTES = 16;

function bytesOf(bytes: Bytes): Uint8Array {
  return bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const part of parts) size += part.length;
  const joined = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** A copy with a buffer of its own, as WebCrypto gives it. */
function bufferOf(bytes: Uint8Array): ArrayBuffer {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy.buffer;
}

function tagOf(key: FakeKey, { iv, additionalData }: Sealing, plain: Uint8Array): Uint8Array {
  return sha256(key.secret, iv, additionalData, plain).subarray(0, TAG_BYTES);
}

/** Seals too must not show their plain text: a reader of the store finds nothing that it looks for. */
function veil(key: FakeKey, bytes: Uint8Array): Uint8Array {
  const pad = sha256(key.secret);
  const veiled = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) veiled[i] = (bytes[i] ?? 0) ^ (pad[i % pad.length] ?? 0);
  return veiled;
}

function macOf(name: string, key: FakeKey, bytes: Bytes): Uint8Array {
  const mac = sha256(key.secret, bytesOf(bytes));
  return name === "Ed25519" ? join(mac, sha256(mac)) : mac;
}

/** Digests and macs come as bytes, not as the buffer that WebCrypto gives: whoever asks copies them, and a buffer costs more than the digest. */
export const subtle = {
  async importKey(format: string, key: Bytes, _use: unknown, _out: boolean, _for: readonly string[]) {
    return { secret: format === "pkcs8" ? sha256(bytesOf(key)) : new Uint8Array(bytesOf(key)) };
  },
  async exportKey(format: string, key: FakeKey) {
    if (format === "jwk") return { x: Buffer.from(sha256(key.secret)).toString("base64url") };
    return bufferOf(key.secret);
  },
  async generateKey() {
    const key = { secret: sha256(new TextEncoder().encode("the ledger's own key")) };
    return { privateKey: key, publicKey: key };
  },
  async deriveKey(params: { info: Uint8Array }, base: FakeKey) {
    return { secret: sha256(base.secret, params.info) };
  },
  digest(_name: string, bytes: Bytes) {
    return Promise.resolve(sha256(bytesOf(bytes)));
  },
  sign(use: Named | string, key: FakeKey, bytes: Bytes) {
    return Promise.resolve(macOf(typeof use === "string" ? use : use.name, key, bytes));
  },
  async verify({ name }: Named, key: FakeKey, signature: Bytes, bytes: Bytes) {
    return Buffer.from(macOf(name, key, bytes)).equals(bytesOf(signature));
  },
  async encrypt(params: Sealing, key: FakeKey, plain: Uint8Array) {
    return bufferOf(join(tagOf(key, params, plain), veil(key, plain)));
  },
  async decrypt(params: Sealing, key: FakeKey, sealed: Uint8Array) {
    const plain = veil(key, sealed.subarray(TAG_BYTES));
    const isOurs = Buffer.from(tagOf(key, params, plain)).equals(sealed.subarray(0, TAG_BYTES));
    if (!isOurs) throw new Error("the seal is broken");
    return bufferOf(plain);
  },
  timingSafeEqual(a: Bytes, b: Bytes) {
    return Buffer.from(bytesOf(a)).equals(bytesOf(b));
  },
};

/** What the runtime has beside WebCrypto: a stream that digests. */
export class DigestStream extends WritableStream<Uint8Array> {
  readonly digest: Promise<ArrayBuffer>;

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<ArrayBuffer>();
    const chunks: Uint8Array[] = [];
    super({
      write: (chunk) => void chunks.push(chunk),
      close: () => resolve(bufferOf(sha256(...chunks))),
      abort: reject,
    });
    this.digest = promise;
  }
}
