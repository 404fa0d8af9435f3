/**
 * Stands in for WebCrypto: every result is there at once and the same for the same input. Digests are real SHA-256, so that the
 * ledger's trees are what a verifier expects; macs, seals and signatures are keyed digests that nobody could use for anything else.
 */
import { hash } from "node:crypto";

type Bytes = ArrayBuffer | Uint8Array;
type FakeKey = { secret: Uint8Array };
type Named = { name: string };
type Sealing = Named & { iv: Uint8Array; additionalData: Uint8Array };

const TAG_BYTES = 16;

function bytesOf(bytes: Bytes): Uint8Array {
  return bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
}

function join(...parts: readonly Bytes[]): Uint8Array {
  const all = parts.map(bytesOf);
  const joined = new Uint8Array(all.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of all) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function sha256(bytes: Uint8Array): Uint8Array {
  return Buffer.from(hash("sha256", bytes, "hex"), "hex");
}

/** A copy with a buffer of its own, as WebCrypto gives it. */
function bufferOf(bytes: Uint8Array): ArrayBuffer {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy.buffer;
}

function tagOf(key: FakeKey, { iv, additionalData }: Sealing, plain: Uint8Array): Uint8Array {
  return sha256(join(key.secret, iv, additionalData, plain)).subarray(0, TAG_BYTES);
}

/** Seals too must not show their plain text: a reader of the store finds nothing that it looks for. */
function veil(key: FakeKey, bytes: Uint8Array): Uint8Array {
  const pad = sha256(key.secret);
  return bytes.map((byte, i) => byte ^ (pad[i % pad.length] ?? 0));
}

export const subtle = {
  async importKey(format: string, key: Bytes, _use: unknown, _out: boolean, _for: readonly string[]) {
    return { secret: format === "pkcs8" ? sha256(bytesOf(key)) : bytesOf(key).slice() };
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
    return { secret: sha256(join(base.secret, params.info)) };
  },
  async digest(_name: string, bytes: Bytes) {
    return bufferOf(sha256(bytesOf(bytes)));
  },
  async sign({ name }: Named | (string & Named), key: FakeKey, bytes: Bytes) {
    const mac = sha256(join(key.secret, bytes));
    return bufferOf(name === "Ed25519" ? join(mac, sha256(mac)) : mac);
  },
  async verify(name: Named, key: FakeKey, signature: Bytes, bytes: Bytes) {
    const wanted = Buffer.from(await subtle.sign(name, key, bytes));
    return wanted.equals(bytesOf(signature));
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
      close: () => resolve(bufferOf(sha256(join(...chunks)))),
      abort: reject,
    });
    this.digest = promise;
  }
}
